"""One run: a seed becomes a world, which lives through its traffic and faults until it is quiet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay
from meshwright.protocol.happenings import PlanGiven
from meshwright.sim.chance import Streams, streams
from meshwright.sim.checkers.lost import lost
from meshwright.sim.faults import SECOND_US, Fault, Field, plan_faults
from meshwright.sim.host import Machine, Witness
from meshwright.sim.injection import inject
from meshwright.sim.network import NetworkSettings
from meshwright.sim.parameters import SimulationParameters
from meshwright.sim.plans import drawn_plan, with_moves
from meshwright.sim.population import Population, draw_population, snapshot_of
from meshwright.sim.traffic import Arrivals, add_clients, schedule_changes, schedule_moves
from meshwright.sim.world import World

WARM_UP_US = 4 * SECOND_US
# Faults have healed before traffic ends, so that every run shows recovery under traffic too.
FAULTY_PART = 0.8
# Longer than any machine waits before it tries something again.
QUIET_US = 5 * SECOND_US
PLAN_AFTER = 0.3

BuildMachine = Callable[[str, Overlay], Machine]


@dataclass(frozen=True, slots=True)
class Run:
    """What is left of a run: the evidence."""

    world: World
    population: Population
    overlay: Overlay
    snapshot: Snapshot
    faults: tuple[Fault, ...]


def run(
    parameters: SimulationParameters,
    seed: int,
    build: BuildMachine,
    *,
    witness: Witness | None = None,
) -> Run:
    """Simulate one seed from the start to quiet."""
    chances = streams(seed)
    population = draw_population(parameters, chances.topics, chances.clients)
    snapshot = snapshot_of(population, parameters.publications_per_s * parameters.duration_s)
    overlay = build_overlay(parameters.design, snapshot, k=parameters.k, rng=chances.overlay)
    world = World(
        overlay,
        lambda name: build(name, overlay),
        NetworkSettings(),
        chances,
        witness=witness,
    )
    faults = _prepare(world, parameters, population, chances)
    if parameters.reconfigure:
        plan = drawn_plan(overlay, snapshot, chances.plans, k=parameters.k)
        _give_plan(world, parameters, population, plan, chances.plans)
    world.start()
    world.run_until(_end_us(parameters))
    _settle(world, parameters)
    return Run(world, population, overlay, snapshot, faults)


def _prepare(
    world: World, parameters: SimulationParameters, population: Population, chances: Streams
) -> tuple[Fault, ...]:
    """Put everything on the agenda that does not depend on what brokers do."""
    start_us, end_us = WARM_UP_US, _end_us(parameters)
    faulty_end_us = start_us + int(FAULTY_PART * (end_us - start_us))
    add_clients(world, population, parameters, chances.clients)
    Arrivals(world, population, parameters, chances.arrivals, start_us=start_us, end_us=end_us)
    schedule_changes(world, population, parameters, chances.churn, start_us=start_us, end_us=end_us)
    if parameters.mobility is not None:
        schedule_moves(world, parameters, chances.moves, start_us=start_us, end_us=end_us)
    field = Field(population.brokers, tuple(world.clients), start_us, faulty_end_us)
    faults = plan_faults(parameters.faults, field, chances.faults)
    inject(world, faults)
    return faults


def _give_plan(
    world: World,
    parameters: SimulationParameters,
    population: Population,
    plan: Plan,
    rng: np.random.Generator,
) -> None:
    at_us = WARM_UP_US + int(PLAN_AFTER * parameters.duration_s * SECOND_US)
    brokers = plan.source.brokers
    broker = brokers[int(rng.integers(len(brokers)))]
    homes = {one.name: one.broker for one in population.clients}
    plan = with_moves(plan, homes, rng)
    world.at(at_us, partial(world.tell, broker, PlanGiven("apply", plan)))


def _settle(world: World, parameters: SimulationParameters) -> None:
    """Run on until nothing is owed and nothing new came for a while, or patience ends."""
    deadline_us = world.agenda.now_us + int(parameters.settle_max_s * SECOND_US)
    seen = -1
    while world.agenda.now_us < deadline_us:
        world.run_until(min(world.agenda.now_us + QUIET_US, deadline_us))
        deliveries = len(world.history.deliveries)
        is_quiet = seen == deliveries and all(one.is_settled for one in world.clients.values())
        if is_quiet and not lost(world.history):
            return
        seen = deliveries


def _end_us(parameters: SimulationParameters) -> int:
    return WARM_UP_US + int(parameters.duration_s * SECOND_US)
