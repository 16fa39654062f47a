"""A better tree over one master and its neighbours, by name, as a running broker asks [OCBR]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from meshwright.planning.adaptation.naming import traffic_from_names
from meshwright.planning.adaptation.neighbourhood import Neighbourhood
from meshwright.planning.adaptation.rounds import AdaptationRules, improvement
from meshwright.planning.adaptation.values import DispatchTree, TreeCosts, check_demand


class BetterStar(NamedTuple):
    """Links by name that replace those of a star; costs are of the traffic seen."""

    links: tuple[tuple[str, str], ...]
    cost_before: int
    cost_after: int


def better_star(
    names: Sequence[str],
    outer_degrees: Sequence[int],
    classes: Iterable[tuple[int, Sequence[str]]],
    rng: np.random.Generator,
    *,
    costs: TreeCosts | None = None,
    rules: AdaptationRules | None = None,
) -> BetterStar | None:
    """The tree to put in the place of a star, or None if nothing is worth the change.

    names: the master, then its neighbours; outer_degrees are the neighbours' links to others, and
    classes (messages, members). costs are those of these brokers, in this order.
    """
    costs, rules = costs or TreeCosts(), rules or AdaptationRules()
    star = DispatchTree(len(names), np.zeros(len(names), dtype=np.int32))
    neighbourhood = Neighbourhood(
        vertices=np.arange(len(names), dtype=np.int32),
        outer_degrees=np.array((0, *outer_degrees), dtype=np.int32),
        traffic=traffic_from_names(names, classes),
    )
    check_demand(star, neighbourhood.traffic, costs)
    prices = costs.prices(star)
    found = improvement(neighbourhood, prices, rules, rng)
    if found is None:
        return None
    cost_before = neighbourhood.cost(neighbourhood.star(), prices)
    ups = found.local_parents[1:].tolist()
    return BetterStar(
        links=tuple((names[up], names[low]) for low, up in enumerate(ups, start=1)),
        cost_before=cost_before,
        cost_after=cost_before - found.gain,
    )
