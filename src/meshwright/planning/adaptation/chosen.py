"""What an operator chose, as the search and the cost of a tree take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from meshwright.model.adaptation import AdaptationOptions, StatedCosts
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.planning.adaptation.values import TreeCosts


def rules_chosen(options: AdaptationOptions, rules: AdaptationRules) -> AdaptationRules:
    """These rules with the effort, the limit and the freedom that were chosen."""
    search = replace(
        rules.search,
        iterations=options.iterations,
        moves_max=options.moves_max,
        degree_max=options.degree_max or None,
    )
    return replace(rules, search=search, move_clients=options.move_clients)


def costs_chosen(
    options: AdaptationOptions,
    stated: StatedCosts,
    brokers: Sequence[str],
    clients: Sequence[str] = (),
) -> TreeCosts:
    """The costs of a tree over these brokers and clients; who is not among them is left out."""
    numbers = {name: number for number, name in enumerate(clients, start=len(brokers))}
    # A name that a client shares with a broker is the broker's.
    numbers |= {name: number for number, name in enumerate(brokers)}
    links = np.ones((len(brokers) + len(clients), len(brokers)), dtype=np.int64)
    for one, other, cost in stated.links:
        low, high = sorted((numbers.get(one, -1), numbers.get(other, -1)))
        if 0 <= low < len(brokers):
            links[high, low] = cost
            if high < len(brokers):
                links[low, high] = cost
    at_brokers = np.ones(len(brokers), dtype=np.int64)
    for name, cost in stated.brokers:
        if 0 <= numbers.get(name, -1) < len(brokers):
            at_brokers[numbers[name]] = cost
    return TreeCosts(
        options.link_weight,
        options.broker_weight,
        links if stated.links else None,
        at_brokers if stated.brokers else None,
    )
