"""QoS 1 messages that are taken in runs are answered and delivered like single ones."""

from __future__ import annotations

import pytest
from runs_of_qos1 import a_run
from small_network import SmallNetwork

from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1_1,
    MQTT_5,
    DeliverQos1Run,
    Puback,
    PubackRun,
    Publish,
    PublishQos1Runs,
    PublishRun,
)
from meshwright.protocol.mqtt.qos1_runs import (
    numbers,
    packet_ids,
    payload_of,
    pubacks,
    qos0,
    spliced,
)

SIZES = (0, 100, 200, 20_000)


def ten(mark: str) -> list[bytes]:
    return [f"{mark}{number}".encode() for number in range(10)]


def said(network: SmallNetwork, client: str) -> list[bytes]:
    """All payloads that a client has got, in order."""
    found = []
    for one in network.got[client]:
        if isinstance(one, DeliverQos1Run):
            found += [payload_of(one.run, place) for place in range(one.run.count)]
        elif isinstance(one, PublishRun):
            found += [one.packets]
        elif isinstance(one, Publish):
            found.append(one.payload)
    return found


def answered(network: SmallNetwork, client: str) -> list[int]:
    found = []
    for one in network.got[client]:
        if isinstance(one, PubackRun):
            found += numbers(one.packet_ids)
        elif isinstance(one, Puback):
            found.append(one.packet_id)
    return found


def opened(broker_count: int = 1, **options: int) -> SmallNetwork:
    """A network with a reader and an open topic."""
    network = SmallNetwork(broker_count)
    network.connect("writer", "b0")
    network.connect("reader", "b0", **options)
    network.subscribe("reader", "t")
    network.publish("writer", "t", "first")
    network.answer_all("reader")
    for client in ("reader", "writer"):
        network.forget(client)
    return network


def publish(network: SmallNetwork, mark: str, first_id: int = 1) -> None:
    run = a_run("t", ten(mark), first_id, MQTT_3_1_1)
    network.send("writer", PublishQos1Runs((run,)))


def test_a_run_is_answered_and_delivered_once_it_is_on_disk() -> None:
    network = opened()
    network.stall_disk("b0")
    publish(network, "x")
    assert network.got["reader"] == network.got["writer"] == []
    network.unstall_disk("b0")
    assert said(network, "reader") == ten("x")
    assert answered(network, "writer") == list(range(1, 11))


def test_a_client_that_has_answered_a_run_can_be_sent_all_packet_identifiers_again() -> None:
    network = opened()
    for number in range(7_000):
        publish(network, "x")
        (sent,) = [one for one in network.got["reader"] if isinstance(one, DeliverQos1Run)]
        ids = range(sent.packet_id, sent.packet_id + sent.run.count)
        assert 0 < ids[0] < ids[-1] <= 65_535, number
        network.forget("reader")
        network.send("reader", PubackRun(b"".join(one.to_bytes(2) for one in ids)))


@pytest.mark.parametrize("receive_maximum", [1, 4, 15])
def test_a_small_window_is_kept_and_the_rest_follows_in_order(receive_maximum: int) -> None:
    network = opened(receive_maximum=receive_maximum)
    publish(network, "x")
    publish(network, "y")
    network.publish("writer", "t", "z")
    for _ in range(30):
        sent = list(network.got["reader"])
        network.forget("reader")
        for one in sent:
            if isinstance(one, DeliverQos1Run):
                assert one.run.count <= receive_maximum
                ids = range(one.packet_id, one.packet_id + one.run.count)
                network.send("reader", PubackRun(b"".join(number.to_bytes(2) for number in ids)))
            elif isinstance(one, Publish):
                network.send("reader", Puback(one.packet_id))
        network.got["reader"][:0] = sent
        if len(said(network, "reader")) == 21:
            break
        network.got["reader"][:] = network.got["reader"][len(sent) :]
        network.got.setdefault("all", []).extend(sent)
    network.got["all"] = [*network.got.get("all", []), *network.got["reader"]]
    assert said(network, "all") == [*ten("x"), *ten("y"), b"z"]
    assert sorted(answered(network, "writer")) == sorted([*range(1, 11), *range(1, 11), 3])


def test_what_was_answered_reaches_who_is_owed_it_although_the_broker_crashed() -> None:
    network = opened()
    network.connect("keeper", "b0", session_expiry_s=600)
    network.subscribe("keeper", "t")
    network.publish("writer", "t", "again")
    publish(network, "x")
    assert said(network, "keeper") == [b"again", *ten("x")]
    network.crash("b0")
    network.forget("keeper")
    network.start("b0")
    network.connect("keeper", "b0", session_expiry_s=600)
    assert said(network, "keeper") == [b"again", *ten("x")]


def test_a_run_that_was_on_disk_only_is_published_after_a_crash() -> None:
    network = opened()
    publish(network, "x")
    kept = {key: value for key, value in network.disks["b0"].items() if key[0] == "runs"}
    assert len(kept) == 1
    network.crash("b0")
    network.start("b0")
    assert not [key for key in network.disks["b0"] if key[0] == "runs"]
    network.connect("late", "b0")
    assert said(network, "late") == []


def test_readers_at_other_brokers_get_what_was_published_in_runs() -> None:
    network = opened(3)
    network.connect("far", "b2")
    network.subscribe("far", "t")
    publish(network, "x")
    network.publish("writer", "t", "last")
    assert said(network, "far") == said(network, "reader") == [*ten("x"), b"last"]


def test_a_copy_that_nobody_was_owed_does_not_come_after_a_run_of_its_publisher() -> None:
    network = SmallNetwork(3)
    for client, broker, expiry_s in (("writer", "b0", 60), ("other", "b2", 0), ("reader", "b2", 0)):
        network.connect(client, broker, session_expiry_s=expiry_s)
    network.hold(source="b0", target="b1")
    network.publish("writer", "t", "slow")
    network.drop("writer")
    network.connect("writer", "b2", session_expiry_s=60, previous_broker="b0")
    network.advance(0.3)
    network.subscribe("reader", "t")
    network.publish("other", "t", "open")
    publish(network, "x")
    assert any(isinstance(one, DeliverQos1Run) for one in network.got["reader"])
    network.release(source="b0", target="b1")
    network.advance(3)
    assert said(network, "reader") == [b"open", *ten("x")]


def leaving_with_a_run() -> SmallNetwork:
    """The disk of b0 stalls with a run of a client that goes to b2 meanwhile."""
    network = SmallNetwork(5)
    network.connect("writer", "b0", session_expiry_s=60)
    network.connect("reader", "b0")
    network.connect("late", "b3", session_expiry_s=60)
    network.subscribe("reader", "t")
    network.publish("writer", "t", "first")
    network.advance(2)
    network.stall_disk("b0")
    publish(network, "x")
    network.drop("writer")
    network.connect("writer", "b2", session_expiry_s=60, previous_broker="b0")
    network.advance(0.5)
    return network


def test_who_comes_after_a_run_gets_only_what_its_publisher_sends_from_elsewhere() -> None:
    network = leaving_with_a_run()
    network.subscribe("late", "t")
    for target in ("b1", "b3"):
        network.hold(source="b0", target=target)
    network.unstall_disk("b0")
    network.advance(0.5)
    assert network.publish("writer", "t", "moved")
    for target in ("b1", "b3"):
        network.release(source="b0", target=target)
    network.advance(3)
    assert said(network, "reader") == [b"first", *ten("x"), b"moved"]
    assert said(network, "late") == [b"moved"]


def test_a_run_is_off_the_disk_before_its_publisher_goes_on_elsewhere() -> None:
    network = leaving_with_a_run()
    network.forget("writer")
    while not network.got["writer"]:
        network.sync_stalled("b0")
        network.advance(0.5)
    network.subscribe("late", "t")
    assert network.publish("writer", "t", "moved")
    network.crash("b0")
    network.start("b0")
    network.advance(5)
    assert said(network, "late") == [b"moved"]


def test_a_run_names_what_its_publisher_sent_before_at_another_broker() -> None:
    network = SmallNetwork(5)
    network.connect("writer", "b0", session_expiry_s=60)
    network.connect("far", "b3")
    network.subscribe("far", "t")
    network.publish("writer", "t", "first")
    network.advance(2)
    for target in ("b1", "b3"):
        network.hold(source="b0", target=target)
    network.publish("writer", "t", "slow")
    network.drop("writer")
    network.connect("writer", "b2", session_expiry_s=60, previous_broker="b0")
    network.advance(0.5)
    publish(network, "x")
    for target in ("b1", "b3"):
        network.release(source="b0", target=target)
    network.advance(5)
    assert said(network, "far") == [b"first", b"slow", *ten("x")]


def test_a_run_on_a_detour_takes_no_number_that_another_client_was_promised() -> None:
    network = SmallNetwork(5)
    for client, broker in (("writer", "b0"), ("other", "b0"), ("late", "b3")):
        network.connect(client, broker, session_expiry_s=60)
    network.connect("reader", "b0")
    network.subscribe("reader", "t")
    network.publish("writer", "t", "first")
    network.advance(2)
    network.stall_disk("b0")
    publish(network, "x")
    network.publish("other", "t", "retained", retain=True)
    network.drop("other")
    network.connect("other", "b2", session_expiry_s=60, previous_broker="b0")
    network.advance(0.5)
    network.subscribe("late", "t")
    for source in ("b1", "b2", "b3", "b4"):
        network.hold(source=source, target="b0")
    network.unstall_disk("b0")
    network.publish("other", "t", "moved")
    for source in ("b1", "b2", "b3", "b4"):
        network.release(source=source, target="b0")
    network.advance(5)
    of_other = [one for one in said(network, "late") if one in {b"retained", b"moved"}]
    assert of_other == [b"retained", b"moved"]


def test_a_single_message_comes_between_the_runs_between_which_it_was_published() -> None:
    network = opened(3)
    network.connect("late", "b2")
    network.stall_disk("b0")
    publish(network, "x")
    network.publish("writer", "t", "single")
    publish(network, "y", 20)
    network.subscribe("late", "t")
    network.unstall_disk("b0")
    assert said(network, "reader") == [*ten("x"), b"single", *ten("y")]
    assert answered(network, "writer") == [*range(1, 11), 3, *range(20, 30)]


@pytest.mark.parametrize("size", SIZES)
def test_runs_become_the_packets_of_every_version_and_qos(size: int) -> None:
    payloads = [bytes([number]) * size for number in range(3)]
    for source in (MQTT_3_1_1, MQTT_5):
        run = a_run("ö/t", payloads, 250, source)
        assert numbers(packet_ids(run)) == [250, 251, 252]
        assert pubacks(packet_ids(run)) == b"".join(
            encode(Puback(number), source) for number in (250, 251, 252)
        )
        assert [payload_of(run, place) for place in range(3)] == payloads
        plain = [Publish("ö/t", payload) for payload in payloads]
        assert qos0(run) == b"".join(encode(one, MQTT_3_1_1) for one in plain)
        for target in (MQTT_3_1_1, MQTT_5):
            expected = a_run("ö/t", payloads, 65_533, target).packets
            assert spliced(run, 65_533, is_5=target == MQTT_5) == expected
