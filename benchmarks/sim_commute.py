"""The mobility paper's commute under each policy: time of a core, and unicast against multicast."""

from __future__ import annotations

import time

from benchmarks.table import Row
from meshwright.lab.city.commute import Commute, CommuteParameters, commute

SECONDS_TARGET = 60.0
HALF_PAST_SEVEN_S = 3 * 3600 + 1800
EIGHT_S = 4 * 3600
# Average and peak of unicast to multicast with 800 subscribers, as the paper's text has them.
PAPER = {
    "standard": ("almost 80 %", "230 %, 17:00-17:30"),
    "prefetching": ("about 0", "-"),
    "logging": ("-", "-"),
    "home": ("-", "over 25 times multicast"),
}


def rows() -> list[Row]:
    found: list[Row] = []
    for policy in PAPER:
        start_s = time.process_time()
        result = commute(CommuteParameters(policy=policy))
        found.extend(_rows(policy, time.process_time() - start_s, result))
    return found


def _rows(policy: str, seconds: float, result: Commute) -> list[Row]:
    average, peak = PAPER[policy]
    highest, window = result.peak()
    task = f"commute, 85 brokers, 800 subscribers, 4.5 h, {policy}"
    return [
        Row(
            task=task,
            measured=f"{seconds:.0f} CPU s",
            target=f"{SECONDS_TARGET:.0f} s",
            met=seconds <= SECONDS_TARGET and result.owed == result.delivered,
            note=f"{result.delivered:,} of {result.owed:,} owed messages delivered",
        ),
        Row(
            task=f"{task}: unicast / multicast",
            measured=f"{result.ratio():.1%}",
            target="report",
            paper=average,
            note=f"to 19:30 {result.ratio(until_s=HALF_PAST_SEVEN_S):.1%}, "
            f"to 20:00 {result.ratio(until_s=EIGHT_S):.1%}, "
            f"between brokers only {result.ratio(with_last_hop=False):.1%}; "
            f"subscriptions {result.share('subscriptions'):.1%} of unicast",
        ),
        Row(
            task=f"{task}: highest half hour",
            measured=f"{highest:.1%}, {_clock(window)}",
            target="report",
            paper=peak,
            note=f"between brokers only {result.peak(with_last_hop=False)[0]:.1%}",
        ),
    ]


def _clock(window: int) -> str:
    hour, half = divmod(32 + window, 2)
    return f"from {hour}:{'30' if half else '00'}"
