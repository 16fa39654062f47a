"""Which placement and design a replayed trace speaks for, by the rules of the recommendation.

Beside what a publication costs by itself, its share of what else was sent counts: for broker
subscriptions, between brokers of a cluster, and for changes of overlay.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from meshwright.model.wording import counted
from meshwright.planning.recommendation import (
    DELAY,
    NOTHING_FITS,
    Price,
    Standing,
    Verdict,
    Wish,
    ranked,
)


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
        return f"{self.design} with {self.placement} placement"


class ReplayWish(Wish, frozen=True, kw_only=True):
    """What a replay is judged by.

    client_spread_limit: the most that the deviation of subscriptions over brokers may be, as a
    share of their mean: similarity alone gathers clients, and a network of one broker sends little.
    """

    client_spread_limit: float | None = 1.0


class ReplayRecommendation(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict for each line, in the same order, and the one to take, if any fits."""

    verdicts: tuple[Verdict, ...]
    placement: str | None
    design: str | None
    reason: str


def unpaid_moves(candidates: Sequence[ReplayedCandidate]) -> list[str]:
    """A sentence for each line under which nobody moved as too little was published."""
    return [
        f"{each.name}: no move pays below about {each.pays_from:,.0f} publications of a topic in "
        "an epoch, and fewer were expected."
        for each in candidates
        if each.pays_from is not None
    ]


def judge_replay(candidates: Sequence[ReplayedCandidate], wish: ReplayWish) -> ReplayRecommendation:
    """The verdict on each line of a comparison, and the recommendation."""
    standings = [
        Standing(
            each.name, _price(each, wish), _fault(each, wish), each.degree_mean, each.degree_max
        )
        for each in candidates
    ]
    verdicts, winner = ranked(standings)
    return ReplayRecommendation(
        verdicts=verdicts,
        placement=None if winner is None else candidates[winner].placement,
        design=None if winner is None else candidates[winner].design,
        reason=NOTHING_FITS if winner is None else verdicts[winner].sentence,
    )


def _price(each: ReplayedCandidate, wish: Wish) -> Price:
    sums = {
        "messages to interested brokers": each.messages_internal,
        "relays": each.messages_external,
        "the way in": each.messages_entry,
        "repairs": each.messages_repair,
        "broker subscriptions": each.management_messages,
        "changes of overlay": each.reconfiguration_messages,
        DELAY: wish.delay_weight * each.delay_hops * each.deliveries,
    }
    return Price({part: total / max(each.publications, 1) for part, total in sums.items()})


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
