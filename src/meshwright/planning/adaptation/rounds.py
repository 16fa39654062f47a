"""Rounds over the network: each broker in turn improves its neighbourhood until none can [OCBR].

Only brokers of a changed neighbourhood see other traffic than before, so the others need not look
again. Costs are integers and every applied change lowers the global one: the process ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import Int32Array
from meshwright.planning.adaptation.cost import broker_level, tree_cost
from meshwright.planning.adaptation.kernels.subtrees import PriceArrays
from meshwright.planning.adaptation.neighbourhood import Neighbourhood, local_classes, rewired
from meshwright.planning.adaptation.search import (
    SearchRules,
    best_local_tree,
    tree_count,
    with_brokers,
)
from meshwright.planning.adaptation.values import DispatchTree, Traffic, TreeCosts

Link = tuple[int, int]


@dataclass(frozen=True, slots=True)
class AdaptationRules:
    """When a better neighbourhood is worth the change.

    gain_share_min: least gain as a share of the neighbourhood's cost. horizon_periods: how many
    periods like the observed one the tree is planned for. messages_per_neighbour, messages_fixed:
    price of a live switch; the gain over the horizon must be more. move_clients: whether a master
    may hand its clients to neighbours; it is the mobility protocol's work, so not by default.
    messages_per_client: price of moving one.
    """

    search: SearchRules = field(default_factory=SearchRules)
    gain_share_min: float = 0.02
    horizon_periods: int = 1
    messages_per_neighbour: int = 9
    messages_fixed: int = 0
    move_clients: bool = False
    messages_per_client: int = 20

    def __post_init__(self) -> None:
        if self.horizon_periods < 1:
            raise ProblemError(f"A horizon of {self.horizon_periods} periods is none; choose 1 up.")
        prices = (self.messages_per_neighbour, self.messages_fixed, self.messages_per_client)
        if not self.gain_share_min >= 0.0 or min(prices) < 0:
            raise ProblemError("The least gain and the price of a switch must be 0 or more.")

    def price(self, neighbour_count: int, moved_count: int = 0) -> int:
        """Messages of a live switch among so many neighbours, if any, and of clients that move."""
        switch = self.messages_fixed + self.messages_per_neighbour * neighbour_count
        return (switch if neighbour_count else 0) + self.messages_per_client * moved_count


@dataclass(frozen=True, slots=True)
class Reconfiguration:
    """One applied change of a master's neighbourhood; links are vertices, lower first.

    cost_before, cost_after: global, of the observed period. messages: price of the live switch.
    """

    master: int
    algorithm: str
    added: tuple[Link, ...]
    removed: tuple[Link, ...]
    cost_before: int
    cost_after: int
    messages: int


@dataclass(frozen=True, slots=True, eq=False)
class Adaptation:
    """The tree no broker improves, and the way there.

    round_costs: global cost at the start and after every round; the last round changes nothing,
    unless the number of rounds was limited.
    """

    tree: DispatchTree
    reconfigurations: tuple[Reconfiguration, ...]
    round_costs: tuple[int, ...]


def adapt_in_rounds(
    tree: DispatchTree,
    traffic: Traffic,
    rng: np.random.Generator,
    *,
    costs: TreeCosts | None = None,
    rules: AdaptationRules | None = None,
    rounds_max: int | None = None,
    on_round: Callable[[int, int], None] | None = None,
) -> Adaptation:
    """Let brokers reconfigure in ascending order, round by round, until no one improves.

    rounds_max: end after so many rounds in any case. on_round is told the round's number and the
    cost after it.
    """
    costs, rules = costs or TreeCosts(), rules or AdaptationRules()
    cost = tree_cost(tree, traffic, costs)
    whole, demand = (tree, traffic) if rules.move_clients else broker_level(tree, traffic)
    prices = costs.prices(whole)
    must_look = np.ones(tree.broker_count, dtype=np.bool_)
    done: list[Reconfiguration] = []
    round_costs = [cost]
    while bool(must_look.any()) and (rounds_max is None or len(round_costs) <= rounds_max):
        for master in range(tree.broker_count):
            if not must_look[master]:
                continue
            must_look[master] = False
            neighbourhood = local_classes(whole, demand, master)
            found = improvement(neighbourhood, prices, rules, rng)
            if found is None:
                continue
            done.append(_record(neighbourhood, found, cost))
            cost -= found.gain
            whole = rewired(whole, neighbourhood, found.local_parents)
            must_look[neighbourhood.vertices[: neighbourhood.broker_count]] = True
        round_costs.append(cost)
        if on_round is not None:
            on_round(len(round_costs) - 1, cost)
    return Adaptation(with_brokers(tree, whole), tuple(done), tuple(round_costs))


class Improvement(NamedTuple):
    """A better local tree, by how much, what found it, and the price of the live switch."""

    local_parents: Int32Array
    gain: int
    algorithm: str
    messages: int


def improvement(
    neighbourhood: Neighbourhood,
    prices: PriceArrays,
    rules: AdaptationRules,
    rng: np.random.Generator,
) -> Improvement | None:
    """A change worth applying, if the search finds one."""
    broker_count = neighbourhood.broker_count
    if tree_count(broker_count, neighbourhood.degree + 1 - broker_count) == 1:
        return None
    star_cost = neighbourhood.cost(neighbourhood.star(), prices)
    local_parents, algorithm = best_local_tree(neighbourhood, prices, rules.search, rng)
    gain = star_cost - neighbourhood.cost(local_parents, prices)
    changes_links = bool(local_parents[1:broker_count].any())
    moved_count = int(np.count_nonzero(local_parents[broker_count:]))
    messages = rules.price(broker_count - 1 if changes_links else 0, moved_count)
    is_enough = gain > 0 and gain >= rules.gain_share_min * star_cost
    if is_enough and gain * rules.horizon_periods > messages:
        return Improvement(local_parents, gain, algorithm, messages)
    return None


def _record(neighbourhood: Neighbourhood, found: Improvement, cost_before: int) -> Reconfiguration:
    before = _links(neighbourhood.vertices, neighbourhood.star())
    after = _links(neighbourhood.vertices, found.local_parents)
    return Reconfiguration(
        master=neighbourhood.master,
        algorithm=found.algorithm,
        added=tuple(link for link in after if link not in before),
        removed=tuple(link for link in before if link not in after),
        cost_before=cost_before,
        cost_after=cost_before - found.gain,
        messages=found.messages,
    )


def _links(vertices: Int32Array, local_parents: Int32Array) -> list[Link]:
    lows = vertices[1:].tolist()
    ups = vertices[local_parents[1:]].tolist()
    return sorted((min(low, up), max(low, up)) for low, up in zip(lows, ups, strict=True))
