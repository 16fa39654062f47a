"""Slots and epochs of a replay, and which of them a time belongs to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as sf

from meshwright.model.times import SECOND_US

SLOTS_WANTED = 100
HOUR_S = 3600
# A trace of fewer hours, as the telemetry of a trial, has slots of so many seconds.
HOURS_WANTED = 3
ROUND_S = (1, 5, 10, 15, 30, 60, 120)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Slots of equal length (T_update) from the origin on; an epoch (T_free) is some of them."""

    origin_us: int
    slot_us: int
    slot_count: int
    epoch_slots: int

    @property
    def epoch_count(self) -> int:
        return -(-self.slot_count // self.epoch_slots)

    def epoch_ends(self) -> range:
        """The first slot after each whole epoch."""
        return range(self.epoch_slots, self.slot_count + 1, self.epoch_slots)

    def begins(self) -> NDArray[np.datetime64]:
        """When each slot begins, in UTC: (slot,)."""
        times_us = self.origin_us + self.slot_us * np.arange(self.slot_count, dtype=np.int64)
        return times_us.astype("datetime64[us]")

    def slot_of(self, time: Column) -> Column:
        """The slot in which a time lies."""
        return sf.floor((sf.unix_micros(time) - self.origin_us) / sf.lit(self.slot_us))

    def slot_after(self, time: Column) -> Column:
        """The first slot at whose start what happened at a time has happened."""
        return sf.ceil((sf.unix_micros(time) - self.origin_us) / sf.lit(self.slot_us))

    def epoch_of(self, slot: Column) -> Column:
        """The epoch of a slot."""
        return sf.floor(slot / sf.lit(self.epoch_slots))


def spanning(begin_us: int, end_us: int, slot_s: int | None, epoch_slots: int) -> Timeline:
    """From a first time to a last one; slots of about a hundredth of it, unless one says."""
    slot_us = (slot_s or _hundredth_s(end_us - begin_us)) * SECOND_US
    return Timeline(begin_us, slot_us, (end_us - begin_us) // slot_us + 1, epoch_slots)


def _hundredth_s(span_us: int) -> int:
    """A hundredth of a span in whole hours, at least one; of a short span in round seconds."""
    least_s = -(-span_us // (SLOTS_WANTED * SECOND_US))
    if span_us < HOURS_WANTED * HOUR_S * SECOND_US:
        return next(seconds for seconds in ROUND_S if seconds >= least_s)
    return max(-(-least_s // HOUR_S), 1) * HOUR_S
