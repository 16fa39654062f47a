"""Which design fits a snapshot, and why: every design is built, evaluated and judged by one rule.

The rule: a design fits if it misses no delivery, holds the wanted k and keeps the limits on degree
and load spread. Of those that fit, the one of lowest price of a publication is recommended; of
equal prices the lower mean degree, then the earlier in the list. A price that is higher by no more
than chance explains is a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.arguments import Count, Weight, check_fields
from meshwright.model.designs import candidates, design
from meshwright.model.evaluation import Evaluation
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.price import SHOWN_DIGITS, TOLD, Price, PriceWeights, told_price
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import counted
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate
from meshwright.planning.pricing import link_changes, price_of, shape_of

# What is said of one that ties and is dearer than another one that does not.
UNSTEADY = " (dearer than some that are no tie, but its price varies more)"
# A margin of so many deviations is more than chance.
NOISE_DEVIATIONS = 2.0

# How much the difference of two prices may be by chance, by their places in the list.
Noise = Callable[[int, int], float]


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What a design is judged by.

    degree_limit: the most links of one broker, or None. load_spread_limit keeps off overlays in
    which one broker does the work of all: a star of n brokers has a spread of about sqrt(n) / 2.
    """

    k: int = 1
    weights: PriceWeights = PriceWeights()
    degree_limit: Count | None = None
    load_spread_limit: Weight | None = 3.0

    def __post_init__(self) -> None:
        check_fields(self)


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One design's overlay for the snapshot, its metrics, and the price of each seed's overlay.

    The overlay is that of the first seed. change_messages: of the change to it from today's.
    """

    name: str
    overlay: Overlay
    evaluation: Evaluation
    change_messages: float = 0.0
    other_totals: tuple[float, ...] = ()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a candidate fits and, in one sentence, why; price is that of one publication.

    price: the sum of parts. is_tie: no more than chance makes it dearer than the best. fault: why
    it does not fit, None if it does.
    """

    name: str
    fits: bool
    fault: str | None = None
    price: float
    parts: Price
    sentence: str
    is_best: bool = False
    is_tie: bool = False

    @property
    def told(self) -> str:
        """The verdict in one word, for a table."""
        if self.is_best or self.is_tie:
            return "best" if self.is_best else "tie"
        return "yes" if self.fits else "no"


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict for each candidate, in the same order, and the one to take, if any fits."""

    candidates: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]
    chosen: str | None
    reason: str

    def best(self) -> Candidate | None:
        """The candidate to take."""
        return next((one for one in self.candidates if one.name == self.chosen), None)


def recommend(
    snapshot: Snapshot,
    wish: Wish,
    *,
    seed: int,
    progress: Callable[[str], None] | None = None,
) -> Recommendation:
    """Every candidate built and judged; progress is told the name of each before it is built."""
    found = []
    for name in candidates():
        if progress is not None:
            progress(name)
        found.append(candidate(name, snapshot, wish, seed=seed))
    return judge(found, snapshot, wish)


def candidate(
    name: str,
    snapshot: Snapshot,
    wish: Wish,
    *,
    seed: int,
    seed_count: int = 1,
    today: Overlay | None = None,
) -> Candidate:
    """One candidate's overlay, with the wanted k if that can be asked of it, and its metrics.

    seed_count: of this seed and those after it, by which the noise of its price is known.
    """
    if wish.k >= len(snapshot.brokers) > 1 or wish.k < 1:
        raise ProblemError(
            f"{counted(len(snapshot.brokers), 'broker')} cannot hold k = {wish.k}; "
            f"choose between 1 and {max(len(snapshot.brokers) - 1, 1)}."
        )
    first = _built(name, snapshot, wish, seed)
    found = judged(name, first, snapshot, wish, today=today)
    prices: list[float] = []
    for other in range(seed + 1, seed + seed_count):
        again = _built(name, snapshot, wish, other)
        if again == first and not prices:
            break  # chance has no part in this design
        prices.append(
            candidate_price(judged(name, again, snapshot, wish, today=today), snapshot, wish).total
        )
    return msgspec.structs.replace(found, other_totals=tuple(prices))


def judged(
    name: str, overlay: Overlay, snapshot: Snapshot, wish: Wish, *, today: Overlay | None = None
) -> Candidate:
    """An overlay that stands, or is built, as a candidate."""
    return Candidate(
        name=name,
        overlay=overlay,
        evaluation=evaluate(overlay, snapshot, delay_weight=wish.weights.delay),
        change_messages=link_changes(today, overlay),
    )


def _built(name: str, snapshot: Snapshot, wish: Wish, seed: int) -> Overlay:
    row = design(name)
    params: dict[str, Parameter] = {}
    if "arrangement" in row.given and "delay_weight" not in row.given:
        params["delay_weight"] = wish.weights.delay
    k = wish.k if row.can_be_asked(wish.k) else None
    return build_overlay(name, snapshot, k=k, rng=np.random.default_rng(seed), **params)


def candidate_price(found: Candidate, snapshot: Snapshot, wish: Wish) -> Price:
    """What a publication costs on a candidate's overlay, the change to it included."""
    return price_of(found.evaluation, snapshot, wish.weights, found.change_messages)


def judge(candidates: Sequence[Candidate], snapshot: Snapshot, wish: Wish) -> Recommendation:
    """The verdict on each candidate, and the recommendation."""
    standings = [
        Standing(
            each.name,
            candidate_price(each, snapshot, wish),
            _fault(each.evaluation, wish),
            each.evaluation.degree_mean,
            each.evaluation.degree_max,
            len(snapshot.brokers),
            design(each.overlay.design).remark,
        )
        for each in candidates
    ]
    totals = [
        (standing.price.total, *each.other_totals)
        for standing, each in zip(standings, candidates, strict=True)
    ]
    verdicts, winner = ranked(standings, lambda one, other: _seed_noise(totals[one], totals[other]))
    return Recommendation(
        candidates=tuple(candidates),
        verdicts=verdicts,
        chosen=None if winner is None else verdicts[winner].name,
        reason=nothing_fits(wish) if winner is None else verdicts[winner].sentence,
    )


def nothing_fits(wish: Wish) -> str:
    """What to change where no design fits."""
    lower = "want a lower k, or " if wish.k > 1 else ""
    return f"No design fits: {lower}allow more links or a larger load spread."


def _seed_noise(one: Sequence[float], other: Sequence[float]) -> float:
    """How much dearer one may be than the other, and be the cheaper one with other seeds.

    The prices of each with some seeds, its own first.
    """
    return one[0] - min(one) + max(other) - other[0]


class Standing(NamedTuple):
    """One of those compared: its price, why it does not fit if so, and its brokers' links.

    remark: what else its sentence says.
    """

    name: str
    price: Price
    fault: str | None
    degree_mean: float
    degree_max: int
    broker_count: int
    remark: str = ""


def no_noise(one: int, other: int) -> float:
    """Where nothing is known of chance, only prices that are written alike are a tie."""
    del one, other
    return 0.0


def ranked(
    standings: Sequence[Standing], noise: Noise = no_noise
) -> tuple[tuple[Verdict, ...], int | None]:
    """A verdict on each, and which is best: the lowest price, then the lower degree, then first."""
    fitting = [index for index, standing in enumerate(standings) if standing.fault is None]
    winner = min(
        fitting,
        key=lambda index: (standings[index].price.total, standings[index].degree_mean),
        default=None,
    )
    if winner is None:
        return tuple(
            _verdict(each, f"does not fit because {each.fault}") for each in standings
        ), None
    best = standings[winner]
    margins = {index: max(noise(index, winner), 0.5 * 10.0**-SHOWN_DIGITS) for index in fitting}
    ties = [
        index
        for index in fitting
        if index != winner and standings[index].price.total - best.price.total <= margins[index]
    ]
    verdicts = []
    for index, standing in enumerate(standings):
        if standing.fault is not None:
            reason = f"does not fit because {standing.fault}"
        elif index == winner:
            reason = _why_best(best, len(fitting), _alike(standings, fitting, winner, ties))
        elif index in ties:
            reason = _why_tie(standing, best, margins[index])
        else:
            reason = _why_not_best(standing, best)
        verdicts.append(_verdict(standing, reason, is_best=index == winner, is_tie=index in ties))
    return tuple(verdicts), winner


def in_order(verdicts: Sequence[Verdict]) -> list[int]:
    """The places of verdicts as a table shows them: those that fit, then the others, by price."""
    return sorted(
        range(len(verdicts)),
        key=lambda at: (not verdicts[at].is_best, not verdicts[at].fits, verdicts[at].price),
    )


def _verdict(
    standing: Standing, reason: str, *, is_best: bool = False, is_tie: bool = False
) -> Verdict:
    return Verdict(
        name=standing.name,
        fits=standing.fault is None,
        fault=standing.fault,
        price=standing.price.total,
        parts=standing.price,
        sentence=f"{standing.name} {'; '.join(filter(None, (reason, standing.remark)))}.",
        is_best=is_best,
        is_tie=is_tie,
    )


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


def _alike(
    standings: Sequence[Standing], fitting: Sequence[int], winner: int, ties: Sequence[int]
) -> list[str]:
    """Names of those that tie; why one does that is dearer than others that do not."""
    apart = [standings[at].price.total for at in fitting if at != winner and at not in ties]
    cheapest = min(apart, default=float("inf"))
    return [
        f"{standings[at].name}{UNSTEADY if standings[at].price.total > cheapest else ''}"
        for at in ties
    ]


def _why_best(best: Standing, fitting_count: int, ties: Sequence[str]) -> str:
    shape = shape_of(best.broker_count, best.degree_mean, best.degree_max)
    those = counted(fitting_count, "candidate that fits", "candidates that fit")
    alike = f"; as good within the noise: {', '.join(ties)}" if ties else ""
    return (
        f"fits best because, of {those}, it has the lowest price of a publication: "
        f"{told_price(best.price)}; its brokers have "
        f"{best.degree_mean:.1f} links on average, {best.degree_max} at most"
        f"{f', {shape}' if shape else ''}{alike}"
    )


def _why_tie(standing: Standing, best: Standing, margin: float) -> str:
    price, lowest = standing.price.shown()["price"], best.price.shown()["price"]
    if price == lowest:
        return f"fits and costs as much as {best.name}, {price}, but with no fewer links"
    return (
        f"fits and ties with {best.name}: a publication costs {price} against {lowest}, "
        f"and chance alone makes a difference of {margin:.{SHOWN_DIGITS}f}"
    )


def _why_not_best(standing: Standing, best: Standing) -> str:
    price, lowest = standing.price.total, best.price.total
    dearest = best.price.parts()
    excesses = {part: own - dearest[part] for part, own in standing.price.parts().items()}
    largest = max(excesses, key=lambda part: excesses[part])
    share = f"{100 * (price / lowest - 1):.0f} % more" if lowest else "more"
    shown = (each.price.shown()["price"] for each in (standing, best))
    return (
        f"fits, but a publication costs {share} than with {best.name} "
        f"({' against '.join(shown)}), mostly for {TOLD[largest]}"
    )
