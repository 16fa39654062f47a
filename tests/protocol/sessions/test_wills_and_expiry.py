from __future__ import annotations

from typing import Any

from small_network import SmallNetwork

from meshwright.protocol.foundation.events import EmptyingGiven
from meshwright.protocol.mobility.emptying import EmptyingRecord
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import NEVER_S, Disconnect, Will
from meshwright.protocol.sessions.deliveries import Refused
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.streams.outgoing import OutgoingSettings


def watched(*, delay_s: int = 0, qos: int = 1, **options: Any) -> SmallNetwork:
    """A network where `watcher` sees all wills, and `mortal` has one."""
    network = SmallNetwork()
    network.advance(1)
    network.connect("watcher", "b0")
    assert network.subscribe("watcher", "will/#")
    will = Will("will/mortal", b"gone", qos, delay_s=delay_s)
    connack = network.connect("mortal", "b1", will=will, **options)
    assert connack is not None
    network.forget("watcher")
    return network


def test_a_will_is_sent_at_once_without_a_delay() -> None:
    network = watched(session_expiry_s=60)
    network.drop("mortal")
    network.advance(1)
    assert network.payloads("watcher") == ["gone"]


def test_a_goodbye_takes_the_will_back() -> None:
    network = watched(session_expiry_s=60)
    network.send("mortal", Disconnect())
    network.drop("mortal")
    network.advance(120)
    assert network.payloads("watcher") == []


def test_a_goodbye_with_will_sends_it() -> None:
    network = watched(session_expiry_s=60)
    network.send("mortal", Disconnect(packets.DISCONNECT_WITH_WILL))
    network.drop("mortal", clean=True)
    network.advance(1)
    assert network.payloads("watcher") == ["gone"]


def test_a_will_waits_for_its_delay() -> None:
    network = watched(session_expiry_s=60, delay_s=10)
    network.drop("mortal")
    network.advance(9)
    assert network.payloads("watcher") == []
    network.advance(2)
    assert network.payloads("watcher") == ["gone"]
    network.advance(100)
    assert network.payloads("watcher") == ["gone"]


def test_a_return_in_time_cancels_the_will() -> None:
    network = watched(session_expiry_s=60, delay_s=10)
    network.drop("mortal")
    network.advance(5)
    connack = network.connect("mortal", "b1", session_expiry_s=60)
    assert connack is not None
    assert connack.session_present
    network.advance(100)
    assert network.payloads("watcher") == []


def test_a_return_elsewhere_cancels_the_will_too() -> None:
    network = watched(session_expiry_s=60, delay_s=10)
    network.drop("mortal")
    network.advance(5)
    network.connect("mortal", "b2", session_expiry_s=60)
    network.advance(1)
    assert network.got["mortal"][-1] == packets.Connack(True)
    network.advance(100)
    assert network.payloads("watcher") == []


def test_a_clean_start_ends_the_session_and_sends_its_will() -> None:
    network = watched(session_expiry_s=60, delay_s=10)
    network.drop("mortal")
    network.connect("mortal", "b1", clean_start=True)
    network.advance(1)
    assert network.payloads("watcher") == ["gone"]


def test_a_try_elsewhere_that_fails_does_not_take_the_will_away() -> None:
    network = watched(session_expiry_s=60, delay_s=10)
    network.drop("mortal")
    network.connect("mortal", "b2", session_expiry_s=60)
    network.stall_disk("b1")
    network.advance(1)
    network.drop("mortal")
    network.unstall_disk("b1")
    network.advance(8)
    assert network.payloads("watcher") == []
    network.advance(2)
    assert network.payloads("watcher") == ["gone"]


def test_a_will_goes_along_with_a_session_whose_client_is_gone_before_it_is_let_in() -> None:
    network = watched(session_expiry_s=60, delay_s=10)
    network.drop("mortal")
    network.connect("mortal", "b2", session_expiry_s=60)
    network.stall_disk("b2")
    network.advance(1)
    network.drop("mortal")
    network.unstall_disk("b2")
    network.advance(1)
    assert ("session", "mortal") in network.disks["b2"]
    assert ("session", "mortal") not in network.disks["b1"]
    assert network.payloads("watcher") == []
    network.crash("b2")
    network.start("b2")
    network.advance(12)
    assert network.payloads("watcher") == ["gone"]


def test_a_will_comes_after_what_its_client_said_at_the_broker_before() -> None:
    network = watched(session_expiry_s=60)
    network.hold(source="b1", target="b0")
    assert network.publish("mortal", "will/mortal", "said")
    network.drop("mortal", clean=True)
    will = Will("will/mortal", b"gone", 1)
    network.connect("mortal", "b2", session_expiry_s=60, will=will)
    network.advance(1)
    assert network.got["mortal"][-1] == packets.Connack(True)
    network.drop("mortal")
    network.advance(1)
    assert network.payloads("watcher") == []
    network.release(source="b1", target="b0")
    network.advance(5)
    assert network.payloads("watcher") == ["said", "gone"]


def test_a_will_does_not_wait_longer_than_its_session() -> None:
    network = watched(session_expiry_s=5, delay_s=100)
    network.drop("mortal")
    network.advance(4)
    assert network.payloads("watcher") == []
    network.advance(2)
    assert network.payloads("watcher") == ["gone"]


def test_a_session_that_ends_with_its_connection_sends_its_will_whatever_its_delay() -> None:
    network = watched(delay_s=100)
    network.drop("mortal")
    network.advance(1)
    assert network.payloads("watcher") == ["gone"]


def test_wills_of_connected_clients_are_sent_after_a_crash() -> None:
    for expiry_s in (0, 60):
        network = watched(session_expiry_s=expiry_s)
        network.crash("b1")
        network.start("b1")
        network.advance(8)
        assert network.payloads("watcher") == ["gone"]
        network.crash("b1")
        network.start("b1")
        network.advance(8)
        assert network.payloads("watcher") == ["gone"]


def test_a_will_of_qos_0_is_not_repeated_by_a_crash() -> None:
    for expiry_s in (0, 60):
        network = watched(session_expiry_s=expiry_s, qos=0)
        network.stall_disk("b1")
        network.drop("mortal")
        network.crash("b1")
        network.start("b1")
        network.advance(8)
        assert network.payloads("watcher") == ["gone"]
        network.stall_disk("b1")
        network.crash("b1")
        network.start("b1")
        network.advance(8)
        assert network.payloads("watcher") == ["gone"]


def test_wills_at_a_broker_that_is_emptied_are_seen_to_before_it_is_empty() -> None:
    for delay_s, is_back, heard in ((0, False, ["gone"]), (5, False, ["gone"]), (5, True, [])):
        network = watched(session_expiry_s=60, delay_s=delay_s)
        network.tell("b1", EmptyingGiven(is_on=True, targets=("b2",)))
        assert network.got["mortal"][-1] == Disconnect(packets.USE_ANOTHER_SERVER, "b2")
        network.advance(2)
        if is_back:
            network.connect("mortal", "b2", session_expiry_s=60)
        network.advance(10)
        assert network.payloads("watcher") == heard
        steps = [one.step for one in network.reports if isinstance(one, EmptyingRecord)]
        assert steps[-1] == "empty"
        assert ("session", "mortal") in network.disks["b2"]


def test_a_will_taken_back_before_a_crash_is_not_sent() -> None:
    for expiry_s in (0, 60):
        network = watched(session_expiry_s=expiry_s)
        network.drop("mortal", clean=True)
        network.crash("b1")
        network.start("b1")
        network.advance(8)
        assert network.payloads("watcher") == []


def test_a_delay_goes_on_while_the_broker_is_down() -> None:
    network = watched(session_expiry_s=600, delay_s=30)
    network.drop("mortal")
    network.crash("b1")
    network.advance(20)
    network.start("b1")
    network.advance(8)
    assert network.payloads("watcher") == []
    network.advance(4)
    assert network.payloads("watcher") == ["gone"]


def test_a_will_on_no_topic_is_refused() -> None:
    network = SmallNetwork()
    connack = network.connect("mortal", "b1", will=Will("a/#"))
    assert connack == packets.Connack(False, packets.TOPIC_NAME_INVALID)
    assert "mortal" not in network.connected


def test_a_session_ends_after_its_expiry() -> None:
    network = SmallNetwork()
    network.connect("client", "b1", session_expiry_s=10)
    network.subscribe("client", "a/b")
    network.drop("client")
    network.advance(9)
    connack = network.connect("client", "b1", session_expiry_s=10)
    assert connack == packets.Connack(True)
    network.drop("client")
    network.advance(11)
    assert not [key for key in network.disks["b1"] if key[0] in {"session", "subscription"}]
    assert network.connect("client", "b1", session_expiry_s=10) == packets.Connack(False)


def moved_slowly() -> SmallNetwork:
    """A client has come to b2, and its session, which lasts for a second, cannot leave b1 yet."""
    network = SmallNetwork()
    network.advance(1)
    network.connect("mover", "b1", session_expiry_s=1)
    assert network.subscribe("mover", "news")
    network.connect("writer", "b0")
    assert network.publish("writer", "news")
    network.answer_all("mover")
    network.forget("mover")
    # b1 waits for b0 to say what is under way.
    network.hold(source="b0", target="b1")
    network.connect("mover", "b2", session_expiry_s=1)
    network.advance(0.9)
    assert network.got["mover"] == []
    return network


def test_a_session_does_not_expire_while_its_client_waits_for_it_elsewhere() -> None:
    network = moved_slowly()
    network.advance(1)
    assert network.got["mover"] == [packets.Connack(True)]
    network.release(source="b0", target="b1")
    network.advance(5)
    assert network.publish("writer", "news", "more")
    assert network.payloads("mover") == ["more"]


def test_a_session_expires_once_its_client_waits_for_it_no_more() -> None:
    network = moved_slowly()
    network.drop("mover")
    network.advance(0.9)
    assert ("session", "mover") in network.disks["b1"]
    network.advance(0.2)
    assert ("session", "mover") not in network.disks["b1"]


def test_a_session_expires_though_who_asked_for_it_is_not_heard_of_any_more() -> None:
    network = moved_slowly()
    network.crash("b2")
    network.advance(10)
    assert ("session", "mover") not in network.disks["b1"]


def test_a_session_may_live_for_ever() -> None:
    network = SmallNetwork()
    network.connect("client", "b1", session_expiry_s=NEVER_S)
    network.drop("client")
    network.advance(3_600)
    assert network.connect("client", "b1", session_expiry_s=NEVER_S) == packets.Connack(True)


def test_a_session_expires_while_its_broker_is_down() -> None:
    network = SmallNetwork()
    network.connect("client", "b1", session_expiry_s=10)
    network.drop("client")
    network.crash("b1")
    network.advance(11)
    network.start("b1")
    network.advance(5)
    assert network.connect("client", "b1", session_expiry_s=10) == packets.Connack(False)


def test_a_goodbye_may_say_anew_when_the_session_expires() -> None:
    network = SmallNetwork()
    network.connect("client", "b1", session_expiry_s=600)
    network.send("client", Disconnect(session_expiry_s=0))
    network.drop("client", clean=True)
    assert not [key for key in network.disks["b1"] if key[0] == "session"]
    assert network.connect("client", "b1", session_expiry_s=10) == packets.Connack(False)


def test_a_session_resumed_without_expiry_leaves_nothing_behind() -> None:
    network = SmallNetwork()
    network.connect("client", "b1", session_expiry_s=600)
    network.subscribe("client", "a/b")
    network.drop("client")
    assert network.connect("client", "b1") == packets.Connack(True)
    network.drop("client")
    kinds = {"session", "subscription", "sequence", "queue", "moved"}
    assert not [key for key in network.disks["b1"] if key[0] in kinds]


def test_a_message_expires_in_the_queue_of_a_client() -> None:
    network = SmallNetwork()
    network.advance(1)
    network.connect("late", "b1", session_expiry_s=600)
    network.subscribe("late", "a/b")
    network.drop("late")
    network.connect("publisher", "b0")
    assert network.publish("publisher", "a/b", "short", expiry_s=5)
    assert network.publish("publisher", "a/b", "long", expiry_s=50)
    network.advance(10)
    network.forget("late")
    network.connect("late", "b1", session_expiry_s=600)
    assert [(one.payload, one.expiry_s) for one in network.messages("late")] == [(b"long", 40)]
    dropped = [one for one in network.reports if isinstance(one, Refused)]
    assert [one.reason for one in dropped] == ["it has expired"]
    network.answer_all("late")
    network.advance(2)
    assert not [key for key in network.disks["b1"] if key[0] == "queue"]


def test_a_client_is_told_what_is_left_of_a_message() -> None:
    network = SmallNetwork()
    network.connect("client", "b1")
    network.subscribe("client", "a/b")
    network.connect("publisher", "b0")
    for qos in (0, 1):
        network.publish("publisher", "a/b", "soon", qos, expiry_s=7)
        network.publish("publisher", "a/b", "never", qos)
    network.advance(3)
    assert [one.expiry_s for one in network.messages("client")] == [7, None, 7, None]


def test_what_was_sent_once_is_sent_again_whatever_its_age() -> None:
    network = SmallNetwork()
    network.connect("client", "b1", session_expiry_s=600)
    network.subscribe("client", "a/b")
    network.connect("publisher", "b0")
    network.publish("publisher", "a/b", "short", expiry_s=5)
    network.advance(2)
    assert network.payloads("client") == ["short"]
    network.drop("client")
    network.advance(20)
    network.forget("client")
    network.connect("client", "b1", session_expiry_s=600)
    again = network.messages("client")
    assert [(one.payload, one.is_duplicate) for one in again] == [(b"short", True)]


def test_there_is_room_for_every_will_that_was_let_in() -> None:
    settings = BrokerSettings(sessions=SessionSettings(log_max=3))
    network = SmallNetwork(settings=settings)
    network.advance(1)
    network.connect("watcher", "b0", session_expiry_s=60)
    assert network.subscribe("watcher", "t")
    network.connect("publisher", "b1")
    network.crash("b0")
    for name in ("first", "second"):
        will = Will("t", name.encode(), 1)
        assert network.connect(name, "b1", will=will) == packets.Connack(False)
    assert network.publish("publisher", "t", "said")
    network.publish("publisher", "t", "too much")
    assert network.got["publisher"][-1].reason == packets.QUOTA_EXCEEDED
    refused = network.connect("third", "b1", will=Will("t", b"third", 1))
    assert refused is not None
    assert refused.reason == packets.QUOTA_EXCEEDED
    assert network.connect("third", "b1", will=Will("t", b"third", 0)) == packets.Connack(False)
    network.drop("first")
    network.drop("second")
    network.start("b0")
    network.advance(8)
    network.connect("watcher", "b0", session_expiry_s=60)
    assert network.payloads("watcher") == ["said", "first", "second"]


def test_a_will_of_qos_0_has_its_room_where_topics_have_an_order() -> None:
    settings = BrokerSettings(
        sessions=SessionSettings(log_max=2), outgoing=OutgoingSettings(across_topics=("t",))
    )
    network = SmallNetwork(settings=settings)
    network.advance(1)
    network.connect("watcher", "b0", session_expiry_s=60)
    assert network.subscribe("watcher", "t")
    network.connect("near", "b2")
    assert network.subscribe("near", "t")
    network.connect("publisher", "b1")
    network.crash("b0")
    assert network.connect("mortal", "b1", will=Will("t", b"gone", 0)) == packets.Connack(False)
    assert network.publish("publisher", "t", "said")
    refused = network.connect("other", "b1", will=Will("t", b"other", 0))
    assert refused is not None
    assert refused.reason == packets.QUOTA_EXCEEDED
    # Its place is taken from when it is due, not only from when it is kept.
    network.stall_disk("b1")
    network.drop("mortal")
    network.publish("publisher", "t", "too much")
    network.unstall_disk("b1")
    assert network.got["publisher"][-1].reason == packets.QUOTA_EXCEEDED
    assert network.payloads("near") == ["said", "gone"]
