"""One run: a seed becomes a world, which lives through its traffic and faults until it is quiet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from meshwright.history.lost import lost
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.model.times import SECOND_US
from meshwright.planning.designs import build_overlay
from meshwright.protocol.observation import Observation
from meshwright.sim.brokers.host import Machine, Witness
from meshwright.sim.physics.chance import Streams, streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.scenario.faults import Fault, Field, plan_faults
from meshwright.sim.scenario.injection import inject
from meshwright.sim.scenario.parameters import SimulationParameters
from meshwright.sim.scenario.plans import schedule_plans
from meshwright.sim.scenario.population import Population, draw_population, snapshot_of, with_wills
from meshwright.sim.scenario.traffic import (
    Arrivals,
    add_clients,
    schedule_changes,
    schedule_deaths,
    schedule_doubles,
    schedule_moves,
)
from meshwright.sim.world import World

WARM_UP_US = 4 * SECOND_US
# Faults have healed before traffic ends, so that every run shows recovery under traffic too.
FAULTY_PART = 0.8
# Longer than any machine waits before it tries something again.
QUIET_US = 5 * SECOND_US
PLANS_AFTER = 0.3
LOOK_EVERY_US = SECOND_US

BuildMachine = Callable[[str, Overlay], Machine]


@dataclass(frozen=True, slots=True)
class Run:
    """What is left of a run: the evidence.

    late_messages: by class, those sent between brokers when nothing was left to do. observed: how
    every broker stood at the end.
    """

    parameters: SimulationParameters
    world: World
    population: Population
    overlay: Overlay
    snapshot: Snapshot
    faults: tuple[Fault, ...]
    late_messages: dict[str, int]
    observed: dict[str, Observation]


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
    population = with_wills(population, parameters, chances.wills)
    snapshot = snapshot_of(population, parameters.publications_per_s * parameters.duration_s)
    overlay = build_overlay(parameters.design, snapshot, k=parameters.k, rng=chances.overlay)
    world = World(
        overlay,
        lambda name: build(name, overlay),
        NetworkSettings(),
        chances,
        newcomers=newcomers(parameters),
        witness=witness,
    )
    faults = _prepare(world, parameters, population, chances)
    if parameters.reconfigure:
        schedule_plans(
            world,
            overlay,
            snapshot,
            chances.plans,
            homes={one.name: one.broker for one in population.clients},
            k=parameters.k,
            start_us=WARM_UP_US + int(PLANS_AFTER * parameters.duration_s * SECOND_US),
            end_us=_end_us(parameters),
        )
    _look_at_queues(world, None)
    world.start()
    world.run_until(_end_us(parameters))
    late = _settle(world, parameters)
    observed = world.observe()
    return Run(parameters, world, population, overlay, snapshot, faults, late, observed)


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
    schedule_deaths(world, population, chances.wills, start_us=start_us, end_us=end_us)
    schedule_doubles(world, parameters, chances.doubles, start_us=start_us, end_us=end_us)
    joining = newcomers(parameters)
    field = Field(
        (*population.brokers, *joining),
        tuple(world.clients),
        start_us,
        faulty_end_us,
        has_plans=parameters.reconfigure or parameters.is_adapting or bool(joining),
        newcomers=joining,
    )
    faults = plan_faults(parameters.faults, field, chances.faults)
    inject(world, faults)
    return faults


def newcomers(parameters: SimulationParameters) -> tuple[str, ...]:
    """The brokers that join a run, of names below and above all others."""
    return ("a", "z") if "joins" in parameters.faults else ()


def _look_at_queues(world: World, _: None) -> None:
    world.look_at_queues()
    world.agenda.at(world.agenda.now_us + LOOK_EVERY_US, _look_at_queues, world)


def _settle(world: World, parameters: SimulationParameters) -> dict[str, int]:
    """Run on until nothing is owed and nothing new came for a while, or patience ends.

    Returns the messages by class that were sent in that while, which begins when nobody waits for
    anything any more; none if it did not come to that.
    """
    deadline_us = world.agenda.now_us + int(parameters.settle_max_s * SECOND_US)
    seen, was_still = -1, False
    while world.agenda.now_us < deadline_us:
        quiet_us = min(world.agenda.now_us + QUIET_US, deadline_us)
        # What was sent just before has yet to make its last hops.
        world.run_until(min(world.agenda.now_us + SECOND_US, quiet_us))
        before = Counter(world.counts_by_class())
        world.run_until(quiet_us)
        deliveries = len(world.history.deliveries)
        is_still = all(one.is_settled for one in world.clients.values())
        is_still = is_still and not any(one.is_changing for one in world.observe().values())
        if was_still and is_still and seen == deliveries and not lost(world.history):
            return dict(Counter(world.counts_by_class()) - before)
        seen, was_still = deliveries, is_still
    return {}


def _end_us(parameters: SimulationParameters) -> int:
    return WARM_UP_US + int(parameters.duration_s * SECOND_US)
