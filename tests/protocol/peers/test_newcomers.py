"""Brokers that were never there before, and join a running network."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_network import SmallNetwork

from meshwright.protocol.joining import JoinRecord
from meshwright.protocol.mqtt.packets import Connack
from meshwright.protocol.peers.removals import RemovalSettings
from meshwright.protocol.peers.roll import (
    COUNT_BITS,
    SEATS_MAX,
    brokers_of,
    next_count,
    own_count,
    present_of,
    seats_of,
)
from meshwright.protocol.settings import BrokerSettings
from meshwright.sim.runs.simulation import simulate
from meshwright.sim.scenario.parameters import SimulationParameters

LASTING = {"session_expiry_s": 600, "clean_start": False}
IMPATIENT = BrokerSettings(removal=RemovalSettings(remove_after_us=10_000_000))
FOUNDERS = ("b0", "b1", "b2")


def network_of(broker_count: int, settings: BrokerSettings | None = None) -> SmallNetwork:
    network = SmallNetwork(broker_count, settings)
    network.advance(1)
    return network


def is_whole(network: SmallNetwork, *names: str) -> bool:
    """Whether all brokers have one overlay, with all of them in it."""
    seen = [machine.observe() for machine in network.machines.values()]
    brokers = (*network.names, *names)
    return all(one.overlay.brokers == brokers and not one.is_changing for one in seen)


@pytest.mark.parametrize("broker_count", [1, 2, 5])
def test_a_newcomer_takes_clients_and_its_place_in_the_overlay(broker_count: int) -> None:
    network = network_of(broker_count)
    network.connect("old", "b0", **LASTING)
    assert network.subscribe("old", "t")
    network.start("n")
    network.advance(5)
    assert is_whole(network, "n")
    network.connect("new", "n", **LASTING)
    assert network.subscribe("new", "t")
    for number, publisher in enumerate(("old", "new", "old")):
        assert network.publish(publisher, "t", f"{number}")
    network.advance(3)
    assert network.payloads("old") == network.payloads("new") == ["0", "1", "2"]


def test_a_newcomer_that_crashes_returns_with_its_sessions_and_its_seat() -> None:
    network = network_of(3)
    network.start("n")
    network.advance(5)
    network.connect("new", "n", **LASTING)
    assert network.subscribe("new", "t")
    network.crash("n")
    network.connect("old", "b0")
    assert network.publish("old", "t", "x")
    network.advance(10)
    network.start("n")
    network.advance(10)
    network.connect("new", "n", **LASTING)
    network.advance(3)
    assert network.payloads("new") == ["x"]
    assert is_whole(network, "n")


def test_who_joins_waits_for_who_is_away_and_nobody_waits_with_it() -> None:
    network = network_of(3, IMPATIENT)
    network.crash("b2")
    network.start("n")
    network.advance(9)
    assert JoinRecord(step="waits", detail="b2") in network.reports
    network.connect("early", "n")
    assert any(isinstance(one, Connack) and one.reason for one in network.got["early"])
    network.connect("old", "b0")
    assert network.subscribe("old", "t")
    assert not network.machines["n"].belongs
    network.advance(60)
    assert network.machines["n"].belongs
    assert all("n" in one.observe().overlay.brokers for one in network.machines.values())


def test_the_few_that_are_cut_off_do_not_grow() -> None:
    network = network_of(3, IMPATIENT)
    for newcomer in ("m", "n"):
        for member in ("b0", "b1"):
            network.separate(one=newcomer, other=member)
    for member in ("b0", "b1"):
        network.separate(one="b2", other=member)
    for newcomer in ("m", "n"):
        network.start(newcomer)
    network.advance(60)
    assert not any(network.machines[name].belongs for name in ("m", "n"))
    assert network.disks["b2"].get(("removals", "b0")) is None
    assert network.disks["b0"][("removals", "b2")] == 1


def test_joined_brokers_may_outlive_all_founders() -> None:
    network = network_of(2, IMPATIENT)
    for name in ("m", "n", "o"):
        network.start(name)
        network.advance(5)
    for name in ("b0", "b1"):
        network.crash(name)
        network.advance(60)
    network.connect("here", "m")
    assert network.subscribe("here", "$share/group/t")
    network.connect("there", "n")
    assert network.publish("there", "t", "x")
    network.advance(5)
    assert network.payloads("here") == ["x"]
    network.overlay = network.machines["m"].overlay
    network.start("p")
    network.advance(10)
    assert all("p" in one.observe().overlay.brokers for one in network.machines.values())


counts = st.dictionaries(
    st.sampled_from(("a", "c", "x", "y")), st.integers(3, 6).map(lambda seat: seat << COUNT_BITS)
)


@given(counts)
def test_newcomers_of_one_seat_come_to_different_ones(found: dict[str, int]) -> None:
    for _ in found:
        for name in sorted(found):
            found[name] = own_count(name, FOUNDERS, found)
    seats = seats_of(FOUNDERS, found)
    assert len(set(seats.values())) == len(seats)
    assert [seats[name] for name in FOUNDERS] == [0, 1, 2]
    assert brokers_of(FOUNDERS, found) == present_of(FOUNDERS, found)


def test_a_seat_is_never_given_twice_and_seats_end() -> None:
    assert next_count(FOUNDERS, {}) == 3 << COUNT_BITS
    assert next_count(FOUNDERS, {"n": (9 << COUNT_BITS) + 1}) == 10 << COUNT_BITS
    assert next_count(FOUNDERS, {"n": (SEATS_MAX - 1) << COUNT_BITS}) is None


@pytest.mark.parametrize(
    ("design", "seed"), [("chord", 1), ("hypercube", 2), ("gm", 3), ("tree", 4)]
)
def test_nothing_is_lost_while_brokers_join_crash_and_are_cut_off(design: str, seed: int) -> None:
    parameters = SimulationParameters(
        design=design,
        brokers=5,
        clients=10,
        duration_s=5,
        faults=("crash", "partition", "joins"),
        reconfigure=True,
        shared_share=0.2,
        retained_share=0.2,
    )
    assert simulate(parameters, seed).failures == ()
