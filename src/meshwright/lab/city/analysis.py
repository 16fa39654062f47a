"""The mobility paper's analytical model: messages that moves should cost, by equations 1 to 5.

It counts messages, however far they go, of what people do and want alone; beside it stands what a
run sent. A client that comes back to where it left costs nothing. [mobility, 4.3]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from meshwright.filters.covering import covers
from meshwright.filters.filter import parse_filter
from meshwright.lab.city.counts import CityCounts
from meshwright.lab.city.journeys import MINUTE_US, Journey, Move
from meshwright.lab.city.running import CityParameters, Plans, draw_plans
from meshwright.lab.city.travellers import CATALOGUE
from meshwright.model.times import SECOND_US
from meshwright.protocol.mobility.policies import parse_policies
from meshwright.sim.physics.chance import streams

# What a session takes from one broker to another, about as long as four messages.
TRANSFER_US = 10_000


@dataclass(frozen=True, slots=True)
class MoveCost:
    """Messages that migrate subscriptions, and messages that carry stored events."""

    subscription_messages: float
    event_messages: float

    @property
    def total(self) -> float:
        """Equation 1."""
        return self.subscription_messages + self.event_messages


def predicted(parameters: CityParameters) -> MoveCost:
    """What the model says of a run; of logging, the events before those that are in logs."""
    plans = draw_plans(parameters, streams(parameters.seed))
    policies = parse_policies(parameters.policy)
    if "home" in policies:
        end_us = parameters.duration_s * SECOND_US
        return MoveCost(0.0, _events(plans, partial(_forwarded_us, end_us=end_us)))
    is_early = "prefetching" in policies
    subscriptions = _subscription_messages(
        plans,
        is_early=is_early,
        has_covering=parameters.covering,
        transfers=0 if "device" in policies else 1,
    )
    return MoveCost(subscriptions, _events(plans, _transfer_us if is_early else _away_us))


def measured(counts: CityCounts) -> MoveCost:
    """What a run sent, counted as the model counts."""
    total = counts.total
    return MoveCost(
        total["filters moved"] + total["leaf changes"], total["events moved"] + total["forwarded"]
    )


def _subscription_messages(
    plans: Plans, *, is_early: bool, has_covering: bool, transfers: int
) -> int:
    """Equation 2, with who is where at each move: a change that is covered there is not told."""
    is_covered = _is_covered if has_covering else _is_there
    at_leaves: dict[int, Counter[str]] = {}
    moves = []
    for journey, wanted in zip(plans.journeys, plans.wanted, strict=True):
        at_leaves.setdefault(journey.start, Counter())[wanted] += 1
        here = journey.start
        for move in journey.moves:
            if move.leaf != here:
                when_us = move.leaves_us if is_early else move.arrives_us
                moves.append((when_us, here, move.leaf, wanted))
            here = move.leaf
    messages = 0
    for _, old, new, wanted in sorted(moves):
        at_old, at_new = at_leaves[old], at_leaves.setdefault(new, Counter())
        messages += transfers + (not is_covered(wanted, at_new))
        at_new[wanted] += 1
        at_old[wanted] -= 1
        messages += not is_covered(wanted, at_old)
    return messages


def _is_covered(wanted: str, others: Counter[str]) -> bool:
    return any(count and _covers(other, wanted) for other, count in others.items())


def _is_there(wanted: str, others: Counter[str]) -> bool:
    return others[wanted] > 0


@cache
def _covers(wide: str, narrow: str) -> bool:
    return covers(parse_filter(wide), parse_filter(narrow))


def _events(plans: Plans, disconnected_us: Callable[[Journey], int]) -> float:
    """Equation 3: how often what a client wants is published, times how long it is away."""
    published = Counter(plans.kinds)
    return sum(
        sum(published[kind] for kind in CATALOGUE[wanted]) * disconnected_us(journey) / MINUTE_US
        for journey, wanted in zip(plans.journeys, plans.wanted, strict=True)
    )


def _away_us(journey: Journey) -> int:
    """Equation 4, where a transfer takes no time to speak of."""
    return sum(move.arrives_us - move.leaves_us for move in _real_moves(journey))


def _transfer_us(journey: Journey) -> int:
    """The same with prefetching: only the transfer counts."""
    return TRANSFER_US * sum(1 for _ in _real_moves(journey))


def _real_moves(journey: Journey) -> Iterator[Move]:
    """The moves that lead to another broker."""
    here = journey.start
    for move in journey.moves:
        if move.leaf != here:
            yield move
        here = move.leaf


def _forwarded_us(journey: Journey, end_us: int) -> int:
    """The same with a home broker: all the time after which the client is found elsewhere."""
    moves = journey.moves
    ends_us = (*(move.leaves_us for move in moves[1:]), end_us)
    return sum(
        until_us - move.leaves_us
        for move, until_us in zip(moves, ends_us, strict=True)
        if move.leaf != journey.start
    )
