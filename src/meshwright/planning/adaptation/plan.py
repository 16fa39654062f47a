"""From an overlay and its traffic to a plan of link changes [OCBR]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, Step
from meshwright.model.wording import counted
from meshwright.planning.adaptation.cost import tree_figures
from meshwright.planning.adaptation.naming import tree_from_names, vertex_names
from meshwright.planning.adaptation.rounds import (
    Adaptation,
    AdaptationRules,
    Link,
    Reconfiguration,
    adapt_in_rounds,
)
from meshwright.planning.adaptation.values import DispatchTree, Traffic, TreeCosts

LinkAction = Literal["add_link", "remove_link", "move_client"]


def adapt(
    overlay: Overlay,
    traffic: Traffic,
    rng: np.random.Generator,
    *,
    clients: Mapping[str, str] | None = None,
    costs: TreeCosts | None = None,
    rules: AdaptationRules | None = None,
    on_round: Callable[[int, int], None] | None = None,
) -> Plan:
    """A plan that fits a tree to its traffic; with no steps if nothing is better than now.

    traffic is over the vertices of `vertex_names(overlay, clients)`. All figures are over the
    horizon: cost is the tree's (eq. 1), external overhead and delay are those of TreeFigures.
    Steps come reconfiguration by reconfiguration, links added before links removed.
    """
    rules = rules or AdaptationRules()
    tree = tree_from_names(overlay, clients)
    adaptation = adapt_in_rounds(tree, traffic, rng, costs=costs, rules=rules, on_round=on_round)
    names = vertex_names(overlay, clients)
    target = overlay if not adaptation.reconfigurations else _overlay_of(overlay, adaptation.tree)
    before, after = (
        float(cost * rules.horizon_periods)
        for cost in (adaptation.round_costs[0], adaptation.round_costs[-1])
    )
    price = float(sum(change.messages for change in adaptation.reconfigurations))
    return Plan(
        source=overlay,
        target=target,
        steps=tuple(
            step
            for change in adaptation.reconfigurations
            for step in _steps(change, names, tree.broker_count, rules.horizon_periods)
        ),
        cost=_plan_cost(before, after, (tree, adaptation.tree), traffic, rules),
        reconfiguration_cost=price,
        net_benefit=before - after - price,
        moved=_moved_count(tree, adaptation.tree),
        summary=_summary(adaptation, before, after, price),
    )


def _plan_cost(
    before: float,
    after: float,
    trees: tuple[DispatchTree, DispatchTree],
    traffic: Traffic,
    rules: AdaptationRules,
) -> PlanCost:
    old, new = (tree_figures(tree, traffic) for tree in trees)
    horizon = rules.horizon_periods
    return PlanCost(
        before=before,
        after=after,
        overhead_external_before=float(old.messages_external * horizon),
        overhead_external_after=float(new.messages_external * horizon),
        delay_before=old.delay_hops * horizon,
        delay_after=new.delay_hops * horizon,
    )


def _steps(
    change: Reconfiguration, names: Sequence[str], broker_count: int, horizon: int
) -> list[Step]:
    """Links are opened before others close; then clients move, as (client, from, to)."""
    gain = (change.cost_before - change.cost_after) * horizon
    why = (
        f"The neighbourhood of {names[change.master]} costs {gain} less in this shape, "
        f"for at most {counted(change.messages, 'message')} to switch."
    )

    def step(action: LinkAction, involved: tuple[int, ...]) -> Step:
        return Step(
            action=action,
            brokers=tuple(names[vertex] for vertex in involved),
            why=why,
            algorithm=change.algorithm,
            metric="tree_cost",
            before=float(change.cost_before * horizon),
            after=float(change.cost_after * horizon),
        )

    def between_brokers(links: tuple[Link, ...]) -> list[Link]:
        return [link for link in links if link[1] < broker_count]

    left = {client: broker for broker, client in change.removed if client >= broker_count}
    return [
        *(step("add_link", link) for link in between_brokers(change.added)),
        *(step("remove_link", link) for link in between_brokers(change.removed)),
        *(
            step("move_client", (client, left[client], broker))
            for broker, client in change.added
            if client >= broker_count
        ),
    ]


def _overlay_of(overlay: Overlay, tree: DispatchTree) -> Overlay:
    names = overlay.brokers
    return Overlay(
        design=overlay.design,
        params=overlay.params,
        brokers=names,
        links=tuple((names[one], names[other]) for one, other in tree.links()),
        positions=overlay.positions,
    )


def _moved_count(before: DispatchTree, after: DispatchTree) -> int:
    """Brokers with another link at the end than at the start."""
    changed = set(before.links()) ^ set(after.links())
    return len({broker for link in changed for broker in link})


def _summary(adaptation: Adaptation, before: float, after: float, price: float) -> str:
    count = len(adaptation.reconfigurations)
    if not count:
        return "Nothing better than now: no broker finds a change that is worth its messages."
    return (
        f"The cost of the tree falls by {counted(count, 'local reconfiguration')} "
        f"from {before:.0f} to {after:.0f} ({100.0 * (before - after) / before:.1f} % less), "
        f"for at most {counted(round(price), 'message')} to switch."
    )
