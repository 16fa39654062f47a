"""Tables of whole sub-partitions: all that is wanted there is known at each position, no more."""

from __future__ import annotations

import numpy as np
import pytest
from broker_kinds import KINDS, new_pump
from broker_pump import Pump
from broker_stories import change_interests, check_counts, some_of, tell_who_is_alive

from meshwright.filters.filter import parse_filter
from meshwright.overlays.hypercube import dimensions_for, dominating_node, low_bit_count_of
from meshwright.planning.low_bits import with_low_bits
from meshwright.protocol.forwarding.partition.cube_hosts import cube_hosts
from meshwright.protocol.forwarding.partition.partition import Partition
from meshwright.protocol.foundation.turn import Turn, nothing

TELLING = KINDS["hypercube that tells sub-partitions"]
every_seed = pytest.mark.parametrize("seed", range(20))


def check_tables(pump: Pump) -> None:
    """At each position: the topics of all living brokers that climb to the same dominating node."""
    low_bit_count = low_bit_count_of(pump.overlay.params)
    assert low_bit_count is not None
    wanted: dict[int, set[str]] = {}
    for name in pump.machines:
        dominator = dominating_node((pump.overlay.positions or {})[name], low_bit_count)
        wanted.setdefault(dominator, set()).update(pump.wanted[name])
    for position, host in enumerate(cube_hosts(pump.overlay, frozenset(pump.machines)).hosts):
        machine = pump.machines[host]
        assert isinstance(machine, Partition)
        assert set(machine.known(position) or ()) == wanted.get(
            dominating_node(position, low_bit_count), set()
        ), position


@every_seed
def test_tables_follow_who_subscribes_and_who_unsubscribes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(TELLING, rng)
    change_interests(pump, rng, 60)
    pump.drain()
    check_tables(pump)


@every_seed
def test_tables_are_right_after_deaths_and_after_returns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(TELLING, rng, broker_count_min=4)
    change_interests(pump, rng, 60)
    pump.step(int(rng.integers(60)))
    dead = some_of(pump.overlay.brokers, rng)
    for name in dead:
        pump.kill(name)
    tell_who_is_alive(pump, rng)
    pump.drain()
    check_tables(pump)
    for name in dead:
        pump.revive(name, pump.machines)
        pump.step(int(rng.integers(20)))
    tell_who_is_alive(pump, rng)
    pump.drain()
    check_tables(pump)


@every_seed
def test_a_broker_that_restarts_unseen_gets_its_tables_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(TELLING, rng)
    change_interests(pump, rng, 60)
    for name in some_of(pump.overlay.brokers, rng):
        pump.revive(name, pump.overlay.brokers)
        pump.step(int(rng.integers(20)))
    pump.drain()
    check_tables(pump)


@every_seed
def test_tables_are_right_once_views_agree_that_differed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(TELLING, rng)
    for _ in range(6):
        for name in rng.permutation(pump.overlay.brokers):
            pump.see(str(name), some_of(pump.overlay.brokers, rng))
            pump.step(int(rng.integers(10)))
        change_interests(pump, rng, 20)
    tell_who_is_alive(pump, rng)
    pump.drain()
    check_tables(pump)


@every_seed
@pytest.mark.parametrize("name", ["hypercube", "hypercube that tells sub-partitions"])
def test_a_hypercube_that_is_divided_otherwise_starts_from_what_was_known(
    name: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    kind = KINDS[name]
    former = new_pump(kind, rng, broker_count_min=9)
    change_interests(former, rng, 60)
    former.drain()
    low_bit_count = int(rng.integers(1, dimensions_for(len(former.overlay.brokers))))
    pump = Pump(with_low_bits(former.overlay, low_bit_count), kind.machine)
    pump.wanted = former.wanted
    heirs = {name: name for name in pump.machines}
    for broker, machine in pump.machines.items():
        turn = Turn(0)
        inherited = machine.inherit(former.machines[broker].knowledge(), heirs)
        for topic in sorted(pump.wanted[broker]):
            machine.add_interest(turn, parse_filter(topic), nothing)
        for wanted in inherited:
            machine.remove_interest(turn, wanted)
        machine.settle(turn, nothing)
    pump.drain()
    check_counts(pump)
    if kind is TELLING:
        check_tables(pump)
