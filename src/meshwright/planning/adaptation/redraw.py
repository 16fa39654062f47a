"""A better tree over one master and its neighbours, by name, as a running broker asks [OCBR]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from meshwright.model.adaptation import AdaptationOptions, StatedCosts
from meshwright.model.neighbourhood import CLIENT_MARK, NeighbourhoodView, Redraw, Redrawn
from meshwright.overlays.tree import FANOUT
from meshwright.planning.adaptation.chosen import costs_chosen, rules_chosen
from meshwright.planning.adaptation.naming import traffic_from_names
from meshwright.planning.adaptation.neighbourhood import Neighbourhood
from meshwright.planning.adaptation.rounds import AdaptationRules, improvement
from meshwright.planning.adaptation.search import SearchRules
from meshwright.planning.adaptation.values import DispatchTree, TreeCosts, check_demand

# What redrawing a star sends: seven messages for each neighbour whose links change, and the news of
# it to everybody else.
MESSAGES_PER_BROKER, MESSAGES_PER_NEIGHBOUR = 1, 7
# Without a bound on a broker's links, trees would end as stars; a regular tree must have room.
BROKER_RULES = AdaptationRules(
    search=SearchRules(degree_max=2 * FANOUT),
    horizon_periods=30,
    messages_per_neighbour=MESSAGES_PER_NEIGHBOUR,
)


def redraw_by(
    rules: AdaptationRules = BROKER_RULES,
    messages_per_broker: int = MESSAGES_PER_BROKER,
    *,
    options: AdaptationOptions | None = None,
    stated: StatedCosts | None = None,
) -> Redraw:
    """The search that a broker is given; chance in it depends on the broker and its round only.

    messages_per_broker: what a switch sends for each other broker, whatever changes. options: what
    was chosen instead of what the rules say.
    """
    if options is not None:
        rules = rules_chosen(options, rules)
    weights = options or AdaptationOptions()

    def redraw(view: NeighbourhoodView) -> Redrawn | None:
        brokers = (view.master, *view.neighbours)
        clients = tuple(name.removeprefix(CLIENT_MARK) for name in view.clients)
        return better_star(
            (*brokers, *view.clients),
            view.outer_degrees,
            [(messages, members) for members, messages in view.classes],
            np.random.default_rng([view.round_number, *view.master.encode()]),
            costs=costs_chosen(weights, stated or StatedCosts(), brokers, clients),
            rules=replace(rules, messages_fixed=messages_per_broker * (view.broker_count - 1)),
        )

    return redraw


def better_star(
    names: Sequence[str],
    outer_degrees: Sequence[int],
    classes: Iterable[tuple[int, Sequence[str]]],
    rng: np.random.Generator,
    *,
    costs: TreeCosts | None = None,
    rules: AdaptationRules | None = None,
) -> Redrawn | None:
    """The tree to put in the place of a star, or None if nothing is worth the change.

    names: the master, then its neighbours, then clients of the master that may move, as CLIENT_MARK
    and their name; outer_degrees are the neighbours' links to others, and classes (messages,
    members). costs are those of these brokers and clients, in this order.
    """
    costs, rules = costs or TreeCosts(), rules or AdaptationRules()
    broker_count = len(outer_degrees) + 1
    star = DispatchTree(broker_count, np.zeros(len(names), dtype=np.int32))
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
    ups = found.local_parents.tolist()
    return Redrawn(
        links=tuple((names[ups[low]], names[low]) for low in range(1, broker_count)),
        cost_before=cost_before,
        cost_after=cost_before - found.gain,
        moves=tuple(
            (names[client].removeprefix(CLIENT_MARK), names[ups[client]])
            for client in range(broker_count, len(names))
            if ups[client]
        ),
    )
