from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from machines import Echo, Scripted
from worlds import small_world

from meshwright.protocol.foundation.effects import CloseLink, OpenLink, SendPeer
from meshwright.protocol.foundation.events import LinkDown, LinkUp, PeerEnvelope
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.world import World

SECOND_US = 1_000_000
QUICK = NetworkSettings(delay_us=1_000, jitter_us=900, connect_timeout_us=2 * SECOND_US)


def linked_echoes(limit: int = 0) -> tuple[World, dict[str, Echo]]:
    """Two echoes, of which the first connects to the second."""
    echoes = {"b0": Echo("b0", ("b1",), limit=limit), "b1": Echo("b1", limit=limit)}
    return small_world(echoes.__getitem__, settings=QUICK), echoes


def burst(world: World, count: int) -> None:
    for number in range(count):
        world.network.send("b0", "b1", 100 + number)


def test_both_ends_hear_that_a_connection_stands_and_envelopes_pass_both_ways() -> None:
    world, echoes = linked_echoes(limit=6)
    world.run_until(SECOND_US)
    assert echoes["b0"].links() == [LinkUp("b1")]
    assert echoes["b1"].links() == [LinkUp("b0")]
    assert echoes["b1"].envelopes() == [1, 3, 5]
    assert echoes["b0"].envelopes() == [2, 4, 6]


@given(st.integers(0, 50))
def test_jitter_never_reorders(seed: int) -> None:
    echoes = {"b0": Echo("b0", ("b1",)), "b1": Echo("b1")}
    world = small_world(echoes.__getitem__, seed=seed, settings=QUICK)
    world.run_until(SECOND_US)
    burst(world, 20)
    world.run_until(2 * SECOND_US)
    assert echoes["b1"].envelopes() == [1, *range(100, 120)]


def test_a_lost_connection_drops_what_is_under_way_and_both_ends_hear_it() -> None:
    world, echoes = linked_echoes()
    world.run_until(SECOND_US)
    burst(world, 5)
    world.network.disconnect("b0", "b1")
    burst(world, 5)
    world.run_until(2 * SECOND_US)
    assert echoes["b1"].envelopes() == [1]
    assert echoes["b0"].links() == [LinkUp("b1"), LinkDown("b1")]
    assert echoes["b1"].links() == [LinkUp("b0"), LinkDown("b0")]


def test_a_connection_can_be_made_again_and_nothing_of_the_old_one_arrives() -> None:
    world, echoes = linked_echoes()
    world.run_until(SECOND_US)
    burst(world, 5)
    world.network.disconnect("b0", "b1")
    world.network.open("b1", "b0")
    world.run_until(2 * SECOND_US)
    assert echoes["b0"].links() == [LinkUp("b1"), LinkDown("b1"), LinkUp("b1")]
    assert echoes["b1"].envelopes() == [1, 1]


def test_envelopes_wait_for_a_partition_to_heal_and_keep_their_order() -> None:
    world, echoes = linked_echoes()
    world.run_until(SECOND_US)
    burst(world, 3)
    world.network.block("b0", "b1")
    world.run_until(2 * SECOND_US)
    assert echoes["b1"].envelopes() == [1]
    world.at(2 * SECOND_US + 500, lambda: world.network.unblock("b1", "b0"))
    world.network.send("b0", "b1", 200)
    world.run_until(3 * SECOND_US)
    assert echoes["b1"].envelopes() == [1, 100, 101, 102, 200]
    assert echoes["b1"].links() == [LinkUp("b0")]


def test_a_wire_blocked_twice_is_free_after_both_faults() -> None:
    world, echoes = linked_echoes()
    world.run_until(SECOND_US)
    world.network.block("b0", "b1")
    world.network.block("b0", "b1")
    burst(world, 1)
    world.network.unblock("b0", "b1")
    world.run_until(2 * SECOND_US)
    assert echoes["b1"].envelopes() == [1]
    world.network.unblock("b0", "b1")
    assert echoes["b1"].envelopes() == [1, 100]


def test_an_end_that_closes_across_a_partition_is_heard_of_only_when_it_heals() -> None:
    world, echoes = linked_echoes()
    world.run_until(SECOND_US)
    burst(world, 3)
    world.network.block("b0", "b1")
    world.network.close("b0", "b1")
    world.run_until(2 * SECOND_US)
    assert echoes["b1"].links() == [LinkUp("b0")]
    world.network.unblock("b0", "b1")
    assert echoes["b1"].links() == [LinkUp("b0"), LinkDown("b0")]
    assert echoes["b0"].links() == [LinkUp("b1")]
    assert echoes["b1"].envelopes() == [1, 100, 101, 102]


def test_what_a_broker_sent_before_its_crash_arrives_and_what_was_sent_to_it_does_not() -> None:
    world, echoes = linked_echoes()
    world.run_until(SECOND_US)
    burst(world, 3)
    world.network.send("b1", "b0", 200)
    world.crash("b0")
    world.restart("b0")
    world.run_until(2 * SECOND_US)
    assert echoes["b1"].envelopes() == [1, 100, 101, 102, 1]
    assert echoes["b1"].links() == [LinkUp("b0"), LinkDown("b0"), LinkUp("b0")]
    assert echoes["b0"].envelopes() == []


def test_late_word_of_an_old_connection_does_not_end_a_newer_one() -> None:
    world, echoes = linked_echoes()
    world.run_until(SECOND_US)
    world.network.slow("b0", "b1", SECOND_US)
    world.network.close("b0", "b1")
    world.network.slow("b0", "b1", -SECOND_US)
    world.network.open("b0", "b1")
    world.run_until(4 * SECOND_US)
    assert echoes["b1"].links() == [LinkUp("b0"), LinkUp("b0")]
    burst(world, 1)
    world.run_until(5 * SECOND_US)
    assert echoes["b1"].envelopes() == [1, 1, 100]


def test_connecting_across_a_partition_fails_after_a_while() -> None:
    echoes = {"b0": Echo("b0", ("b1",)), "b1": Echo("b1")}
    world = small_world(echoes.__getitem__, settings=QUICK)
    world.network.block("b0", "b1")
    world.run_until(SECOND_US)
    assert echoes["b0"].links() == []
    world.run_until(3 * SECOND_US)
    assert echoes["b0"].links() == [LinkDown("b1")]
    assert echoes["b1"].links() == []


def test_connecting_to_a_dead_broker_is_refused() -> None:
    world, echoes = linked_echoes()
    world.run_until(SECOND_US)
    world.crash("b1")
    world.run_until(2 * SECOND_US)
    world.network.open("b0", "b1")
    world.run_until(3 * SECOND_US)
    assert echoes["b0"].links() == [LinkUp("b1"), LinkDown("b1"), LinkDown("b1")]


def test_two_that_connect_to_each_other_at_once_get_one_connection() -> None:
    echoes = {"b0": Echo("b0", ("b1",)), "b1": Echo("b1", ("b0",))}
    world = small_world(echoes.__getitem__, settings=NetworkSettings(delay_us=100_000))
    world.run_until(SECOND_US)
    assert echoes["b0"].links() == [LinkUp("b1")]
    assert echoes["b1"].links() == [LinkUp("b0")]
    assert echoes["b0"].envelopes() == echoes["b1"].envelopes() == [1]


def test_a_slow_wire_is_slow_only_for_its_time() -> None:
    world, echoes = linked_echoes()
    world.run_until(SECOND_US)
    world.network.slow("b1", "b0", 500_000)
    burst(world, 1)
    world.run_until(SECOND_US + 400_000)
    assert echoes["b1"].envelopes() == [1]
    world.run_until(2 * SECOND_US)
    world.network.slow("b1", "b0", -500_000)
    world.network.send("b0", "b1", 200)
    world.run_until(2 * SECOND_US + 5_000)
    assert echoes["b1"].envelopes() == [1, 100, 200]


def test_a_machine_that_closes_a_link_may_open_it_again_in_the_same_step() -> None:
    effects = [OpenLink("b1"), CloseLink("b1"), OpenLink("b1"), SendPeer("b1", "too early")]
    first, second = Scripted([*effects]), Scripted([])
    world = small_world({"b0": first, "b1": second}.__getitem__)
    world.run_until(SECOND_US)
    assert [one for _, one in first.noted[1:]] == [LinkUp("b1")]
    assert not [one for _, one in second.noted if isinstance(one, PeerEnvelope)]
