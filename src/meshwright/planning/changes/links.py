"""A plan of links: those to add, then those to remove, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from meshwright.model.designs import design, founded_as
from meshwright.model.identifiers import BrokerName
from meshwright.model.interests import Int64Array, Interests
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanPrice, Step
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import amount, counted
from meshwright.planning.changes.worth import (
    Worth,
    overlay_worth,
    plan_of_worths,
    plan_price,
)

Link = tuple[str, str]

UNLINKED = "gm"  # of what is not linked, where links of another kind are to come


def link_plan(
    source: Overlay,
    target: Overlay,
    snapshot: Snapshot,
    weights: PriceWeights,
    *,
    only_if_worth: bool,
) -> Plan:
    """From the links of one overlay to those of another; a link that changes is one message.

    only_if_worth: stay where no delivery is missed today and the change does not pay.
    """
    added, removed = link_difference(source, target), link_difference(target, source)
    before, after = (overlay_worth(each, snapshot, weights) for each in (source, target))
    messages = float(len(added) + len(removed))
    price = plan_price(before, after, messages, weights)
    if source == target or (only_if_worth and not before.missed and price.saved <= 0.0):
        return staying_plan(source, before, weights, None if source == target else price)
    return plan_of_worths(
        source,
        target,
        (before, after),
        weights,
        steps=(
            *_additions(source, added, snapshot, target.design),
            *_removals(source, len(added), removed, snapshot, target.design),
        )
        if source.design == target.design
        else _replacements((source, target), (added, removed), snapshot),
        change_messages=messages,
        summary=_summary((source, target), (len(added), len(removed)), (before, after)),
    )


def building_plan(target: Overlay, snapshot: Snapshot, weights: PriceWeights) -> Plan:
    """All links of an overlay, where nothing stands yet."""
    return link_plan(unlinked(target), target, snapshot, weights, only_if_worth=False)


def unlinked(target: Overlay) -> Overlay:
    """The brokers of an overlay before they have any link, which only a graph can be."""
    is_graph = design(target.design).forwarding == "topic_connected"
    name = target.design if is_graph else UNLINKED
    return Overlay(design=name, brokers=target.brokers, links=())


def staying_plan(
    overlay: Overlay, worth: Worth, weights: PriceWeights, refused: PlanPrice | None = None
) -> Plan:
    """Nothing better than now; refused: the price of what was found and does not pay."""
    missed = "" if not worth.missed else " though it misses deliveries"
    dear = ""
    if refused is not None:
        before, after = (each.shown()["price"] for each in (refused.before, refused.after))
        dear = f"; with what was tried a publication would cost {after} in place of {before}"
    return plan_of_worths(
        overlay,
        overlay,
        (worth, worth),
        weights,
        steps=(),
        change_messages=0.0,
        summary=f"Nothing better than now was found: the links stay{missed}{dear}.",
    )


def link_difference(source: Overlay, target: Overlay) -> list[Link]:
    """Links of the target that the source does not have."""
    standing = {frozenset(link) for link in source.links}
    return [link for link in target.links if frozenset(link) not in standing]


def _additions(
    source: Overlay, added: Sequence[Link], snapshot: Snapshot, algorithm: str
) -> list[Step]:
    parts = TopicParts(snapshot.interests)
    numbers: dict[str, int] = dict(zip(snapshot.brokers, range(len(snapshot.brokers)), strict=True))
    for one, other in source.links:
        parts.join(numbers[one], numbers[other])
    steps = []
    for one, other in added:
        before = parts.count
        shared = parts.join(numbers[one], numbers[other])
        joined = before - parts.count
        reason = (
            f"joins parts of {counted(joined, 'topic')}"
            if joined
            else "gives them another way, for when a broker fails or is far"
        )
        steps.append(
            Step(
                action="add_link",
                brokers=(one, other),
                why=f"{one} and {other} share {counted(shared, 'topic')}: the link {reason}.",
                algorithm=algorithm,
                metric="topic_parts",
                before=float(before),
                after=float(parts.count),
            )
        )
    return steps


def _removals(
    source: Overlay,
    added_count: int,
    removed: Sequence[Link],
    snapshot: Snapshot,
    algorithm: str,
) -> list[Step]:
    count = len(source.links) + added_count
    numbers: dict[str, int] = dict(zip(snapshot.brokers, range(len(snapshot.brokers)), strict=True))
    return [
        Step(
            action="remove_link",
            brokers=(one, other),
            why=f"The other links carry the {counted(shared, 'topic')} that {one} and {other} "
            "share.",
            algorithm=algorithm,
            metric="links",
            before=float(count - index),
            after=float(count - index - 1),
        )
        for index, (one, other) in enumerate(removed)
        for shared in [len(_shared(snapshot.interests, numbers[one], numbers[other]))]
    ]


def _replacements(
    overlays: tuple[Overlay, Overlay],
    changes: tuple[Sequence[Link], Sequence[Link]],
    snapshot: Snapshot,
) -> tuple[Step, ...]:
    """Links of one design give way to those of another, for the sake of the whole."""
    added, removed = changes
    count, new = len(overlays[0].links), founded_as(overlays[1])
    is_keyed = design(overlays[1].design).forwarding in {"rendezvous", "partition"}
    keyed = f"{new} links brokers by their positions, whatever they want."
    changing: list[tuple[Literal["add_link", "remove_link"], Link, int]] = [
        *(("add_link", link, 1) for link in added),
        *(("remove_link", link, -1) for link in removed),
    ]
    steps = []
    for action, link, change in changing:
        why = keyed if is_keyed else _why_replaced(action, link, new, snapshot)
        steps.append(
            Step(
                action=action,
                brokers=link,
                why=why,
                algorithm=new,
                metric="links",
                before=float(count),
                after=float(count + change),
            )
        )
        count += change
    return tuple(steps)


def _why_replaced(action: str, link: Link, new: str, snapshot: Snapshot) -> str:
    one, other = link
    shared = len(shared_topics(snapshot, one, other))
    if not shared:
        use = "uses the link for those of others" if action == "add_link" else "needs no such link"
        return f"they share no topic, and {new} {use}."
    topics = f"{one} and {other} share {counted(shared, 'topic')}"
    if action == "add_link":
        return f"{topics}: the link takes them straight from one to the other."
    return f"{topics}: the links of {new} carry them another way."


class TopicParts:
    """Into how many parts the interested brokers of all topics fall together, link by link."""

    def __init__(self, interests: Interests) -> None:
        self._interests = interests
        self._ups: dict[tuple[int, int], int] = {}
        self.count = interests.pair_count

    def join(self, one: int, other: int) -> int:
        """Add a link; answers how many topics its ends share."""
        shared = _shared(self._interests, one, other)
        for topic in shared.tolist():
            top, root = self._top(topic, one), self._top(topic, other)
            if top != root:
                self._ups[topic, max(top, root)] = min(top, root)
                self.count -= 1
        return len(shared)

    def _top(self, topic: int, broker: int) -> int:
        path = []
        while (up := self._ups.get((topic, broker))) is not None:
            path.append(broker)
            broker = up
        for below in path:
            self._ups[topic, below] = broker
        return broker


def _shared(interests: Interests, one: int, other: int) -> Int64Array:
    topics: Int64Array = np.intersect1d(
        interests.of(one), interests.of(other), assume_unique=True
    ).astype(np.int64)
    return topics


def shared_topics(snapshot: Snapshot, one: str, other: str) -> Int64Array:
    """Topics that two brokers want both, ascending."""
    rows = (snapshot.brokers.index(BrokerName(name)) for name in (one, other))
    return _shared(snapshot.interests, *rows)


def _summary(
    overlays: tuple[Overlay, Overlay], changes: tuple[int, int], worths: tuple[Worth, Worth]
) -> str:
    """What changes, and which missed deliveries are made; what it is worth is said by its price."""
    (source, target), (before, after), (added, removed) = overlays, worths, changes
    messages = counted(added + removed, "message")
    if not source.links:
        links = counted(added, "link")
        return f"No link stands: {founded_as(target)} builds {links}, for {messages}."
    change = (
        f"{target.design} adds {counted(added, 'link')} and removes {removed:,}, "
        f"for {messages} to switch"
    )
    made = before.missed - after.missed
    if made <= 0:
        return f"{change}."
    topics = counted(int(np.count_nonzero(before.topics_missed > after.topics_missed)), "topic")
    return f"{change}; {amount(made)} deliveries of {topics} that are missed today are made."
