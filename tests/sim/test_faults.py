from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import Echo, LoneBroker
from worlds import small_world

from meshwright.errors import ProblemError
from meshwright.protocol.foundation.events import DiskSpace, LinkDown, LinkUp
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.scenario.faults import (
    FAULTS,
    Ambush,
    Crash,
    Disconnect,
    DiskFull,
    Field,
    NeverReturns,
    Partition,
    Skew,
    Slow,
    Stuck,
    plan_faults,
)
from meshwright.sim.scenario.injection import inject
from meshwright.sim.world import World

SECOND_US = 1_000_000
FIELD = Field(
    ("b0", "b1", "b2", "b3", "n"),
    ("c0", "c1"),
    5 * SECOND_US,
    25 * SECOND_US,
    newcomers=("n",),
)


def drawn(*names: str, seed: int = 0, field: Field = FIELD) -> tuple[Any, ...]:
    return plan_faults(names, field, np.random.default_rng(seed))


@given(st.sampled_from(sorted(FAULTS)), st.integers(0, 1000))
def test_faults_begin_in_their_time_and_heal_before_its_end(name: str, seed: int) -> None:
    faults = drawn(name, seed=seed)
    assert faults
    for fault in faults:
        if not isinstance(fault, Skew):
            assert FIELD.start_us <= fault.at_us < FIELD.end_us
        until_us = getattr(fault, "until_us", FIELD.end_us)
        assert fault.at_us < until_us <= FIELD.end_us
    assert list(faults) == sorted(faults, key=lambda fault: fault.at_us)


@given(st.sets(st.sampled_from(sorted(FAULTS))), st.integers(0, 100))
def test_what_else_goes_wrong_does_not_change_a_fault(names: set[str], seed: int) -> None:
    alone = drawn("crash", seed=seed)
    among = drawn("crash", *names, seed=seed)
    assert [fault for fault in among if isinstance(fault, Crash)] == list(alone)


@given(st.sampled_from(sorted(FAULTS)))
def test_a_lone_broker_has_faults_of_its_own_only(name: str) -> None:
    field = Field(("b0",), (), 0, SECOND_US)
    for fault in drawn(name, field=field):
        assert not isinstance(fault, NeverReturns | Disconnect | Slow | Stuck)


def test_an_unknown_fault_is_refused_with_the_ones_there_are() -> None:
    with pytest.raises(ProblemError, match="no fault 'flood'; choose from crash, partition"):
        drawn("flood")


def echoes(*, partner: str = "b1") -> tuple[World, dict[str, Echo]]:
    machines = {"b0": Echo("b0", (partner,)), "b1": Echo("b1"), "b2": Echo("b2")}
    return small_world(machines.__getitem__, tuple(machines)), machines


def test_a_crash_ends_and_a_loss_does_not() -> None:
    world, _ = echoes()
    crash = Crash(at_us=100_000, dies_us=100_000, broker="b1", until_us=300_000)
    gone = NeverReturns(at_us=100_000, broker="b2")
    again = Crash(at_us=400_000, dies_us=450_000, broker="b2", until_us=500_000)
    inject(world, [crash, gone, again])
    world.run_until(200_000)
    assert [world.is_up(name) for name in world.hosts] == [True, False, False]
    world.run_until(SECOND_US)
    assert [world.is_up(name) for name in world.hosts] == [True, True, False]
    assert world.history.gone_us == {"b2": 100_000}


def test_an_ambush_kills_the_first_who_answers_and_only_that_one() -> None:
    world = small_world(lambda _: LoneBroker(), ("b0", "b1"))
    inject(world, [Ambush(at_us=100_000, moment="Connack", away_us=300_000, until_us=SECOND_US)])
    for number, broker in enumerate(("b1", "b0")):
        client = world.add_client(f"c{number}", ClientSettings(roams_after=None))
        world.at(200_000 + number * 50_000, partial(client.connect, broker))
    world.run_until(400_000)
    assert [world.is_up(name) for name in world.hosts] == [True, False]
    world.run_until(3 * SECOND_US)
    assert [world.is_up(name) for name in world.hosts] == [True, True]
    assert all(client.is_connected for client in world.clients.values())


def test_an_ambush_may_be_for_good_and_ends_with_its_time() -> None:
    world = small_world(lambda _: LoneBroker(), ("b0",))
    client = world.add_client("c0", ClientSettings())
    inject(world, [Ambush(at_us=0, moment="Puback", away_us=None, until_us=SECOND_US)])
    world.at(100_000, partial(client.connect, "b0"))
    world.at(2 * SECOND_US, partial(client.publish, "a", 1))
    world.run_until(3 * SECOND_US)
    assert world.is_up("b0")
    inject(world, [Ambush(at_us=3 * SECOND_US, moment="Puback", away_us=None, until_us=10**9)])
    world.at(4 * SECOND_US, partial(client.publish, "a", 1))
    world.run_until(9 * SECOND_US)
    assert set(world.history.gone_us) == {"b0"}
    assert not world.is_up("b0")


def test_a_partition_holds_back_envelopes_until_it_heals() -> None:
    world, machines = echoes()
    inject(world, [Partition(at_us=100_000, brokers=("b0", "b2"), until_us=SECOND_US)])
    world.run_until(200_000)
    world.network.send("b0", "b1", 5)
    world.run_until(SECOND_US - 1)
    assert machines["b1"].envelopes() == [1]
    world.run_until(SECOND_US)
    assert machines["b1"].envelopes() == [1, 5]
    assert machines["b1"].links() == [LinkUp("b0")]


def test_a_partition_leaves_both_sides_to_themselves() -> None:
    world, machines = echoes(partner="b2")
    inject(world, [Partition(at_us=0, brokers=("b0", "b2"), until_us=SECOND_US)])
    world.run_until(SECOND_US - 1)
    assert machines["b2"].envelopes() == [1]


def test_stuck_slow_and_broken_links_do_what_they_say() -> None:
    world, machines = echoes()
    inject(
        world,
        [
            Stuck(at_us=100_000, one="b0", other="b1", until_us=200_000),
            Slow(at_us=300_000, one="b1", other="b0", extra_us=50_000, until_us=400_000),
            Disconnect(at_us=500_000, one="b1", other="b0"),
        ],
    )
    arrivals = []
    for sent_us in (110_000, 310_000):
        world.run_until(sent_us)
        world.network.send("b0", "b1", sent_us)
    world.run_until(SECOND_US)
    arrivals = [now_us for now_us, one in machines["b1"].noted if getattr(one, "envelope", 1) > 1]
    assert arrivals[0] == 200_000
    assert 362_000 <= arrivals[1] < 363_000
    assert machines["b0"].links() == [LinkUp("b1"), LinkDown("b1")]


def test_a_full_disk_has_room_again() -> None:
    world, machines = echoes()
    inject(world, [DiskFull(at_us=100_000, broker="b1", until_us=300_000)])
    world.run_until(SECOND_US)
    told = [(now_us, one) for now_us, one in machines["b1"].noted if isinstance(one, DiskSpace)]
    assert told == [(100_000, DiskSpace(is_full=True)), (300_000, DiskSpace(is_full=False))]


def test_clocks_are_skewed_before_anything_starts() -> None:
    machines = {"b0": Echo("b0")}
    world = small_world(machines.__getitem__, ("b0",))
    world.crash("b0")
    inject(world, [Skew(at_us=0, broker="b0", offset_us=7, drift_ppm=0)])
    world.restart("b0")
    assert [now_us for now_us, _ in machines["b0"].noted] == [0, 7]
