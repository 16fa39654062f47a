"""What if brokers came or went: the same network with more of them, or without some.

A broker that comes has no clients yet. The clients of one that goes are placed at others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import numpy as np

from meshwright.model.designs import design
from meshwright.model.identifiers import BrokerName
from meshwright.model.interests import Int32Array, Interests, interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, Step
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.model.wording import counted
from meshwright.overlays.growth import with_broker, without_broker
from meshwright.planning.changes.broker_change import BrokerChange
from meshwright.planning.changes.client_moves import SettledClients
from meshwright.planning.changes.clients import (
    Population,
    moves_between,
    resettled,
    summary_of_all,
)
from meshwright.planning.changes.network import PlanWish, begun_overlay, plan_network
from meshwright.planning.changes.worth import overlay_worth, plan_of_worths
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.placement.clients import NO_BROKER, Clients, PlacementProblem, view_of
from meshwright.planning.placement.clusters import one_cluster
from meshwright.planning.placement.outcome import place
from meshwright.planning.placement.strategies import DEFAULT_PLACEMENT
from meshwright.planning.topic_connected.churn import leave


@dataclass(frozen=True, slots=True, eq=False)
class ChangedNetwork:
    """A plan to a network of other brokers, and that network with clients where it moves them."""

    plan: Plan
    snapshot: Snapshot
    clients: Clients | None


def plan_for_brokers(
    snapshot: Snapshot,
    wish: PlanWish,
    change: BrokerChange,
    *,
    population: Population | None = None,
    placement: str | None = None,
    source: Overlay | None = None,
    seed: int = 0,
) -> ChangedNetwork:
    """A plan from the overlay of today's brokers to one of those that will be there.

    Everybody keeps its place as far as the design allows, then the network is planned as wished.
    placement: the rule by which all clients may move; None: only those whose brokers go. Where no
    population is known, what removed brokers wanted is wanted no more.
    """
    change.check(snapshot.brokers)
    today = source or begun_overlay(snapshot, wish, seed)
    after, settled = network_after(snapshot, change, population, placement, seed)
    begun = _mended(today, change, after)
    rest = plan_network(after, wish, source=begun, seed=seed)
    moves: tuple[Step, ...] = ()
    if population is not None and settled is not None:
        moves = moves_between(
            population.names,
            (snapshot, population.clients),
            (after, settled),
            placement or DEFAULT_PLACEMENT,
        )
    around = _link_count(today, begun)
    plan = plan_of_worths(
        today,
        rest.target,
        (
            overlay_worth(today, snapshot, wish.price_weights),
            overlay_worth(rest.target, after, wish.price_weights),
        ),
        wish.price_weights,
        steps=(*comings(change, today, begun), *rest.steps, *moves),
        change_messages=rest.reconfiguration_cost + around + len(moves),
        summary="",
    )
    told = summary_of_all(plan, _told(change, len(moves)))
    clients = None if settled is None else settled.clients
    return ChangedNetwork(msgspec.structs.replace(plan, summary=told), after, clients)


def network_after(
    snapshot: Snapshot,
    change: BrokerChange,
    population: Population | None,
    placement: str | None,
    seed: int,
) -> tuple[Snapshot, SettledClients | None]:
    """The network of other brokers, and its clients at them."""
    left = _renamed(snapshot, change)
    if population is None:
        return left, None
    numbers = _new_numbers(snapshot, left)
    clients = population.clients
    hosts = np.where(clients.brokers == NO_BROKER, NO_BROKER, numbers[clients.brokers])
    local = clients.local_brokers
    if local is not None and bool(np.any(numbers[local] == NO_BROKER)):
        local = None  # some are nearest to a broker that goes
    elif local is not None:
        local = numbers[local]
    waiting = Clients(clients.interests, hosts.astype(np.int32), local)
    homeless = (hosts == NO_BROKER) & (clients.brokers != NO_BROKER)
    count = len(left.brokers)
    placed = place(
        PlacementProblem(
            waiting,
            view_of(waiting, count),
            one_cluster(count),
            asking=homeless if placement is None else ~population.stays(),
        ),
        placement or DEFAULT_PLACEMENT,
        np.random.default_rng(seed),
    )
    settled = SettledClients(
        waiting.brokers,
        waiting.moved_to(placed.brokers),
        one_cluster(count),
        placement or DEFAULT_PLACEMENT,
    )
    settled.send_idle_back()
    return resettled(left, settled.clients), settled


def _renamed(snapshot: Snapshot, change: BrokerChange) -> Snapshot:
    """The snapshot of the brokers that will be there; of one that comes no place is known."""
    staying = [row for row, name in enumerate(snapshot.brokers) if name not in change.removed]
    names = (*(snapshot.brokers[row] for row in staying), *map(BrokerName, change.added))
    delays, places = snapshot.delays_ms, snapshot.coordinates
    is_known = not change.added
    return replace(
        snapshot,
        brokers=names,
        interests=_kept_rows(snapshot.interests, staying, len(names)),
        delays_ms=delays[np.ix_(staying, staying)] if is_known and delays is not None else None,
        coordinates=places[staying] if is_known and places is not None else None,
        publishers=_kept_publishers(snapshot, staying, len(names)),
    )


def _kept_publishers(snapshot: Snapshot, rows: list[int], row_count: int) -> Float64Array | None:
    """Where publications enter once some brokers are gone: what entered there does so anywhere."""
    if snapshot.publishers is None:
        return None
    entering = np.zeros((row_count, len(snapshot.topics)), dtype=np.float64)
    entering[: len(rows)] = snapshot.publishers[rows]
    homeless = snapshot.publishers.sum(axis=0) - entering.sum(axis=0)
    moved: Float64Array = entering + homeless / row_count
    return moved


def _kept_rows(interests: Interests, rows: list[int], row_count: int) -> Interests:
    columns = [interests.of(row) for row in rows]
    numbers = np.repeat(np.arange(len(rows)), [len(one) for one in columns])
    wanted = np.concatenate([np.empty(0, dtype=np.int32), *columns])
    return interests_from_pairs(numbers, wanted, row_count, interests.column_count)


def _new_numbers(before: Snapshot, after: Snapshot) -> Int32Array:
    """The number of each broker in the new network, NO_BROKER for one that goes: (broker,)."""
    places = {name: number for number, name in enumerate(after.brokers)}
    return np.array([places.get(name, NO_BROKER) for name in before.brokers], dtype=np.int32)


def _mended(today: Overlay, change: BrokerChange, after: Snapshot) -> Overlay:
    """Today's overlay with other brokers, before anything else is planned."""
    for name in change.added:
        today = with_broker(today, name)
    for name in change.removed:
        today = (
            linked_without(today, name, after)
            if design(today.design).forwarding == "topic_connected"
            else without_broker(today, name)
        )
    return today


def linked_without(today: Overlay, name: str, after: Snapshot) -> Overlay:
    """A topic-connected overlay whose gap is closed among the neighbours of who goes."""
    rows = {broker: row for row, broker in enumerate(after.brokers)}
    wanted = [
        after.interests.of(rows[BrokerName(one)]) if one in rows else () for one in today.brokers
    ]
    counts = [len(one) for one in wanted]
    interests = interests_from_pairs(
        np.repeat(np.arange(len(counts)), counts),
        np.concatenate([np.empty(0, dtype=np.int32), *wanted]),
        len(counts),
        after.interests.column_count,
    )
    everybody = replace(
        after,
        brokers=tuple(map(BrokerName, today.brokers)),
        interests=interests,
        delays_ms=None,
        coordinates=None,
        publishers=None,
    )
    k = today.params.get("k")
    found = leave(
        link_indexes(today, everybody),
        interests,
        today.brokers.index(name),
        k if isinstance(k, int) else 1,
    )
    names = today.brokers
    return msgspec.structs.replace(
        today,
        brokers=tuple(one for one in names if one != name),
        links=tuple((names[one], names[other]) for one, other in found.links.tolist()),
    )


def _link_count(one: Overlay, other: Overlay) -> int:
    """Links that only one of two overlays has; each is a message."""
    first, second = ({frozenset(link) for link in overlay.links} for overlay in (one, other))
    return len(first ^ second)


def comings(change: BrokerChange, today: Overlay, begun: Overlay) -> tuple[Step, ...]:
    """Who comes and who goes, with the links that it takes."""
    count = len(today.brokers)
    steps = []
    for name in change.added:
        links = counted(sum(name in link for link in begun.links), "link")
        steps.append(
            Step(
                action="add_broker",
                brokers=(name,),
                why=f"{name} comes to the network, with {links} before anything else is planned.",
                algorithm="growth",
                metric="brokers",
                before=float(count),
                after=float(count + 1),
            )
        )
        count += 1
    for name in change.removed:
        links = counted(sum(name in link for link in today.links), "link")
        steps.append(
            Step(
                action="remove_broker",
                brokers=(name,),
                why=f"{name} leaves the network, and {links} of its own with it.",
                algorithm="churn",
                metric="brokers",
                before=float(count),
                after=float(count - 1),
            )
        )
        count -= 1
    return tuple(steps)


def _told(change: BrokerChange, move_count: int) -> str:
    parts = [f"{', '.join(change.added)} added" if change.added else ""]
    parts.append(f"{', '.join(change.removed)} removed" if change.removed else "")
    moved = f", {counted(move_count, 'client')} moved" if move_count else ""
    return f"With {' and '.join(part for part in parts if part)}{moved}"
