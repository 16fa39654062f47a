"""Which design fits a snapshot, and why: every design is built, evaluated and judged by one rule.

The rule: a design fits if it misses no delivery, holds the wanted k and keeps the limits on degree
and load spread. Of those that fit, the one of lowest price is recommended, where the price of a
publication is all its messages plus the delay weight times its delays in hops, summed over the
interested brokers; of equal prices the lower mean degree, then the earlier in the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.designs import candidates, design
from meshwright.model.evaluation import Evaluation
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import counted
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate

DELAY = "delay"  # the part of a price that is no message
NOTHING_FITS = "No design fits: want a lower k, or allow more links or a larger load spread."


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a design is judged by; a hop of delay is worth delay_weight messages.

    degree_limit: the most links of one broker, or None. load_spread_limit keeps off overlays in
    which one broker does the work of all: a star of n brokers has a spread of about sqrt(n) / 2.
    """

    k: int = 1
    delay_weight: float = 1.0
    degree_limit: int | None = None
    load_spread_limit: float | None = 3.0


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One design's overlay for the snapshot, and its metrics."""

    name: str
    overlay: Overlay
    evaluation: Evaluation


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a candidate fits and, in one sentence, why; price is that of one publication."""

    name: str
    fits: bool
    price: float
    sentence: str


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict for each candidate, in the same order, and the one to take, if any fits."""

    candidates: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]
    chosen: str | None
    reason: str


def recommend(
    snapshot: Snapshot,
    wish: Wish,
    *,
    rng: np.random.Generator,
    progress: Callable[[str], None] | None = None,
) -> Recommendation:
    """Every candidate built and judged; progress is told the name of each before it is built."""
    found = []
    names = candidates()
    for name, stream in zip(names, rng.spawn(len(names)), strict=True):
        if progress is not None:
            progress(name)
        found.append(candidate(name, snapshot, wish, rng=stream))
    return judge(found, snapshot, wish)


def candidate(name: str, snapshot: Snapshot, wish: Wish, *, rng: np.random.Generator) -> Candidate:
    """One candidate's overlay, with the wanted k if that can be asked of it, and its metrics."""
    if wish.k >= len(snapshot.brokers) > 1 or wish.k < 1:
        raise ProblemError(
            f"{counted(len(snapshot.brokers), 'broker')} cannot hold k = {wish.k}; "
            f"choose between 1 and {max(len(snapshot.brokers) - 1, 1)}."
        )
    row = design(name)
    params: dict[str, Parameter] = {}
    if "arrangement" in row.given and "delay_weight" not in row.given:
        params["delay_weight"] = wish.delay_weight
    k = wish.k if row.can_be_asked(wish.k) else None
    overlay = build_overlay(name, snapshot, k=k, rng=rng, **params)
    found = evaluate(overlay, snapshot, delay_weight=wish.delay_weight)
    return Candidate(name=name, overlay=overlay, evaluation=found)


def judge(candidates: Sequence[Candidate], snapshot: Snapshot, wish: Wish) -> Recommendation:
    """The verdict on each candidate, and the recommendation."""
    standings = [
        Standing(
            each.name,
            _price(each.evaluation, snapshot, wish),
            _fault(each.evaluation, wish),
            each.evaluation.degree_mean,
            each.evaluation.degree_max,
        )
        for each in candidates
    ]
    verdicts, winner = ranked(standings)
    return Recommendation(
        candidates=tuple(candidates),
        verdicts=verdicts,
        chosen=None if winner is None else verdicts[winner].name,
        reason=NOTHING_FITS if winner is None else verdicts[winner].sentence,
    )


@dataclass(frozen=True, slots=True)
class Price:
    """What one publication costs on average, in messages: for what, and how much."""

    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


class Standing(NamedTuple):
    """One of those compared: its price, why it does not fit if so, and its brokers' links."""

    name: str
    price: Price
    fault: str | None
    degree_mean: float
    degree_max: int


def ranked(standings: Sequence[Standing]) -> tuple[tuple[Verdict, ...], int | None]:
    """A verdict on each, and which is best: the lowest price, then the lower degree, then first."""
    fitting = [index for index, standing in enumerate(standings) if standing.fault is None]
    winner = min(
        fitting,
        key=lambda index: (standings[index].price.total, standings[index].degree_mean),
        default=None,
    )
    best = None if winner is None else standings[winner]
    verdicts = []
    for standing in standings:
        if standing.fault is not None or best is None:
            reason = f"does not fit because {standing.fault}"
        elif standing is best:
            reason = _why_best(standing, len(fitting))
        else:
            reason = _why_not_best(standing, best)
        verdicts.append(
            Verdict(
                name=standing.name,
                fits=standing.fault is None,
                price=standing.price.total,
                sentence=f"{standing.name} {reason}.",
            )
        )
    return tuple(verdicts), winner


def _price(found: Evaluation, snapshot: Snapshot, wish: Wish) -> Price:
    publications = float(snapshot.publications.sum())
    deliveries = float(snapshot.interests.transposed().counts() @ snapshot.publications)
    delay = (deliveries - found.deliveries_missed) * found.delay_hops_mean
    sums = {
        "messages to interested brokers": found.messages_internal,
        "relays": found.messages_external,
        "the way in": found.messages_entry,
        DELAY: wish.delay_weight * delay,
    }
    return Price({part: total / (publications or 1.0) for part, total in sums.items()})


def _fault(found: Evaluation, wish: Wish) -> str | None:
    """Why a design does not fit, or None if it does."""
    if found.deliveries_missed > 0:
        return f"{found.deliveries_missed:.0f} deliveries would be missed"
    if found.k_held < wish.k:
        return (
            f"the loss of {counted(found.k_held, 'broker')} can part a topic, "
            f"and k = {wish.k} is wanted"
        )
    if wish.degree_limit is not None and found.degree_max > wish.degree_limit:
        return (
            f"a broker would have {counted(found.degree_max, 'link')} "
            f"where {wish.degree_limit} are allowed"
        )
    if wish.load_spread_limit is not None and found.load_spread > wish.load_spread_limit:
        return (
            f"few brokers do most of the work: its load spread is {found.load_spread:.1f} "
            f"where {wish.load_spread_limit:.1f} is allowed"
        )
    return None


def _why_best(best: Standing, fitting_count: int) -> str:
    delay = best.price.parts[DELAY]
    sent = best.price.total - delay
    return (
        f"fits best because, of {counted(fitting_count, 'fitting design')}, it has the lowest "
        f"price of a publication: {sent:.1f} messages and {delay:.1f} for delay; "
        f"its brokers have {best.degree_mean:.1f} links on average, {best.degree_max} at most"
    )


def _why_not_best(standing: Standing, best: Standing) -> str:
    price, lowest = standing.price.total, best.price.total
    if price == lowest:
        return f"fits and costs as much as {best.name}, but with no fewer links"
    excesses = {part: own - best.price.parts[part] for part, own in standing.price.parts.items()}
    largest = max(excesses, key=lambda part: excesses[part])
    share = f"{100 * (price / lowest - 1):.0f} % more" if lowest else "more"
    return (
        f"fits, but a publication costs {share} than with {best.name} "
        f"({price:.1f} against {lowest:.1f}), mostly for {largest}"
    )
