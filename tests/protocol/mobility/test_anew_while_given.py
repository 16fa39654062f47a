"""A client begins anew at a broker that has just given its old session to another one."""

from __future__ import annotations

from small_network import SmallNetwork


def network_with_a_new_session() -> SmallNetwork:
    """The session went from b0 to b1, and its client began anew at b0, which was not told yet."""
    network = SmallNetwork(4)
    network.connect("mover", "b0", session_expiry_s=100)
    network.subscribe("mover", "old")
    network.drop("mover")
    network.stall_disk("b0")
    network.connect("mover", "b1", session_expiry_s=100)
    network.stall_disk("b1")
    network.unstall_disk("b0")
    network.drop("mover")
    network.hold(source="b1", target="b0")
    network.unstall_disk("b1")
    answer = network.connect("mover", "b0", session_expiry_s=100, clean_start=True)
    assert answer is not None
    assert not answer.session_present
    assert network.subscribe("mover", "new")
    return network


def test_the_new_session_goes_on_when_the_old_one_turns_out_to_have_arrived() -> None:
    network = network_with_a_new_session()
    network.release(source="b1", target="b0")
    network.advance(1)
    network.connect("writer", "b2")
    network.publish("writer", "new", "for the new session")
    network.publish("writer", "old", "for nobody")
    network.advance(1)
    assert network.payloads("mover") == ["for the new session"]


def test_the_new_session_outlives_a_crash_of_its_broker() -> None:
    network = network_with_a_new_session()
    network.crash("b0")
    network.held.pop(("b1", "b0"))
    network.start("b0")
    network.advance(5)
    network.connect("writer", "b2")
    network.publish("writer", "new", "for the new session")
    answer = network.connect("mover", "b0", session_expiry_s=100)
    network.advance(1)
    assert answer is not None
    assert answer.session_present
    assert network.payloads("mover") == ["for the new session"]
