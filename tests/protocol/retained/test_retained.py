from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.protocol.directory.directory import replicas_of
from meshwright.protocol.directory.entries import register_key
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.mqtt import packets

TOPIC = "a/b"


def keeping(broker_count: int = 5) -> SmallNetwork:
    """A network that retains `first` on a topic, sent by `publisher` at b0."""
    network = SmallNetwork(broker_count)
    network.advance(1)
    network.connect("publisher", "b0")
    assert network.publish("publisher", TOPIC, "first", retain=True)
    return network


def seen(network: SmallNetwork, client: str) -> list[tuple[str, bool]]:
    return [(one.payload.decode(), one.retain) for one in network.messages(client)]


def replicas(network: SmallNetwork) -> tuple[str, ...]:
    return replicas_of(register_key(TOPIC), network.overlay.brokers, 3)


@pytest.mark.parametrize("text", [TOPIC, "a/+", "#", "+/b"])
@pytest.mark.parametrize("broker", ["b0", "b3"])
def test_a_new_subscriber_gets_what_is_retained(text: str, broker: str) -> None:
    network = keeping()
    network.connect("reader", broker)
    assert network.subscribe("reader", text)
    assert seen(network, "reader") == [("first", True)]
    assert network.publish("publisher", TOPIC, "second", retain=True)
    assert network.publish("publisher", TOPIC, "third")
    assert seen(network, "reader") == [("first", True), ("second", False), ("third", False)]


def test_live_messages_keep_their_flag_for_who_asks_for_it() -> None:
    network = keeping()
    network.connect("reader", "b1")
    network.subscribe("reader", TOPIC, retain_as_published=True)
    network.publish("publisher", TOPIC, "second", retain=True)
    network.publish("publisher", TOPIC, "third")
    assert seen(network, "reader") == [("first", True), ("second", True), ("third", False)]


def test_what_is_not_flagged_is_not_retained() -> None:
    network = keeping()
    network.publish("publisher", TOPIC, "second")
    network.connect("reader", "b1")
    network.subscribe("reader", TOPIC)
    assert seen(network, "reader") == [("first", True)]


def test_the_last_of_all_publishers_is_retained() -> None:
    network = keeping()
    for number, broker in enumerate(("b4", "b1", "b3", "b2")):
        network.connect(f"other{number}", broker)
        network.publish(f"other{number}", TOPIC, str(number), retain=True)
    network.connect("reader", "b0")
    network.subscribe("reader", TOPIC)
    network.subscribe("reader", "a/#")
    assert seen(network, "reader") == [("3", True), ("3", True)]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_an_empty_payload_deletes(qos: int) -> None:
    network = keeping()
    network.connect("live", "b2")
    network.subscribe("live", TOPIC)
    network.publish("publisher", TOPIC, "", qos, retain=True)
    assert seen(network, "live") == [("first", True), ("", False)]
    network.connect("reader", "b1")
    network.subscribe("reader", TOPIC)
    network.subscribe("reader", "#")
    assert seen(network, "reader") == []


@pytest.mark.parametrize(("handling", "expected"), [(0, 2), (1, 1), (2, 0)])
def test_retain_handling_says_which_subscriptions_get_it(handling: int, expected: int) -> None:
    network = keeping()
    network.connect("reader", "b1")
    for _ in range(2):
        network.subscribe("reader", TOPIC, retain_handling=handling)
    assert len(network.messages("reader")) == expected


def test_content_filters_hold_for_retained_messages_too() -> None:
    network = keeping()
    network.publish("publisher", "a/c", "warm", retain=True, properties=(("value", "30"),))
    network.connect("reader", "b1")
    network.subscribe("reader", "$where/value>40/#")
    network.subscribe("reader", "$where/value>40/a/c")
    assert seen(network, "reader") == []
    network.subscribe("reader", "$where/value>20/#")
    network.subscribe("reader", "$where/value>20/a/c")
    assert seen(network, "reader") == [("warm", True)] * 2


def test_retained_messages_carry_identifier_quality_and_what_is_left_of_their_time() -> None:
    network = SmallNetwork()
    network.connect("publisher", "b0")
    network.publish("publisher", TOPIC, "x", 2, retain=True, expiry_s=60)
    network.advance(20)
    network.connect("reader", "b1")
    network.subscribe("reader", TOPIC, 1, identifier=7)
    [message] = network.messages("reader")
    assert (message.qos, message.subscription_ids, message.expiry_s) == (1, (7,), 40)
    network.advance(50)
    network.subscribe("reader", "#")
    assert len(network.messages("reader")) == 1


def test_a_shared_subscription_gets_nothing_retained() -> None:
    network = keeping()
    network.connect("reader", "b1")
    network.subscribe("reader", f"$share/group/{TOPIC}")
    network.subscribe("reader", "$share/group/#")
    assert seen(network, "reader") == []


def test_retained_messages_outlive_all_brokers() -> None:
    network = keeping()
    for name in network.names:
        network.crash(name)
    for name in network.names:
        network.start(name)
    network.advance(8)
    network.connect("reader", "b1")
    network.advance(1)
    network.subscribe("reader", TOPIC)
    network.advance(1)
    network.subscribe("reader", "#")
    network.advance(1)
    assert seen(network, "reader") == [("first", True)] * 2


def test_a_retained_message_is_answered_only_when_a_majority_keeps_it() -> None:
    network = keeping()
    down = [name for name in replicas(network) if name != "b0"][:2]
    for name in down:
        network.crash(name)
    network.connect("other", "b0")
    network.advance(10)
    assert not network.publish("publisher", TOPIC, "second", 2, retain=True)
    assert not network.publish("publisher", TOPIC, "third")
    network.start(down[0])
    network.advance(10)
    answers = [type(one) for one in network.got["publisher"]]
    assert answers == [packets.Connack, packets.Puback, packets.Pubrec, packets.Puback]


def test_a_message_that_was_not_stored_before_a_crash_is_stored_after_it() -> None:
    network = keeping()
    network.connect("publisher", "b0", session_expiry_s=600)
    network.advance(1)
    down = [name for name in replicas(network) if name != "b0"][:2]
    for name in down:
        network.crash(name)
    network.send("publisher", packets.Publish(TOPIC, b"second", 2, True, 77))
    network.crash("b0")
    for name in (*down, "b0"):
        network.start(name)
    network.advance(10)
    network.connect("publisher", "b0", session_expiry_s=600)
    network.advance(1)
    network.forget("publisher")
    network.send("publisher", packets.Publish(TOPIC, b"second", 2, True, 77, True))
    network.advance(1)
    assert network.got["publisher"] == [packets.Pubrec(77)]
    network.connect("reader", "b1")
    network.advance(1)
    network.subscribe("reader", TOPIC)
    network.advance(1)
    assert seen(network, "reader") == [("second", True)]
    assert not [key for key in network.disks["b0"] if key[0] == "retaining"]


def test_a_repeated_message_is_not_answered_before_it_is_stored() -> None:
    network = keeping()
    down = [name for name in replicas(network) if name != "b0"][:2]
    for name in down:
        network.crash(name)
    network.forget("publisher")
    for is_duplicate in (False, True):
        network.send("publisher", packets.Publish(TOPIC, b"x", 2, True, 77, is_duplicate))
    assert network.got["publisher"] == []
    network.start(down[0])
    network.advance(10)
    assert network.got["publisher"] == [packets.Pubrec(77)] * 2


def test_nobody_is_sent_a_message_before_it_is_retained() -> None:
    network = keeping()
    network.connect("live", "b1")
    network.subscribe("live", TOPIC)
    network.forget("live")
    down = [name for name in replicas(network) if name != "b0"][:2]
    for name in down:
        network.stall_disk(name)
    for payload, retain, qos in (("1", True, 1), ("2", False, 1), ("3", True, 0), ("4", False, 0)):
        network.publish("publisher", TOPIC, payload, qos, retain=retain)
    frames = [body for _, _, body in network.sent if isinstance(body, StreamFrame)]
    assert seen(network, "live") == []
    assert not [one for one in frames if one.publication.payload in {b"1", b"2", b"3", b"4"}]
    for name in down:
        network.unstall_disk(name)
    network.advance(3)
    by_qos = [[one.payload for one in network.messages("live") if one.qos == qos] for qos in (1, 0)]
    assert by_qos == [[b"1", b"2"], [b"3", b"4"]]


def test_a_wildcard_does_not_wait_for_the_lost_but_gets_what_they_keep_when_they_return() -> None:
    network = keeping(6)
    down = replicas(network)[:2]
    up = next(name for name in network.names if name not in (*replicas(network), "b0"))
    for name in down:
        network.crash(name)
    network.advance(12)
    network.connect("reader", up, session_expiry_s=600)
    network.advance(3)
    network.subscribe("reader", "a/#")
    network.advance(12)
    answers = [one for one in network.got["reader"] if isinstance(one, packets.Suback)]
    if answers:
        assert seen(network, "reader") == []
    for name in down:
        network.start(name)
    network.advance(10)
    assert seen(network, "reader") == [("first", True)]
    assert [one for one in network.got["reader"] if isinstance(one, packets.Suback)]


def test_only_a_subscription_that_did_not_exist_gets_it_if_only_a_new_one_is_to() -> None:
    network = keeping()
    network.connect("reader", "b1", session_expiry_s=600)
    for _ in range(2):
        network.subscribe("reader", TOPIC, retain_handling=1)
    network.answer_all("reader")
    network.drop("reader")
    network.connect("reader", "b1", session_expiry_s=600)
    network.subscribe("reader", TOPIC, retain_handling=1)
    assert len(network.messages("reader")) == 1
    network.unsubscribe("reader", TOPIC)
    network.subscribe("reader", TOPIC, retain_handling=1)
    assert len(network.messages("reader")) == 2


def test_a_changed_subscription_gets_it_again_with_its_new_quality() -> None:
    network = keeping()
    network.connect("reader", "b1")
    for qos in (0, 1):
        network.subscribe("reader", TOPIC, qos)
    assert [one.qos for one in network.messages("reader")] == [0, 1]


def test_a_message_of_qos_0_replaces_what_was_retained() -> None:
    network = keeping()
    network.publish("publisher", TOPIC, "unpromised", 0, retain=True)
    network.connect("reader", "b1")
    network.subscribe("reader", TOPIC, 2)
    assert seen(network, "reader") == [("unpromised", True)]
    assert network.messages("reader")[0].qos == 0


@pytest.mark.parametrize("text", [TOPIC, "a/#"])
def test_what_has_expired_is_retained_no_more_and_can_be_replaced(text: str) -> None:
    network = keeping()
    network.publish("publisher", TOPIC, "brief", retain=True, expiry_s=5)
    network.advance(6)
    network.connect("reader", "b1")
    network.subscribe("reader", text)
    assert seen(network, "reader") == []
    network.publish("publisher", TOPIC, "lasting", retain=True)
    network.connect("late", "b2")
    network.subscribe("late", text)
    assert seen(network, "late") == [("lasting", True)]


def test_an_empty_message_that_is_not_flagged_deletes_nothing() -> None:
    network = keeping()
    network.publish("publisher", TOPIC, "")
    network.connect("reader", "b1")
    network.subscribe("reader", TOPIC)
    assert seen(network, "reader") == [("first", True)]


def test_an_empty_message_keeps_its_flag_for_who_asks_for_it() -> None:
    network = keeping()
    network.connect("reader", "b1")
    network.subscribe("reader", TOPIC, retain_as_published=True)
    network.publish("publisher", TOPIC, "", retain=True)
    assert seen(network, "reader") == [("first", True), ("", True)]


@pytest.mark.parametrize("text", [TOPIC, "#"])
def test_a_client_that_wants_nothing_of_its_own_gets_nothing_of_an_earlier_session_either(
    text: str,
) -> None:
    network = keeping()
    network.drop("publisher")
    network.connect("publisher", "b3", clean_start=True)
    network.subscribe("publisher", text, no_local=True)
    assert seen(network, "publisher") == []
    network.connect("other", "b3")
    network.subscribe("other", text, no_local=True)
    assert seen(network, "other") == [("first", True)]


def test_a_message_sent_again_is_answered_though_one_without_a_promise_waits_behind_it() -> None:
    network = keeping(3)
    for name in ("b1", "b2"):
        network.stall_disk(name)
    again = packets.Publish(TOPIC, b"second", 2, retain=True, packet_id=7)
    network.send("publisher", again)
    network.send("publisher", packets.Publish(TOPIC, b"third"))
    network.send("publisher", again)
    assert packets.Pubrec(7) not in network.got["publisher"]
    for name in ("b1", "b2"):
        network.unstall_disk(name)
    network.advance(3)
    assert network.got["publisher"].count(packets.Pubrec(7)) == 2


@pytest.mark.parametrize("is_connected", [True, False])
def test_what_a_client_publishes_after_a_crash_replaces_its_qos_0_of_before(
    is_connected: bool,
) -> None:
    network = SmallNetwork()
    for client, broker in (("writer", "b0"), ("reader", "b1"), ("late", "b2")):
        network.connect(client, broker, session_expiry_s=60)
    for payload in ("older", "old"):
        network.publish("writer", "t", payload, qos=0, retain=True)
    network.subscribe("reader", "t")
    if not is_connected:
        network.drop("writer")
    network.crash("b0")
    network.start("b0")
    network.connect("writer", "b0", session_expiry_s=60)
    network.publish("writer", "t", "new", retain=True)
    network.subscribe("late", "t")
    assert network.payloads("reader") == ["old", "new"]
    assert network.payloads("late") == ["new"]


@pytest.mark.parametrize("broker_count", [1, 5])
@pytest.mark.parametrize("expiry_s", [0, 600])
@pytest.mark.parametrize("texts", [[TOPIC], ["#"], [TOPIC, "+/b", "elsewhere", "a/#"]])
@pytest.mark.parametrize("qos", [0, 1])
def test_the_answer_to_a_subscription_comes_before_what_is_retained(
    broker_count: int, expiry_s: int, texts: list[str], qos: int
) -> None:
    network = keeping(broker_count)
    network.connect("reader", f"b{broker_count - 1}", session_expiry_s=expiry_s)
    network.forget("reader")
    wanted = tuple(packets.Subscription(text, qos) for text in texts)
    for packet_id in (1, 2):
        network.send("reader", packets.Subscribe(packet_id, wanted))
        network.advance(1)
        kinds = [type(one) for one in network.got["reader"]]
        count = sum(text != "elsewhere" for text in texts)
        assert kinds == [packets.Suback] + [packets.Publish] * count
        network.forget("reader")


def test_what_is_retained_and_overtaken_before_the_answer_is_not_sent_after_it() -> None:
    network = keeping()
    network.connect("reader", "b1")
    network.stall_disk("b1")
    network.send("reader", packets.Subscribe(1, (packets.Subscription(TOPIC, 1),)))
    network.publish("publisher", TOPIC, "second", retain=True)
    network.unstall_disk("b1")
    network.advance(5)
    assert seen(network, "reader")[-1][0] == "second"
    assert [one for one, _ in seen(network, "reader")].count("second") == 1
    kinds = [type(one) for one in network.got["reader"]]
    assert packets.Suback in kinds
