"""Slots and epochs of a replay, and which of them a time belongs to."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf

SECOND_US = 1_000_000


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

    def slot_of(self, time: Column) -> Column:
        """The slot in which a time lies."""
        return sf.floor((sf.unix_micros(time) - self.origin_us) / sf.lit(self.slot_us))

    def slot_after(self, time: Column) -> Column:
        """The first slot at whose start what happened at a time has happened."""
        return sf.ceil((sf.unix_micros(time) - self.origin_us) / sf.lit(self.slot_us))

    def epoch_of(self, slot: Column) -> Column:
        """The epoch of a slot."""
        return sf.floor(slot / sf.lit(self.epoch_slots))
