"""Trees that fit themselves to their traffic, still and with everything going wrong."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from changing_networks import SECOND_US, TRAFFIC_US, ChangingNetwork

from meshwright.model.adaptation import AdaptationOptions, LinkCost, StatedCosts
from meshwright.model.overlay import Overlay
from meshwright.planning.adaptation.cost import tree_cost
from meshwright.planning.adaptation.naming import tree_from_names
from meshwright.planning.adaptation.redraw import BROKER_RULES
from meshwright.planning.adaptation.rounds import adapt_in_rounds
from meshwright.planning.adaptation.values import Traffic
from meshwright.protocol.adaptation.self_adaptation import AdaptationRecord
from meshwright.protocol.adaptation.star_messages import StarRecord
from meshwright.protocol.forwarding.acyclic.acyclic import AlongTree
from meshwright.protocol.mobility.redirects import ClientMoveRecord
from meshwright.sim.brokers.adapting import adapting_settings, build_adapting_broker
from meshwright.sim.runs.run import Run, run
from meshwright.sim.runs.simulation import builder_of, judge, simulate
from meshwright.sim.scenario.parameters import SimulationParameters

FAULTS = ("crash", "partition", "disconnect", "slow", "stuck", "skew", "disk_full")
EVERY_US = 3 * SECOND_US
BETWEEN_US = SECOND_US // 20


def still_network(seed: int, duration_s: int) -> ChangingNetwork:
    """Every topic is published equally often, by those who want it in turn."""
    settings = adapting_settings(EVERY_US)
    network = ChangingNetwork("tree", 10, seed=seed, settings=settings)
    clients = list(network.world.clients.values())
    members = network.snapshot.interests.transposed()
    for number in range(duration_s * SECOND_US // BETWEEN_US):
        for topic, name in enumerate(network.snapshot.topics):
            wanting = members.of(topic).tolist()
            publish = partial(clients[wanting[number % len(wanting)]].publish, name, 1)
            network.world.at(TRAFFIC_US + number * BETWEEN_US, publish)
    return network


def overlays_in_turn(network: ChangingNetwork) -> list[Overlay]:
    """Every overlay that was in force, by what was reported of the changes."""
    overlays = [network.overlay]
    for _, _, record in network.world.records.all:
        if isinstance(record, AdaptationRecord) and record.step == "applied":
            before = overlays[-1]
            assert set(record.removed) <= set(before.links)
            links = (set(before.links) - set(record.removed)) | set(record.added)
            overlays.append(
                Overlay(
                    design="tree",
                    params=before.params,
                    brokers=before.brokers,
                    links=tuple(sorted(links)),
                )
            )
    return overlays


def is_left_alone(overlay: Overlay, demand: Traffic) -> bool:
    """Whether planning, which knows all traffic, finds no broker that would change anything."""
    tree = tree_from_names(overlay)
    adapted = adapt_in_rounds(tree, demand, np.random.default_rng(0), rules=BROKER_RULES)
    return not adapted.reconfigurations


def messages_of_a_second(network: ChangingNetwork, from_us: int) -> int:
    """Seen from between two publications to between two others."""
    start_us = from_us + BETWEEN_US // 2
    network.world.run_until(start_us)
    before = network.world.message_counts[AlongTree]
    network.world.run_until(start_us + SECOND_US)
    return network.world.message_counts[AlongTree] - before


def records(done: Run, step: str) -> list[AdaptationRecord]:
    reported = [record for _, _, record in done.world.records.all]
    return [one for one in reported if isinstance(one, AdaptationRecord) and one.step == step]


@pytest.mark.parametrize("seed", range(5))
def test_every_change_lowers_the_cost_of_the_whole_tree(seed: int) -> None:
    network = still_network(seed, 40)
    first = messages_of_a_second(network, TRAFFIC_US)
    last = messages_of_a_second(network, 42 * SECOND_US)
    network.run(60)
    overlays = overlays_in_turn(network)
    classes = network.snapshot.interests.transposed()
    a_period = np.full(classes.row_count, EVERY_US // BETWEEN_US, dtype=np.int64)
    demand = Traffic(classes, a_period)
    costs = [tree_cost(tree_from_names(one), demand) for one in overlays]
    assert all(before > after for before, after in pairwise(costs))
    assert is_left_alone(network.overlay, demand) == (len(costs) == 1)
    assert is_left_alone(overlays[-1], demand)
    assert last < first or len(costs) == 1
    assert sorted(network.agreed().links) == sorted(overlays[-1].links)
    assert network.faults() == []


def test_a_tree_that_fits_is_left_alone() -> None:
    network = still_network(1, 60)
    network.run(44)
    changes = len(overlays_in_turn(network))
    network.run(64)
    assert len(overlays_in_turn(network)) == changes


def test_every_applied_change_was_decided_and_each_ended_once() -> None:
    parameters = SimulationParameters(design="tree", adapts=True, publications_per_s=40)
    done = run(parameters, 4, build_adapting_broker)
    decided = {
        record.change
        for _, _, record in done.world.records.all
        if isinstance(record, StarRecord) and record.step == "decided"
    }
    applied = records(done, "applied")
    assert applied
    assert {one.change for one in applied} == decided
    assert len(records(done, "proposed")) == len(applied) + len(records(done, "given up"))
    assert all(one.cost_after < one.cost_before for one in applied)


def test_the_same_seed_adapts_in_the_same_way() -> None:
    parameters = SimulationParameters(design="tree", adapts=True, faults=("crash", "partition"))
    assert simulate(parameters, 3) == simulate(parameters, 3)


@pytest.mark.parametrize("first", range(0, 20, 5))
def test_nothing_is_lost_doubled_or_reordered_while_trees_adapt(first: int) -> None:
    applied = 0
    for seed in range(first, first + 5):
        parameters = SimulationParameters(
            design="tree",
            duration_s=8.0,
            faults=FAULTS[: 1 + seed % len(FAULTS)],
            mobility="standard" if seed % 2 else None,
            reconfigure=seed % 3 == 0,
            publications_per_s=40.0,
            adapts=True,
        )
        done = run(parameters, seed, build_adapting_broker)
        assert judge(done) == {}
        applied += len(records(done, "applied"))
    assert applied


@pytest.mark.parametrize("has_faults", [False, True])
def test_nothing_is_lost_doubled_or_reordered_while_clients_move_with_the_tree(
    has_faults: bool,
) -> None:
    moved = 0
    for seed in range(3):
        parameters = SimulationParameters(
            design="tree",
            duration_s=8.0,
            faults=FAULTS if has_faults else (),
            publications_per_s=40.0,
            adapts=True,
            adaptation=AdaptationOptions(move_clients=True, link_weight=2),
            costs=StatedCosts(links=(LinkCost("b0", "b1", 3),)),
        )
        done = run(parameters, seed, builder_of(parameters))
        assert judge(done) == {}
        moved += sum(
            isinstance(record, ClientMoveRecord) and record.step == "moved"
            for _, _, record in done.world.records.all
        )
    assert moved
