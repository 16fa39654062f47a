"""How often a replay should plan, so that moves of brokers can pay for themselves."""

from __future__ import annotations

import math
from typing import NamedTuple

from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import counted
from meshwright.planning.arrangement.break_even import paying_share

EPOCH_SLOTS = 10  # where the trace does not speak for another period
# What is expected is not what comes, and interests change meanwhile.
MARGIN = 2.0


class Period(NamedTuple):
    """Slots between plans, and why so many."""

    epoch_slots: int
    reason: str


def paying_period(snapshot: Snapshot, slot_count: int, *, delay_weight: float) -> Period:
    """Twice as long as a move takes to pay, if the trace has two such periods.

    snapshot: its publications are those of EPOCH_SLOTS slots.
    """
    share = paying_share(snapshot, delay_weight=delay_weight)
    if share is None:
        return Period(EPOCH_SLOTS, "No move of brokers on a ring ever pays in this trace.")
    slots = math.ceil(share * EPOCH_SLOTS)
    if 2 * slots > slot_count:
        return Period(
            EPOCH_SLOTS,
            f"A move of brokers on a ring pays for itself in about {counted(slots, 'slot')}, and "
            f"the trace has {slot_count}: dynatops has nothing to gain here.",
        )
    chosen = max(min(math.ceil(MARGIN * slots), slot_count // 2), 1)
    return Period(
        chosen,
        f"Plans are made every {counted(chosen, 'slot')}, as a move of brokers on a ring pays for "
        f"itself in about {slots:,} at the rates of this trace.",
    )
