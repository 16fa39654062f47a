"""An operator ends the session of a client, as if its time had passed."""

from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.protocol.foundation.events import ForgettingGiven
from meshwright.protocol.mobility.messages import MoveBegun
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import MQTT_3_1_1, MQTT_5, Puback, Publish, Will
from meshwright.protocol.sessions.forgetting import FORGOTTEN, MOVING, UNKNOWN, ForgettingRecord
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.settings import BrokerSettings

ROOM = 8
OF_A_SESSION = {"session", "sequence", "moved", "subscription", "queue", "under_way", "received"}


def with_full_queue(*, queue_full: str = "refuse", version: int = MQTT_5) -> SmallNetwork:
    """A client that sleeps at b1 and has no room, and one at b0 that writes to it."""
    sessions = SessionSettings(queue_max=ROOM, queue_full=queue_full)
    network = SmallNetwork(3, BrokerSettings(sessions=sessions))
    network.advance(1)
    network.connect("sleeper", "b1", session_expiry_s=600)
    assert network.subscribe("sleeper", "t/#")
    network.drop("sleeper")
    network.connect("writer", "b0", session_expiry_s=600, protocol_version=version)
    for number in range(1, 3 * ROOM):
        network.send("writer", Publish("t/1", b"", 1, packet_id=number))
    return network


def forget(network: SmallNetwork, client: str, broker: str = "b1") -> ForgettingRecord:
    """Give the order; returns what the broker says that it did."""
    network.reports.clear()
    network.tell(broker, ForgettingGiven(client))
    (record,) = [one for one in network.reports if isinstance(one, ForgettingRecord)]
    return record


def reason(network: SmallNetwork) -> int:
    """How one more message of the writer is answered."""
    network.forget("writer")
    assert network.publish("writer", "t/1")
    return [one.reason for one in network.got["writer"] if isinstance(one, Puback)][-1]


def kinds_on_disk(network: SmallNetwork, broker: str, client: str) -> set[str]:
    return {key[0] for key in network.disks[broker] if len(key) > 1 and key[1] == client}


def full(network: SmallNetwork, broker: str = "b1") -> dict[str, bool]:
    return {one.client: one.is_full for one in network.machines[broker].view().sessions}


def test_publishers_elsewhere_are_taken_again_once_a_full_session_is_forgotten() -> None:
    network = with_full_queue()
    assert reason(network) == packets.QUOTA_EXCEEDED
    waited = network.machines["b1"].view().sessions[0].queued
    said = forget(network, "sleeper")
    assert said == ForgettingRecord(
        client="sleeper", step=FORGOTTEN, messages=waited, was_connected=False
    )
    assert reason(network) == packets.SUCCESS
    assert network.machines["b1"].view().sessions == ()
    assert network.machines["b1"].view().interests == ()


def test_mqtt_3_goes_on_once_the_session_that_it_waits_for_is_forgotten() -> None:
    network = with_full_queue(version=MQTT_3_1_1)
    answers = [one for one in network.got["writer"] if isinstance(one, Puback)]
    assert len(answers) < 3 * ROOM - 1
    forget(network, "sleeper")
    answers = [one for one in network.got["writer"] if isinstance(one, Puback)]
    assert [one.packet_id for one in answers] == list(range(1, 3 * ROOM))


@pytest.mark.parametrize("restarted", ["b0", "b1"])
def test_a_forgotten_session_does_not_come_back_with_its_broker(restarted: str) -> None:
    network = with_full_queue()
    assert kinds_on_disk(network, "b1", "sleeper") & OF_A_SESSION
    forget(network, "sleeper")
    assert not kinds_on_disk(network, "b1", "sleeper") & OF_A_SESSION
    network.crash(restarted)
    network.advance(1)
    network.start(restarted)
    network.advance(15)
    network.connect("writer", "b0", session_expiry_s=600)
    assert reason(network) == packets.SUCCESS
    answer = network.connect("sleeper", "b2", session_expiry_s=600)
    assert answer is not None
    assert not answer.session_present
    assert network.messages("sleeper") == []


def test_it_is_said_that_a_session_is_gone_only_when_the_disk_has_it() -> None:
    network = with_full_queue()
    network.stall_disk("b1")
    network.tell("b1", ForgettingGiven("sleeper"))
    assert not [one for one in network.reports if isinstance(one, ForgettingRecord)]
    network.unstall_disk("b1")
    assert [one.step for one in network.reports if isinstance(one, ForgettingRecord)] == [FORGOTTEN]


@pytest.mark.parametrize("expiry_s", [0, 600])
def test_a_connected_client_is_told_to_go_and_its_will_is_published(expiry_s: int) -> None:
    network = SmallNetwork()
    network.connect("watcher", "b0")
    network.subscribe("watcher", "last")
    will = Will("last", b"words", 1, delay_s=300)
    network.connect("door", "b1", session_expiry_s=expiry_s, will=will)
    network.forget("door")
    said = forget(network, "door")
    assert (said.step, said.messages, said.was_connected) == (FORGOTTEN, 0, True)
    assert network.payloads("watcher") == ["words"]
    assert [one.reason for one in network.got["door"]] == [packets.ADMINISTRATIVE_ACTION]
    assert "door" not in network.connected
    assert not kinds_on_disk(network, "b1", "door") & {*OF_A_SESSION, "will"}
    answer = network.connect("door", "b1", session_expiry_s=expiry_s)
    assert answer is not None
    assert not answer.session_present


def test_a_client_that_nobody_knows_is_not_forgotten() -> None:
    network = with_full_queue()
    assert forget(network, "nobody").step == UNKNOWN
    assert forget(network, "sleeper", "b2").step == UNKNOWN
    assert reason(network) == packets.QUOTA_EXCEEDED


def test_a_session_that_was_sent_elsewhere_is_forgotten_where_it_arrives() -> None:
    network = with_full_queue()
    network.stall_disk("b2")
    network.connect("sleeper", "b2", session_expiry_s=600)
    assert ("given", "sleeper") in network.disks["b1"]
    assert forget(network, "sleeper", "b1").step == MOVING
    assert forget(network, "sleeper", "b2").step == MOVING
    network.unstall_disk("b2")
    assert forget(network, "sleeper", "b1").step == UNKNOWN
    said = forget(network, "sleeper", "b2")
    assert (said.step, said.was_connected) == (FORGOTTEN, True)
    assert reason(network) == packets.SUCCESS
    network.crash("b1")
    network.start("b1")
    network.advance(15)
    assert reason(network) == packets.SUCCESS
    assert network.machines["b1"].view().sessions == ()


def test_a_session_that_another_broker_waits_for_is_forgotten_and_does_not_go_there() -> None:
    network = with_full_queue()
    network.hold(source="b1", target="b2")
    network.connect("sleeper", "b2", session_expiry_s=600)
    assert any(isinstance(one, MoveBegun) for _, _, one in network.sent)
    assert forget(network, "sleeper", "b1").step == FORGOTTEN
    network.release(source="b1", target="b2")
    # It was turned away, and did not have to wait for that.
    assert "sleeper" not in network.connected
    network.forget("sleeper")
    answer = network.connect("sleeper", "b2", session_expiry_s=600)
    assert answer == packets.Connack(False)
    assert network.messages("sleeper") == []
    assert reason(network) == packets.SUCCESS


@pytest.mark.parametrize("queue_full", ["refuse", "drop"])
def test_an_operator_sees_whose_queue_is_full(queue_full: str) -> None:
    network = with_full_queue(queue_full=queue_full)
    assert full(network) == {"sleeper": True}
    assert full(network, "b0") == {"writer": False}
    forget(network, "sleeper")
    assert full(network) == {}
