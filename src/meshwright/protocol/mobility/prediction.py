"""Predicts at which broker a client connects next, from its visits: a Markov predictor.

If the client was at its last two brokers in this order before, what followed then decides.
Otherwise what followed the last broker decides, or else how often each broker was visited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

ORDER_MAX = 2
LIKELY = 0.8


def next_probabilities(visits: Sequence[str]) -> dict[str, float]:
    """The brokers that may come next with their probabilities, the most likely first.

    visits: the client's brokers in order, none twice in a row. The last one is where the client is,
        and is never predicted. Ties go by name.
    """
    for order in range(ORDER_MAX, -1, -1):
        counts = _followers(visits, order)
        if counts:
            total = sum(counts.values())
            ranked = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
            return {name: count / total for name, count in ranked}
    return {}


def likely_set(probabilities: dict[str, float], least: float = LIKELY) -> tuple[str, ...]:
    """The fewest brokers that together have at least this probability of being the next."""
    chosen: list[str] = []
    cumulative = 0.0
    for name, probability in sorted(probabilities.items(), key=lambda one: (-one[1], one[0])):
        if cumulative >= least:
            break
        chosen.append(name)
        cumulative += probability
    return tuple(chosen)


def is_worth_it(
    probability: float,
    *,
    events_saved: float,
    subscriptions: int,
    events_in_transfer: float,
    distance: float = 1.0,
    distance_wrong: float = 1.0,
) -> bool:
    """True if sending a session ahead saves, on average, more than a wrong guess costs.

    distance, distance_wrong: hops from here to the guessed broker, and from there to the right one.
    """
    saved = probability * events_saved * distance
    wasted = (1 - probability) * (subscriptions + events_in_transfer) * distance_wrong
    return saved > wasted


def extended(visits: Sequence[str], broker: str, visits_max: int) -> tuple[str, ...]:
    """The visits with one more, if it is another broker; the oldest are dropped."""
    if visits and visits[-1] == broker:
        return tuple(visits)
    return (*visits, broker)[-visits_max:]


def _followers(visits: Sequence[str], order: int) -> Counter[str]:
    """How often each broker came next after the same last brokers; order: how many of these."""
    if len(visits) <= order:
        return Counter()
    context = tuple(visits[len(visits) - order :])
    found = (
        visits[end]
        for end in range(order, len(visits))
        if tuple(visits[end - order : end]) == context
    )
    return _without(found, visits[-1])


def _without(names: Iterable[str], here: str) -> Counter[str]:
    return Counter(name for name in names if name != here)
