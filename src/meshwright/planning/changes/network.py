"""A plan for a network as it is now, whatever the design [DYNATOPS, Alg. 3; kTCO; OCBR]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec
import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.designs import (
    OCBR_DEGREE_MAX,
    Design,
    ForwardingKind,
    begun_with,
    design,
    joined_as,
)
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.plan import Plan
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.planning.adaptation.plan import adapt
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.planning.adaptation.search import SearchRules
from meshwright.planning.adaptation.values import Traffic
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.changes.links import link_plan
from meshwright.planning.changes.worth import carried_delay_ms
from meshwright.planning.designs import build_overlay
from meshwright.planning.low_bits import choose_low_bits, with_low_bits
from meshwright.planning.overlay_builders import search_seed

Objective = Literal["net", "cost"]

# Of a topic-connected design: links change where brokers come and go, and nowhere else.
CHURN = "churn"
BARE = "hash"  # as the design is built, fitted to nothing
METHOD = "best"  # of arranging brokers on a ring that stands, where nobody names another


@dataclass(frozen=True, slots=True)
class PlanWish:
    """What a plan is to reach.

    objective: `net` changes what saves more in the horizon than the change costs, `cost` whatever
    lowers the cost. method: how brokers get positions; None for the design's own; CHURN changes
    links only where brokers come and go, whatever that saves.
    reconfigurability_beta: plan positions only where the cost is more than this share of moving
    everybody [DYNATOPS, Alg. 3]; None to try always. degree_max: links that a broker on a tree may
    come to have. params: of the builder of a topic-connected design, by name.
    subscriptions: those expected in the horizon; None: each interest of the snapshot once.
    weights: of the price by which the plan is judged; delay_weight is that of its delay.
    """

    design: str
    objective: Objective = "net"
    method: str | None = None
    delay_weight: float = 1.0
    k: int | None = None
    degree_max: int = OCBR_DEGREE_MAX
    reconfigurability_beta: float | None = None
    params: tuple[tuple[str, Parameter], ...] = ()
    subscriptions: float | None = None
    weights: PriceWeights = field(default_factory=PriceWeights)

    @property
    def joined_as(self) -> str:
        """The design without what a variant adds to it: that is the plan's own work."""
        return joined_as(self.design)

    @property
    def price_weights(self) -> PriceWeights:
        """What counts how much in the price, delay included."""
        return msgspec.structs.replace(self.weights, delay=self.delay_weight)

    @property
    def row(self) -> Design:
        """What the design is and can do."""
        return design(self.design)


Planner = Callable[[Snapshot, PlanWish, Overlay | None, int], Plan]


def plan_network(
    snapshot: Snapshot, wish: PlanWish, *, source: Overlay | None = None, seed: int = 0
) -> Plan:
    """A plan from today's overlay, or from where the design would begin, to a better one.

    An overlay of another design is replaced as a whole, if that pays. A new design is what its name
    builds, as in a comparison, unless a method is wished; one that stands is improved.
    """
    if source is not None:
        _refuse_strangers(source, snapshot)
        if not _is_of(source, wish):
            return _redesigned(snapshot, wish, source, seed)
    return _with_delays(_planner(wish)(snapshot, wish, source, seed), snapshot)


def begun_overlay(snapshot: Snapshot, wish: PlanWish, seed: int) -> Overlay:
    """The overlay of a design before anybody planned: by hash, or without any link."""
    if wish.row.forwarding == "topic_connected":
        return Overlay(design=wish.joined_as, brokers=snapshot.brokers, links=())
    rng, params = np.random.default_rng(seed), begun_with(wish.design)
    return build_overlay(wish.joined_as, snapshot, k=wish.k, rng=rng, **params)


def _is_of(source: Overlay, wish: PlanWish) -> bool:
    """Whether an overlay is of the wished design, and has what its name asks for."""
    wished = wish.row.given if wish.row.choose_links else begun_with(wish.design)
    is_as_asked = all(source.params.get(one, value) == value for one, value in wished.items())
    return source.design == wish.joined_as and is_as_asked


def _with_delays(plan: Plan, snapshot: Snapshot) -> Plan:
    """The plan with mean delays in milliseconds, where they are known and not in it yet."""
    if snapshot.delays_ms is None or plan.cost.delay_ms_before is not None:
        return plan
    before, after = (carried_delay_ms(overlay, snapshot) for overlay in (plan.source, plan.target))
    cost = msgspec.structs.replace(plan.cost, delay_ms_before=before, delay_ms_after=after)
    return msgspec.structs.replace(plan, cost=cost)


def _arranged(snapshot: Snapshot, wish: PlanWish, source: Overlay | None, seed: int) -> Plan:
    own = wish.row.given.get("arrangement", BARE if source is None else METHOD)
    return arrange(
        snapshot,
        wish.row.geometry,
        wish.method or str(own),
        delay_weight=wish.delay_weight,
        source=source or begun_overlay(snapshot, wish, seed),
        seed=search_seed(np.random.default_rng(seed)),
        net=wish.objective == "net",
        reconfigurability_beta=wish.reconfigurability_beta,
    )


def _linked(snapshot: Snapshot, wish: PlanWish, source: Overlay | None, seed: int) -> Plan:
    target = build_overlay(
        wish.joined_as,
        snapshot,
        k=wish.k,
        rng=np.random.default_rng(seed),
        **{**wish.row.given, **dict(wish.params)},
    )
    return link_plan(
        source or begun_overlay(snapshot, wish, seed),
        target,
        snapshot,
        wish.price_weights,
        only_if_worth=wish.objective == "net",
    )


def _adapted(snapshot: Snapshot, wish: PlanWish, source: Overlay | None, seed: int) -> Plan:
    if source is None and not wish.row.given.get("adapted"):
        return _unmoved(snapshot, wish, source, seed)
    today = source or begun_overlay(snapshot, wish, seed)
    # Vertices of the tree are numbered as the snapshot's brokers are.
    tree = msgspec.structs.replace(today, brokers=snapshot.brokers)
    search = SearchRules(degree_max=wish.degree_max)
    rules = (
        AdaptationRules(search=search)
        if wish.objective == "net"
        else AdaptationRules(search=search, gain_share_min=0.0, messages_per_neighbour=0)
    )
    messages = np.ceil(snapshot.publications).astype(np.int64)
    traffic = Traffic(snapshot.interests.transposed(), messages)
    return adapt(tree, traffic, np.random.default_rng(seed), rules=rules)


def _unmoved(snapshot: Snapshot, wish: PlanWish, source: Overlay | None, seed: int) -> Plan:
    """Where brokers are joined by their names alone there is nothing to plan."""
    today = source or begun_overlay(snapshot, wish, seed)
    return link_plan(today, today, snapshot, wish.price_weights, only_if_worth=True)


def _divided(snapshot: Snapshot, wish: PlanWish, source: Overlay | None, seed: int) -> Plan:
    """A hypercube with as many low bits as cost least, where the name does not say how many."""
    if source is None or "low_bit_count" in wish.row.given:
        return _unmoved(snapshot, wish, source, seed)
    today = source
    choice = choose_low_bits(today, snapshot, wish.subscriptions)
    target = with_low_bits(today, choice.best.low_bit_count)
    # A link that changes is one message.
    price = len(set(today.links) ^ set(target.links))
    pays = choice.today.total - choice.best.total > price
    plan = link_plan(
        today,
        target if pays or wish.objective == "cost" else today,
        snapshot,
        wish.price_weights,
        only_if_worth=False,
    )
    return msgspec.structs.replace(plan, summary=f"{plan.summary} {choice.reason}")


def _redesigned(snapshot: Snapshot, wish: PlanWish, source: Overlay, seed: int) -> Plan:
    """The best overlay of the wished design in place of one of another."""
    best = _planner(wish)(snapshot, replace(wish, objective="cost"), None, seed).target
    return link_plan(
        source,
        best,
        snapshot,
        wish.price_weights,
        only_if_worth=wish.objective == "net",
    )


def _planner(wish: PlanWish) -> Planner:
    is_fixed = wish.row.forwarding == "acyclic" and not wish.row.can_adapt
    is_bare = wish.method == BARE and wish.row.forwarding in {"acyclic", "partition"}
    if is_bare:
        return _unmoved
    return _unmoved if is_fixed else PLANNERS[wish.row.forwarding]


def _refuse_strangers(source: Overlay, snapshot: Snapshot) -> None:
    strangers = sorted(set(source.brokers) ^ set(snapshot.brokers))
    if strangers:
        raise ProblemError(
            f"Broker {strangers[0]!r} is in only one of the network and its overlay; "
            "give the overlay of all brokers."
        )


PLANNERS: dict[ForwardingKind, Planner] = {
    "rendezvous": _arranged,
    "topic_connected": _linked,
    "acyclic": _adapted,
    "partition": _divided,
}
