"""A plan for brokers that came or went: links change where they are, and nowhere else [kTCO, 3.3].

Clients stay, but for those of a broker that goes. Such a plan is made for the sake of k and of few
links, not of what it saves; what pays is the business of a whole plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from meshwright.errors import ProblemError
from meshwright.model.designs import design
from meshwright.model.identifiers import BrokerName
from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Step
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import counted
from meshwright.overlays.growth import with_broker
from meshwright.planning.changes.broker_change import BrokerChange
from meshwright.planning.changes.clients import Population, moves_between
from meshwright.planning.changes.links import Link, link_difference, shared_topics
from meshwright.planning.changes.membership import (
    ChangedNetwork,
    comings,
    linked_without,
    network_after,
)
from meshwright.planning.changes.network import CHURN, PlanWish
from meshwright.planning.changes.worth import overlay_worth, plan_of_worths
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.overlay_builders import joined_up
from meshwright.planning.placement.strategies import DEFAULT_PLACEMENT
from meshwright.planning.topic_connected.churn import LinkChange, mend, place
from meshwright.planning.topic_connected.validation import failing_topics


def plan_churn(
    snapshot: Snapshot,
    wish: PlanWish,
    change: BrokerChange,
    *,
    population: Population | None = None,
    source: Overlay | None = None,
    seed: int = 0,
) -> ChangedNetwork:
    """The overlay in force with newcomers placed, and the gaps closed that others leave.

    A broker that is added may be in the overlay already, linked with everybody: these links give
    way to those that its topics need. Where nobody comes or goes, links are added for topics that
    are joined by fewer than k ways, such as those of a broker that was drained.
    """
    today = _checked(wish, source)
    came = tuple(name for name in change.added if name in today.brokers)
    coming = tuple(name for name in change.added if name not in today.brokers)
    moving = BrokerChange(coming, change.removed)
    moving.check(snapshot.brokers)
    after, settled = network_after(snapshot, moving, population, None, seed)
    target = _churned(today, moving, came, after)
    moves: tuple[Step, ...] = ()
    if population is not None and settled is not None:
        networks = (snapshot, population.clients), (after, settled)
        moves = moves_between(population.names, *networks, DEFAULT_PLACEMENT)
    added, removed = link_difference(today, target), link_difference(target, today)
    plan = plan_of_worths(
        today,
        target,
        (
            overlay_worth(today, snapshot, wish.price_weights),
            overlay_worth(target, after, wish.price_weights),
        ),
        wish.price_weights,
        steps=(
            *comings(moving, today, target),
            *_additions(target, added, after),
            *_removals(target, removed, change.removed, after),
            *moves,
        ),
        change_messages=float(len(added) + len(removed) + len(moves)),
        summary=_summary((today, snapshot), (target, after), (came, moving)),
    )
    return ChangedNetwork(plan, after, None if settled is None else settled.clients)


def _checked(wish: PlanWish, source: Overlay | None) -> Overlay:
    if wish.row.forwarding != "topic_connected":
        raise ProblemError(
            f"Brokers that come and go are placed one by one in topic-connected designs only, and "
            f"{wish.design} is none; leave out the method {CHURN}."
        )
    if source is None or source.design != wish.joined_as:
        raise ProblemError(
            f"The method {CHURN} changes a few links of an overlay of {wish.joined_as} that is in "
            "force; give it with --from FILE or --data FOLDER."
        )
    return source


def _churned(
    today: Overlay, change: BrokerChange, came: tuple[str, ...], after: Snapshot
) -> Overlay:
    for name in change.added:
        today = with_broker(today, name)
    for name in change.removed:
        today = linked_without(today, name, after)
    rows = {name: row for row, name in enumerate(after.brokers)}
    k, interests = _k(today), after.interests
    for name in (*came, *change.added):
        links = link_indexes(today, after)
        today = _linked(today, place(links, interests, rows[BrokerName(name)], k), after)
    if not (came or change.added or change.removed):
        today = _linked(today, mend(link_indexes(today, after), interests, k), after)
    return joined_up(today)


def _linked(overlay: Overlay, change: LinkChange, snapshot: Snapshot) -> Overlay:
    """The overlay with links changed; those that stay are written as they were."""
    if not len(change.added) and not len(change.removed):
        return overlay
    names = snapshot.brokers

    def named(links: Int32Array) -> list[Link]:
        return [(names[one], names[other]) for one, other in links.tolist()]

    gone = {frozenset(link) for link in named(change.removed)}
    kept = (link for link in overlay.links if frozenset(link) not in gone)
    return msgspec.structs.replace(overlay, links=(*kept, *named(change.added)))


def _k(overlay: Overlay) -> int:
    k = overlay.params.get("k")
    return k if isinstance(k, int) else design(overlay.design).k_own


def _topics_at_k(overlay: Overlay, snapshot: Snapshot) -> int:
    """Topics whose brokers are joined by k ways, or all with each other if they are few."""
    failing = failing_topics(link_indexes(overlay, snapshot), snapshot.interests, _k(overlay))
    return len(snapshot.topics) - len(failing)


def _additions(target: Overlay, added: Sequence[Link], after: Snapshot) -> list[Step]:
    """Link by link, how many topics are joined by k ways once brokers that go are gone."""
    new = {frozenset(link) for link in added}
    kept = tuple(link for link in target.links if frozenset(link) not in new)
    growing = msgspec.structs.replace(target, links=kept)
    before = _topics_at_k(growing, after) if added else 0
    steps = []
    for one, other in added:
        growing = msgspec.structs.replace(growing, links=(*growing.links, (one, other)))
        held = _topics_at_k(growing, after)
        shared = counted(len(shared_topics(after, one, other)), "topic")
        why = f"{one} and {other} share {shared}, which need another way."
        if shared_topics(after, one, other).size == 0:
            why = f"{one} and {other} share no topic, but what is published there needs a way."
        steps.append(_step("add_link", (one, other), why, "topics_at_k", (before, held)))
        before = held
    return steps


def _removals(
    target: Overlay, removed: Sequence[Link], gone: Sequence[str], after: Snapshot
) -> list[Step]:
    """Links of those who go, and of newcomers that need them no more."""
    count = len(target.links) + len(removed)
    steps = []
    for one, other in removed:
        leaving = [name for name in (one, other) if name in gone]
        if leaving:
            why = f"{leaving[0]} leaves the network."
        else:
            shared = len(shared_topics(after, one, other))
            why = f"{one} and {other} share no topic."
            if shared:
                why = f"{one} and {other} share {counted(shared, 'topic')}, joined without it too."
        steps.append(_step("remove_link", (one, other), why, "links", (count, count - 1)))
        count -= 1
    return steps


def _step(
    action: Literal["add_link", "remove_link"],
    link: Link,
    why: str,
    metric: str,
    figures: tuple[int, int],
) -> Step:
    return Step(
        action=action,
        brokers=link,
        why=why,
        algorithm=CHURN,
        metric=metric,
        before=float(figures[0]),
        after=float(figures[1]),
    )


def _summary(
    before: tuple[Overlay, Snapshot],
    after: tuple[Overlay, Snapshot],
    who: tuple[tuple[str, ...], BrokerChange],
) -> str:
    """Who came and went, and what links and topics were and are like."""
    came, change = who
    today, target = before[0], after[0]
    held = (_topics_at_k(*before), _topics_at_k(*after))
    placed = [
        f"{name} has {_degree(target, name)} of {_degree(today, name)} links left" for name in came
    ]
    comes = [f"{name} comes with {counted(_degree(target, name), 'link')}" for name in change.added]
    goes = [f"{name} goes" for name in change.removed]
    told = "; ".join((*placed, *comes, *goes)) or "Nobody comes or goes"
    k = _k(target)
    return (
        f"{told}. Links: {len(today.links):,} before, {len(target.links):,} after; topics joined "
        f"by {counted(k, 'way')}: {held[0]:,} of {len(before[1].topics):,} before, {held[1]:,} of "
        f"{len(after[1].topics):,} after."
    )


def _degree(overlay: Overlay, name: str) -> int:
    return sum(name in link for link in overlay.links)
