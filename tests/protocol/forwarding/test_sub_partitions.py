"""Tables of whole sub-partitions: all that is wanted there is known at each position, no more."""

from __future__ import annotations

import numpy as np
import pytest
from broker_kinds import KINDS, new_pump
from broker_pump import Pump
from broker_stories import change_interests, some_of, tell_who_is_alive

from meshwright.overlays.hypercube import dominating_node, low_bit_count_of
from meshwright.protocol.forwarding.cube_hosts import cube_hosts
from meshwright.protocol.forwarding.partition import Partition

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
