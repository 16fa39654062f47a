"""What the directory forgets of brokers and clients that left, and what it must not forget yet."""

from __future__ import annotations

from small_network import SmallNetwork

from meshwright.protocol.directory.entries import WILDCARDS, Entry, claim_key
from meshwright.protocol.streams.known_interest import KnownInterest


def rows(network: SmallNetwork, key: str) -> dict[str, list[str]]:
    """Whose entries each disk has under a key."""
    return {
        name: sorted(one[2] for one in disk if one[:2] == ("directory", key))
        for name, disk in network.disks.items()
    }


def test_a_topic_that_nobody_wants_any_more_is_forgotten_by_all_who_kept_it() -> None:
    network = SmallNetwork()
    network.connect("reader", "b0")
    network.subscribe("reader", "t")
    assert rows(network, "t") == {"b0": ["b0"], "b1": ["b0"], "b2": ["b0"]}
    network.unsubscribe("reader", "t")
    network.advance(130)
    assert rows(network, "t") == {"b0": [], "b1": [], "b2": []}


def test_nothing_is_forgotten_before_the_last_replica_knows_that_it_is_over() -> None:
    network = SmallNetwork()
    network.connect("reader", "b0")
    network.subscribe("reader", "t")
    network.crash("b2")
    network.unsubscribe("reader", "t")
    network.advance(130)
    assert rows(network, "t") == {"b0": ["b0"], "b1": ["b0"], "b2": ["b0"]}
    network.start("b2")
    network.advance(130)
    assert rows(network, "t") == {"b0": [], "b1": [], "b2": []}


def test_who_left_before_its_crash_is_forgotten_after_it() -> None:
    network = SmallNetwork()
    network.connect("reader", "b0")
    network.subscribe("reader", "t")
    network.crash("b2")
    network.unsubscribe("reader", "t")
    network.crash("b0")
    for name in ("b2", "b0"):
        network.start(name)
    network.advance(200)
    assert rows(network, "t") == {"b0": [], "b1": [], "b2": []}
    assert not any(key[0] == "interest" for key in network.disks["b0"])


def test_who_subscribes_again_while_it_is_forgotten_gets_everything() -> None:
    network = SmallNetwork()
    network.connect("writer", "b1")
    network.connect("reader", "b0")
    for number in range(8):
        assert network.subscribe("reader", "t")
        assert network.publish("writer", "t", str(number))
        network.advance(0.1)
        network.answer_all("reader")
        network.unsubscribe("reader", "t")
        # Now before it is forgotten, now after.
        network.advance(20 * number)
    assert network.payloads("reader") == [str(number) for number in range(8)]


def test_the_claim_of_a_client_that_does_not_return_is_forgotten() -> None:
    network = SmallNetwork()
    network.connect("short", "b0")
    network.drop("short", clean=True)
    assert rows(network, claim_key("short"))["b1"] == ["b0"]
    network.advance(200)
    assert rows(network, claim_key("short")) == {"b0": [], "b1": [], "b2": []}


def test_the_claim_of_a_client_that_stays_or_returns_is_kept() -> None:
    network = SmallNetwork()
    network.connect("stays", "b0")
    network.connect("away", "b1", session_expiry_s=1_000)
    network.drop("away")
    network.connect("returns", "b2")
    network.drop("returns", clean=True)
    network.advance(30)
    network.connect("returns", "b2")
    network.advance(300)
    for client, broker in (("stays", "b0"), ("away", "b1"), ("returns", "b2")):
        assert rows(network, claim_key(client))["b0"] == [broker]


def test_a_session_that_ended_elsewhere_does_not_come_back_from_who_has_not_heard_of_it() -> None:
    network = SmallNetwork()
    network.connect("reader", "b1", session_expiry_s=1_000)
    network.subscribe("reader", "t")
    network.drop("reader")
    # The session goes to b2 and ends there; b1, which is cut off, does not hear that it arrived.
    network.stall_disk("b2")
    network.connect("reader", "b2", session_expiry_s=1_000)
    network.hold(source="b2", target="b1")
    network.unstall_disk("b2")
    network.advance(0.5)
    assert network.connected["reader"] == "b2"
    assert ("given", "reader") in network.disks["b1"]
    network.separate(one="b1", other="b2")
    network.connect("reader", "b2", clean_start=True)
    network.drop("reader", clean=True)
    network.advance(200)
    network.cut.clear()
    network.release(source="b2", target="b1")
    network.advance(10)
    network.forget("reader")
    network.connect("reader", "b0", session_expiry_s=1_000)
    network.advance(2)
    (connack,) = network.got["reader"]
    assert not connack.session_present


def test_an_origin_forgets_who_left_but_not_who_came_while_it_read() -> None:
    known = KnownInterest()
    for key in ("t", WILDCARDS):
        known.learn(key, {"b0": Entry(1, ("t",)), "b1": Entry(1, ("t",))})
        before = known.entries(key)
        known.learn(key, {"b1": Entry(2, ("t",)), "b2": Entry(1, ("t",))})
        known.learn_all(key, {}, before)
    assert list(known.wanted("t")) == ["b1", "b2"]
