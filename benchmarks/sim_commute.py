"""The mobility paper's commute with 800 subscribers: time of a core."""

from __future__ import annotations

import time

from benchmarks.table import Row
from meshwright.lab.city.running import CityParameters, run_city

SECONDS_TARGET = 60.0


def rows() -> list[Row]:
    start_s = time.process_time()
    result = run_city(CityParameters())
    seconds = time.process_time() - start_s
    return [
        Row(
            task="commute, 85 brokers, 800 subscribers, 4.5 h, standard",
            measured=f"{seconds:.0f} CPU s",
            target=f"{SECONDS_TARGET:.0f} s",
            met=seconds <= SECONDS_TARGET and result.owed == result.delivered,
            note=f"{result.delivered:,} of {result.owed:,} owed messages delivered",
        )
    ]
