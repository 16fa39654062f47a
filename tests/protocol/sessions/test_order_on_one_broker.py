"""On one broker a message goes to those who wanted it when it came, and in the order it came in."""

from __future__ import annotations

import pytest
from small_network import SmallNetwork

from meshwright.protocol.mqtt import packets

TOPICS = ("n/birth", "d/one", "d/two")


@pytest.mark.parametrize("broker_count", [1, 3])
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("expiry_s", [0, 60])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_message_is_not_for_who_subscribes_after_it_on_the_same_connection(
    broker_count: int, qos: int, expiry_s: int, *, is_known: bool
) -> None:
    network = SmallNetwork(broker_count)
    network.connect("c", "b0", session_expiry_s=expiry_s)
    if is_known:
        network.publish("c", "t", "before")
        network.advance(2)
    network.stall_disk("b0")
    for number in range(5):
        network.publish("c", "t", str(number), qos)
    network.subscribe("c", "t", 2)
    network.unstall_disk("b0")
    network.publish("c", "t", "after", qos)
    network.advance(5)
    assert network.payloads("c") == ["after"]


@pytest.mark.parametrize("broker_count", [1, 3])
def test_what_was_acknowledged_is_not_for_who_subscribes_later_not_after_a_crash_either(
    broker_count: int,
) -> None:
    network = SmallNetwork(broker_count)
    network.connect("writer", "b0", session_expiry_s=60)
    network.connect("reader", "b0", session_expiry_s=60)
    network.stall_disk("b0")
    network.publish("writer", "t", "early")
    network.subscribe("reader", "t")
    network.sync_stalled("b0")
    network.crash("b0")
    network.start("b0")
    network.connect("reader", "b0", session_expiry_s=60, clean_start=False)
    network.advance(5)
    assert network.payloads("reader") == []


@pytest.mark.parametrize("broker_count", [1, 3])
@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize("handling", [0, 1, 2])
def test_a_retained_message_before_a_subscription_comes_as_retained_once_or_not_at_all(
    broker_count: int, qos: int, handling: int
) -> None:
    network = SmallNetwork(broker_count)
    network.connect("c", "b0")
    network.stall_disk("b0")
    network.publish("c", "t", "kept", qos, retain=True)
    network.subscribe("c", "t", retain_handling=handling)
    network.unstall_disk("b0")
    network.advance(5)
    got = [(one.payload, one.retain) for one in network.messages("c")]
    assert got == ([] if handling == 2 else [(b"kept", True)])


def test_a_value_that_others_retained_before_does_not_come_after_the_live_one() -> None:
    network = SmallNetwork()
    for client in ("old", "new", "reader"):
        network.connect(client, "b0")
    network.publish("old", "t", "stale", retain=True)
    network.advance(1)
    network.hold(source="b1", target="b0")
    network.hold(source="b2", target="b0")
    network.subscribe("reader", "t")
    network.publish("new", "t", "fresh", retain=True)
    for source in ("b1", "b2"):
        network.release(source=source, target="b0")
    network.advance(5)
    assert network.payloads("reader")[-1] == "fresh"


@pytest.mark.parametrize("broker_count", [1, 3])
@pytest.mark.parametrize("expiry_s", [0, 60])
@pytest.mark.parametrize("qualities", [(1, 1, 1), (1, 0, 0), (0, 1, 0), (2, 1, 0), (0, 0, 0)])
@pytest.mark.parametrize("retains", [False, True])
@pytest.mark.parametrize("reader_qos", [0, 2])
def test_what_one_client_publishes_on_several_topics_comes_in_that_order(
    broker_count: int,
    expiry_s: int,
    qualities: tuple[int, int, int],
    reader_qos: int,
    *,
    retains: bool,
) -> None:
    network = SmallNetwork(broker_count)
    network.connect("writer", "b0")
    network.connect("reader", "b0", session_expiry_s=expiry_s)
    for topic in TOPICS:
        network.subscribe("reader", topic, reader_qos)
    # The streams of some topics are open, those of others are new or were not used for long.
    network.publish("writer", "d/two", "old")
    network.advance(20)
    network.publish("writer", "d/one", "old")
    network.advance(10)
    network.forget("reader")
    network.stall_disk("b0")
    sent = []
    for turn in range(2):
        for topic, qos in zip(TOPICS, qualities, strict=True):
            is_first = topic == TOPICS[0]
            network.publish("writer", topic, f"{topic} {turn}", qos, retain=retains and is_first)
            sent.append(f"{topic} {turn}")
    network.unstall_disk("b0")
    network.advance(5)
    assert network.payloads("reader") == sent


def test_an_order_across_topics_outlives_a_crash_before_anything_was_handed_over() -> None:
    network = SmallNetwork()
    network.connect("writer", "b0")
    network.connect("reader", "b0", session_expiry_s=60)
    for topic in TOPICS:
        network.subscribe("reader", topic)
    network.publish("writer", "d/two", "old")
    network.advance(1)
    network.answer_all("reader")
    network.forget("reader")
    network.stall_disk("b0")
    for topic in TOPICS:
        network.publish("writer", topic, topic)
    network.sync_stalled("b0")
    network.crash("b0")
    network.forget("reader")
    network.start("b0")
    network.connect("reader", "b0", session_expiry_s=60, clean_start=False)
    network.advance(5)
    assert network.payloads("reader") == list(TOPICS)


def test_runs_and_single_messages_come_in_the_order_in_which_they_were_published() -> None:
    network = SmallNetwork(1)
    network.connect("writer", "b0")
    network.connect("reader", "b0")
    network.subscribe("reader", "#")
    network.publish("writer", "run", "old")
    network.publish("writer", "d/two", "old")
    network.advance(1)
    network.forget("reader")
    network.stall_disk("b0")
    network.publish("writer", "n/birth", "birth", retain=True)
    network.send("writer", packets.PublishQos1Runs((run_of("run", 1, 2),)))
    network.publish("writer", "d/two", "data", qos=0)
    network.send("writer", packets.PublishQos1Runs((run_of("run", 3, 2),)))
    network.publish("writer", "d/one", "more")
    network.unstall_disk("b0")
    got: list[str] = []
    for one in network.got["reader"]:
        if isinstance(one, packets.Publish):
            got.append(one.topic)
        elif isinstance(one, packets.DeliverQos1Run):
            got.append(f"{one.run.topic} x {one.run.count}")
    whole = [topic if topic != "run" else "run x 2" for topic in got]
    order = [one for at, one in enumerate(whole) if at == 0 or whole[at - 1] != one]
    assert order == ["n/birth", "run x 2", "d/two", "run x 2", "d/one"]


def test_a_run_is_not_for_who_subscribes_after_it() -> None:
    network = SmallNetwork(1)
    for client in ("writer", "reader", "late"):
        network.connect(client, "b0")
    network.subscribe("reader", "run")
    network.publish("writer", "run", "old")
    network.advance(1)
    network.stall_disk("b0")
    network.send("writer", packets.PublishQos1Runs((run_of("run", 1, 2),)))
    network.subscribe("late", "run")
    network.unstall_disk("b0")
    network.advance(5)
    assert [type(one) for one in network.got["late"]] == [packets.Connack, packets.Suback]


def run_of(topic: str, packet_id: int, count: int) -> packets.Qos1Run:
    """Messages of QoS 1 that are alike but for packet identifier and payload."""
    raw = topic.encode()
    written = b"".join(
        bytes((0x32, 2 + len(raw) + 2 + 1)) + len(raw).to_bytes(2) + raw + number.to_bytes(2) + b"x"
        for number in range(packet_id, packet_id + count)
    )
    return packets.Qos1Run(topic, written, count, 2 + 2 + len(raw), False)
