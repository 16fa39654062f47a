"""Which placement and design a replayed trace speaks for, by the rules of the recommendation.

Beside what a publication costs by itself, its share of what else was sent counts: for broker
subscriptions, between brokers of a cluster, and for changes of overlay. How much of a difference
is chance is known from the slots: they are as many draws of what two lines differ by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from meshwright.model.designs import NOW, design
from meshwright.model.price import Price, PriceWeights
from meshwright.model.snapshot import Float64Array
from meshwright.model.wording import counted
from meshwright.planning.recommendation import (
    NOISE_DEVIATIONS,
    Noise,
    Standing,
    Verdict,
    Wish,
    no_noise,
    nothing_fits,
    ranked,
)

NOT_SHOWN = 0.005  # of prices that are written with two digits
STILL, MOVING = "chord", "dynatops"  # the same ring, with brokers by hash and with brokers moved


class ReplayedCandidate(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the comparison: sums over the trace, means over publications or deliveries."""

    placement: str
    design: str
    publications: int
    deliveries: float
    subscription_changes: int
    management_messages: int
    messages_internal: float
    messages_external: float
    messages_entry: float
    messages_repair: float
    notification_overhead: float
    delay_hops: float
    delay_tree_hops: float
    delay_ms: float | None
    hand_overs: int
    load_mean: float
    load_deviation: float
    reconfigurations: int
    reconfiguration_messages: float
    degree_mean: float
    degree_max: int
    k_held: int
    load_spread: float
    pays_from: float | None = None

    @property
    def name(self) -> str:
        return line_name(self.placement, self.design)


def line_name(placement: str, design: str) -> str:
    """How sentences call a line of the comparison."""
    return f"{design} with {placement} placement"


class ReplayWish(Wish, frozen=True, kw_only=True):
    """What a replay is judged by.

    client_spread_limit: the most that the deviation of subscriptions over brokers may be, as a
    share of their mean: similarity alone gathers clients, and a network of one broker sends little.
    """

    client_spread_limit: float | None = 1.0


class LineSlots(NamedTuple):
    """What the slots of a line cost: prices times publications, and publications, (slot,) each."""

    costs: Float64Array
    publications: Float64Array


class ReplayRecommendation(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict for each line, in the same order, and the one to take, if any fits.

    first_slot: a sentence where another would be taken without the first slot that counts, else "".
    """

    verdicts: tuple[Verdict, ...]
    placement: str | None
    design: str | None
    reason: str
    first_slot: str = ""


def unpaid_moves(candidates: Sequence[ReplayedCandidate]) -> list[str]:
    """A sentence for each line under which nobody moved as too little was published."""
    return [
        f"{each.name}: no move pays below about {each.pays_from:,.0f} publications of a topic in "
        "an epoch, and fewer were expected."
        for each in candidates
        if each.pays_from is not None
    ]


def gains_of_moves(candidates: Sequence[ReplayedCandidate]) -> list[str]:
    """A sentence for each line of dynatops whose brokers moved: what that gained beside chord."""
    still = {each.placement: each for each in candidates if each.design == STILL}
    told = []
    for each in candidates:
        beside = still.get(each.placement)
        if each.design != MOVING or beside is None or not each.reconfigurations:
            continue
        saved = _sent(beside) - _sent(each)
        word, why = "saved", ""
        if saved < 0.0:
            word = "lost"
            why = f"; {_told_expectation(saved + each.reconfiguration_messages)}"
        told.append(
            f"{each.name}: {counted(each.reconfigurations, 'change')} took "
            f"{each.reconfiguration_messages:,.0f} messages, and all in all {word} "
            f"{abs(saved):,.0f} messages and hops beside {STILL} "
            f"({100.0 * abs(saved) / (_sent(beside) or 1.0):.1f} %){why}."
        )
    return told


def _told_expectation(saved: float) -> str:
    """Why moves that were to pay did not; saved: by the new places, whatever the moves took."""
    amount = f"{saved:,.0f} messages and hops" if saved >= 0.5 else "nothing"
    return f"the new places saved {amount} of that: what was expected is not what came"


def _sent(each: ReplayedCandidate) -> float:
    """All messages of a line and its hops of delay; links are the same on one ring."""
    price = replayed_price(each, PriceWeights(link=0.0))
    return price.total * max(each.publications, 1)


def judge_replay(
    candidates: Sequence[ReplayedCandidate],
    wish: ReplayWish,
    *,
    broker_count: int,
    slots: Mapping[str, LineSlots] | None = None,
) -> ReplayRecommendation:
    """The verdict on each line of a comparison, and the recommendation.

    slots: by the name of each line, from which the noise is known.
    """
    standings = [
        Standing(
            each.name,
            replayed_price(each, wish.weights),
            _fault(each, wish),
            each.degree_mean,
            each.degree_max,
            broker_count,
            "" if each.design == NOW else design(each.design).remark,
        )
        for each in candidates
    ]
    noise: Noise = no_noise
    lines = [] if slots is None else [slots[each.name] for each in candidates]
    if lines:

        def noise(one: int, other: int) -> float:
            return slot_noise(lines[one], lines[other])

    verdicts, winner = ranked(standings, noise)
    told = "" if winner is None or not lines else _told_first_slot(verdicts, winner, lines)
    return ReplayRecommendation(
        verdicts=verdicts,
        placement=None if winner is None else candidates[winner].placement,
        design=None if winner is None else candidates[winner].design,
        reason=nothing_fits(wish) if winner is None else verdicts[winner].sentence,
        first_slot=told,
    )


def _told_first_slot(verdicts: Sequence[Verdict], winner: int, lines: Sequence[LineSlots]) -> str:
    """Clients that come at the beginning subscribe in the first slot, and never again."""
    later = [LineSlots(each.costs[1:], each.publications[1:]) for each in lines]
    if not later[winner].publications.sum():
        return ""
    prices = {
        at: float(each.costs.sum() / each.publications.sum()) + verdicts[at].parts.links
        for at, each in enumerate(later)
        if verdicts[at].fits
    }
    best = min(prices, key=lambda at: prices[at])
    if prices[winner] - prices[best] <= max(slot_noise(later[winner], later[best]), NOT_SHOWN):
        return ""
    return (
        f"The first slot decides: without it, {verdicts[best].name} would be recommended, at "
        f"{prices[best]:.2f} where {verdicts[winner].name} has {prices[winner]:.2f}. Clients that "
        "come at the beginning subscribe there; --warmup leaves first slots out."
    )


def slot_noise(one: LineSlots, other: LineSlots) -> float:
    """By how much the prices of two lines may differ because of which slots there were.

    The difference is a ratio of sums over slots; its deviation is that of what is left of each slot
    when the ratio is taken off. Nothing is known from a single slot.
    """
    count, published = len(one.costs), float(one.publications.sum())
    if count < 2 or not published:
        return 0.0
    differences = one.costs - other.costs
    rest = differences - differences.sum() / published * one.publications
    variance = count / (count - 1) * float(rest @ rest)
    return NOISE_DEVIATIONS * math.sqrt(variance) / published


def replayed_price(each: ReplayedCandidate, weights: PriceWeights) -> Price:
    """What a publication cost on average in a replay, part by part.

    A client that goes to another broker is one message, as in a plan.
    """
    publications = max(each.publications, 1)
    sent = each.messages_internal + each.messages_entry + each.messages_repair
    changes = each.reconfiguration_messages + each.hand_overs
    return Price(
        messages=sent / publications,
        relays=weights.relay * each.messages_external / publications,
        delay=weights.delay * each.delay_hops * each.deliveries / publications,
        management=weights.management * each.management_messages / publications,
        reconfiguration=weights.reconfiguration * changes / publications,
        links=weights.link * each.degree_mean,
    )


def slot_costs(metrics: Mapping[str, Float64Array], weights: PriceWeights) -> LineSlots:
    """The price of each slot times its publications; metrics: columns of METRICS, (slot,) each.

    Links cost the same in every slot, and so have no part in the noise.
    """
    sent = sum(metrics[f"messages_{kind}"] for kind in ("internal", "entry", "repair"))
    costs = (
        sent
        + weights.relay * metrics["messages_external"]
        + weights.delay * metrics["delay_hops"] * metrics["deliveries"]
        + weights.management * metrics["management_messages"]
        + weights.reconfiguration * (metrics["reconfiguration_messages"] + metrics["hand_overs"])
    )
    return LineSlots(np.asarray(costs), metrics["publications"])


def _fault(each: ReplayedCandidate, wish: ReplayWish) -> str | None:
    """Why a line does not fit, or None if it does."""
    if each.k_held < wish.k:
        loss = counted(each.k_held, "broker")
        return f"the loss of {loss} can part a topic, and k = {wish.k} is wanted"
    if wish.degree_limit is not None and each.degree_max > wish.degree_limit:
        return (
            f"a broker has {counted(each.degree_max, 'link')} where {wish.degree_limit} are allowed"
        )
    if wish.load_spread_limit is not None and each.load_spread > wish.load_spread_limit:
        return (
            f"few brokers do most of the work: its load spread is {each.load_spread:.1f} "
            f"where {wish.load_spread_limit:.1f} is allowed"
        )
    spread = each.load_deviation / each.load_mean if each.load_mean else 0.0
    if wish.client_spread_limit is not None and spread > wish.client_spread_limit:
        return (
            f"clients crowd on few brokers: their subscriptions deviate by {spread:.1f} of the "
            f"mean where {wish.client_spread_limit:.1f} is allowed"
        )
    return None
