"""How many low bits a hypercube should have, from the rates that were measured.

More low bits mean fewer dominating nodes, which every event must visit, and longer ways up for
subscriptions. Both are counted in closed form for every k: cost(k) is the messages of all events
that are expected, plus those of the subscriptions that are. [SHG, guideline 2]
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.growth import on_cube
from meshwright.overlays.hypercube import dimensions_for, hypercube, low_bit_count_of, readings_of
from meshwright.planning.evaluation.indexes import cube_positions
from meshwright.planning.evaluation.partition import partition


@dataclass(frozen=True, slots=True)
class LowBitsCost:
    """Messages that are expected with a number of low bits, for events and for subscriptions."""

    low_bit_count: int
    events: float
    subscriptions: float

    @property
    def total(self) -> float:
        return self.events + self.subscriptions


@dataclass(frozen=True, slots=True)
class LowBitsChoice:
    """The number of low bits that costs least, of equal ones the lower, beside today's."""

    today: LowBitsCost
    best: LowBitsCost
    costs: tuple[LowBitsCost, ...]

    @property
    def reason(self) -> str:
        """Why this many."""
        best, today = self.best, self.today
        if best.low_bit_count == today.low_bit_count:
            return (
                f"{today.low_bit_count} low bits cost least: {today.events:,.0f} messages for "
                f"events and {today.subscriptions:,.0f} for subscriptions are expected."
            )
        return (
            f"{best.low_bit_count} low bits cost {best.total:,.0f} messages, {best.events:,.0f} "
            f"for events and {best.subscriptions:,.0f} for subscriptions; today's "
            f"{today.low_bit_count} cost {today.events:,.0f} and {today.subscriptions:,.0f}."
        )


def choose_low_bits(
    overlay: Overlay, snapshot: Snapshot, subscriptions: float | None = None
) -> LowBitsChoice:
    """Every number of low bits judged for brokers that keep their positions.

    subscriptions: those expected while the snapshot's publications are; None: each interest once.
    """
    expected = float(snapshot.interests.pair_count) if subscriptions is None else subscriptions
    dimension_count = dimensions_for(len(overlay.brokers))
    costs = tuple(
        _cost(overlay, snapshot, expected, low_bit_count)
        for low_bit_count in range(1, max(2, dimension_count))
    )
    today = low_bit_count_of(overlay.params) or max(1, dimension_count // 2)
    return LowBitsChoice(
        today=costs[today - 1], best=min(costs, key=lambda cost: cost.total), costs=costs
    )


def with_low_bits(overlay: Overlay, low_bit_count: int) -> Overlay:
    """The same brokers at the same positions, with other dominating nodes."""
    divided = msgspec.structs.replace(
        overlay, params={**overlay.params, "low_bit_count": low_bit_count}
    )
    return on_cube(divided, overlay.positions or {}, overlay.brokers)


def _cost(
    overlay: Overlay, snapshot: Snapshot, subscriptions: float, low_bit_count: int
) -> LowBitsCost:
    cube = hypercube(len(overlay.brokers), low_bit_count=low_bit_count)
    positions = cube_positions(overlay, snapshot)
    totals = partition(cube, positions, snapshot, readings_of(overlay.params)).totals()
    messages = totals.entry + totals.internal + totals.external
    rates = snapshot.publications / len(snapshot.brokers)
    pairs = max(snapshot.interests.pair_count, 1)
    return LowBitsCost(
        low_bit_count,
        events=float(np.dot(messages, rates)),
        subscriptions=subscriptions * totals.management / pairs,
    )
