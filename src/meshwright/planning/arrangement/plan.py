"""From a snapshot to a plan: who swaps positions with whom, in what order, and what it is worth."""

from __future__ import annotations

import numpy as np

from meshwright.model.designs import begun_with, design, joined_as
from meshwright.model.identifiers import BrokerName
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.plan import Plan, PlanCost, Step
from meshwright.model.snapshot import Snapshot
from meshwright.model.wording import amount, counted
from meshwright.overlays.key_geometries import key_geometry
from meshwright.planning.arrangement.cost import ArrangementCost, arrangement_cost
from meshwright.planning.arrangement.methods import arrangement_method, counts_ways_in
from meshwright.planning.arrangement.paths import SwapPath, path_towards, swap_path
from meshwright.planning.arrangement.problem import Problem, arrangement_problem, hash_positions
from meshwright.planning.arrangement.reconfiguration import (
    is_reconfigurable,
    reconfiguration_cost,
)
from meshwright.planning.arrangement.search import Search, new_search
from meshwright.planning.arrangement.seats import arranged_overlay, read_seats


def arrange(
    snapshot: Snapshot,
    name: str,
    method: str,
    *,
    delay_weight: float = 1.0,
    source: Overlay | None = None,
    seed: int = 0,
    net: bool = True,
    reconfigurability_beta: float | None = None,
    must_pay: bool = False,
) -> Plan:
    """A plan by one of the METHODS, from the source overlay or else from the hash arrangement.

    name: of a design whose positions are on a key geometry, with what it asks of that.
    net=False lets `best` lower the cost alone, whatever reconfiguration costs. With a beta, nothing
    is planned where even the whole cost is less than that share of moving everybody. What must pay
    and does not is not planned either.
    """
    choose = arrangement_method(method)
    source = source or _hashed(snapshot, name)
    geometry, start = read_seats(source, snapshot, design(name).geometry)
    with_ways_in = counts_ways_in(method)
    problem = arrangement_problem(snapshot, geometry, delay_weight, with_ways_in=with_ways_in)
    search = new_search(problem, start, seed=seed, net=net)
    before = arrangement_cost(problem, start)
    if reconfigurability_beta is not None and not is_reconfigurable(
        before.total, problem.broker_count, problem.topic_count, reconfigurability_beta
    ):
        choose = _staying
    path = choose(search)
    after = arrangement_cost(problem, path.target)
    price = _price(path, problem)
    if must_pay and before.total - after.total - price <= 0.0:
        path, after, price = _staying(search), before, 0.0
    target, params = source, dict[str, Parameter](arrangement=method)
    if path.moved[-1]:
        target = arranged_overlay(source.design, snapshot, geometry, path.target, params)
    return _plan(source, target, snapshot, path, costs=(before, after), method=method)


def arrange_towards(source: Overlay, target: Overlay, snapshot: Snapshot, weight: float) -> Plan:
    """The plan of swaps from one arrangement to another on the same positions."""
    geometry, start = read_seats(source, snapshot, design(source.design).geometry)
    seats = read_seats(target, snapshot, geometry.name)[1]
    method = str(target.params.get("arrangement", "hash"))
    with_ways_in = counts_ways_in(method)
    problem = arrangement_problem(snapshot, geometry, weight, with_ways_in=with_ways_in)
    path = path_towards(new_search(problem, start).tables, start, seats)
    costs = arrangement_cost(problem, start), arrangement_cost(problem, seats)
    return _plan(source, target, snapshot, path, costs=costs, method=method)


def _plan(
    source: Overlay,
    target: Overlay,
    snapshot: Snapshot,
    path: SwapPath,
    *,
    costs: tuple[ArrangementCost, ArrangementCost],
    method: str,
) -> Plan:
    before, after = costs
    moved = int(path.moved[-1])
    price = reconfiguration_cost(moved, len(snapshot.brokers), len(snapshot.topics))
    return Plan(
        source=source,
        target=target,
        steps=_steps(path, snapshot.brokers, method) if moved else (),
        cost=_plan_cost(before, after),
        reconfiguration_cost=price,
        net_benefit=before.total - after.total - price,
        moved=moved,
        summary=_summary(method, moved, price),
    )


def _hashed(snapshot: Snapshot, name: str) -> Overlay:
    """Every broker where the hash of its name puts it."""
    shape, count = design(name).geometry, len(snapshot.brokers)
    geometry = key_geometry(shape, count, identifiers=None, linked=None, **begun_with(name))
    positions = hash_positions(snapshot.brokers)
    return arranged_overlay(joined_as(name), snapshot, geometry, positions, {"arrangement": "hash"})


def _staying(search: Search) -> SwapPath:
    """The path to where brokers are already."""
    return swap_path(search.tables, search.start, np.empty((0, 2), dtype=np.int32))


def _price(path: SwapPath, problem: Problem) -> float:
    return reconfiguration_cost(int(path.moved[-1]), problem.broker_count, problem.topic_count)


def _steps(path: SwapPath, names: tuple[BrokerName, ...], method: str) -> tuple[Step, ...]:
    costs = path.costs.tolist()
    return tuple(
        Step(
            action="swap_positions",
            brokers=(names[first], names[second]),
            why=_why(f"{names[first]} and {names[second]} swap", costs[number:]),
            algorithm=method,
            metric="cost",
            before=costs[number],
            after=costs[number + 1],
        )
        for number, (first, second) in enumerate(path.swaps.tolist())
    )


def _why(swap: str, costs: list[float]) -> str:
    """What a swap does; costs: before it, after it, and after each that follows."""
    before, after = costs[:2]
    if after < before:
        return f"The cost falls by {amount(before - after)} when {swap}."
    by_itself = f"costs {amount(after - before)} by itself" if after > before else "costs nothing"
    least = min(costs[1:])
    if least < before:
        return (
            f"That {swap} {by_itself}, and makes way for swaps that save {amount(after - least)}."
        )
    return f"That {swap} {by_itself}, and leads to where the method wants both."


def _plan_cost(before: ArrangementCost, after: ArrangementCost) -> PlanCost:
    return PlanCost(
        before=before.total,
        after=after.total,
        overhead_external_before=before.overhead_external,
        overhead_external_after=after.overhead_external,
        delay_before=before.delay,
        delay_after=after.delay,
    )


def _summary(method: str, moved: int, price: float) -> str:
    if moved == 0:
        return f"Nothing better than now was found: {method} leaves every broker where it is."
    return f"{method} moves {counted(moved, 'broker')}, for {amount(price)} messages."
