"""What passes by the core must be what would have come out of it, and be counted so."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lines_without_sockets import DullLine, LineClient, one_broker, settle

from meshwright.live.clients.client_line import ClientLine
from meshwright.live.clients.listener import Listener
from meshwright.live.settings import LimitSettings
from meshwright.live.telemetry.trace import TraceRecorder
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import (
    MQTT_3_1_1,
    MQTT_5,
    Packet,
    Puback,
    Publish,
    Subscribe,
    Subscription,
    Unsubscribe,
)

TOPICS = ("a", "a/b", "ö/ä", "x" * 200)
FILTERS = ("a", "a/#", "+/b", "#", "a/b", "ö/ä", "$share/g/a/b", "$where/colour=red/a/b")
PUBLISHERS = 2
SUBSCRIBERS = 3
# Stands for 20,000 bytes, so that a failure can be read.
LARGE = b"large"


class Said(NamedTuple):
    """Packets of one client in one go, cut into pieces at some places.

    cuts: None if every packet comes alone, and is dealt with before the next. is_answered: then all
    answer what they have got of QoS 1.
    """

    client: int
    packets: tuple[Packet, ...]
    cuts: tuple[float, ...] | None
    is_answered: bool


class Ground(NamedTuple):
    """How many messages readers take at a time, and whether runs are written before they go."""

    window: int
    writes_runs: bool


class Outcome(NamedTuple):
    """What every subscriber read of each publisher and topic, and what was counted."""

    read: Any
    counted: Any


payloads = st.binary(max_size=4) | st.sampled_from([b"y" * 90, LARGE])
plain = st.builds(Publish, st.sampled_from(TOPICS), payloads)
special = st.builds(
    Publish,
    st.sampled_from(TOPICS),
    payloads,
    st.integers(0, 1),
    st.booleans(),
    st.integers(1, 65_535),
    properties=st.sampled_from([(), (("colour", "red"),)]),
)
promised = st.builds(
    Publish, st.sampled_from(TOPICS), payloads, st.just(1), st.just(False), st.integers(1, 65_535)
)
messages = st.one_of(
    *[st.lists(plain, min_size=1, max_size=8)] * 2,
    *[st.lists(promised, min_size=1, max_size=8)] * 2,
    st.lists(plain | promised | special, min_size=1, max_size=8),
)
subscriptions = st.builds(
    Subscription,
    st.sampled_from(FILTERS),
    st.integers(0, 1),
    identifier=st.sampled_from([0, 0, 0, 7]),
    no_local=st.sampled_from([False, False, True]),
    retain_as_published=st.booleans(),
)
wishes = st.builds(lambda one: Subscribe(1, (one,)), subscriptions) | st.builds(
    lambda text: Unsubscribe(2, (text,)), st.sampled_from(FILTERS)
)
cuts = st.lists(st.floats(0, 1), max_size=4).map(tuple)
publishing = st.builds(
    Said,
    st.integers(0, PUBLISHERS - 1),
    messages.map(lambda run: tuple(run * 3)),
    cuts,
    st.booleans(),
)
subscribing = st.builds(
    Said,
    st.integers(PUBLISHERS - 1, PUBLISHERS + SUBSCRIBERS - 1),
    wishes.map(lambda one: (one,)),
    cuts,
    st.booleans(),
)
first_subscriptions = st.builds(
    Subscription,
    st.sampled_from(FILTERS[:6]),
    st.sampled_from([0, 1, 1, 1]),
    identifier=st.sampled_from([0, 0, 0, 9]),
)
first_wishes = st.builds(
    lambda client, one: Said(client, (Subscribe(1, (one,)),), (), False),
    st.integers(PUBLISHERS, PUBLISHERS + SUBSCRIBERS - 1),
    first_subscriptions,
)
scripts = st.builds(
    list.__add__,
    st.lists(first_wishes, min_size=1, max_size=3),
    st.lists(publishing | subscribing, min_size=4, max_size=12),
)
# One reader of almost everything, and who writes to it waits for every answer, mostly.
steps = st.builds(
    lambda client, one, is_answered: Said(client, (one,) * 4, None, is_answered),
    st.integers(0, PUBLISHERS - 1),
    plain | promised | promised,
    st.sampled_from([True, True, False]),
)
lock_steps = st.builds(
    lambda wish, said: [Said(PUBLISHERS, (Subscribe(1, (wish,)),), (), False), *said],
    st.builds(Subscription, st.sampled_from(["#", "a/#"]), st.sampled_from([0, 1, 1, 1])),
    st.lists(st.one_of(*[steps] * 4, publishing, subscribing), min_size=4, max_size=8),
)
versions = st.tuples(*[st.sampled_from([MQTT_3_1_1, MQTT_5])] * (PUBLISHERS + SUBSCRIBERS))


@settings(max_examples=80, deadline=None)
@given(scripts, versions, st.builds(Ground, st.sampled_from([2, 65_535]), st.booleans()))
def test_the_fast_lane_hands_on_what_the_core_would(
    script: list[Said], spoken: tuple[int, ...], ground: Ground
) -> None:
    fast, dull = (
        asyncio.run(_outcome(kind, script, spoken, ground)) for kind in (ClientLine, DullLine)
    )
    assert fast == dull


@settings(max_examples=40, deadline=None)
@given(lock_steps, st.sampled_from([MQTT_3_1_1, MQTT_5]), st.sampled_from([2, 65_535]))
def test_what_comes_alone_is_handed_on_as_the_core_would(
    script: list[Said], version: int, window: int
) -> None:
    spoken, ground = (version,) * (PUBLISHERS + SUBSCRIBERS), Ground(window, writes_runs=False)
    fast, dull = (
        asyncio.run(_outcome(kind, script, spoken, ground)) for kind in (ClientLine, DullLine)
    )
    assert fast == dull


async def _outcome(
    kind: type[ClientLine], script: list[Said], spoken: tuple[int, ...], ground: Ground
) -> Outcome:
    with TemporaryDirectory() as folder:
        async with one_broker(Path(folder), writes_runs=ground.writes_runs) as listener:
            meter = listener.host.meter
            meter.trace = trace = TraceRecorder(Path(folder), "b0", 1)
            clients = await _connected(listener, kind, spoken, ground.window)
            for said in script:
                client = clients[said.client]
                for block in _blocks(said, client.version):
                    client.feed(block)
                    if said.cuts is None:
                        await settle()
                await settle()
                while client.transport.is_paused:
                    await asyncio.sleep(0.001)
                await settle()
                if said.is_answered:
                    await _all_answered(clients, ground.window)
            await _all_answered(clients, ground.window)
            sequences = [
                listener.host.shortcuts.find(0, f"c{number}", "a") for number in range(PUBLISHERS)
            ]
            counted = (
                meter.received_messages,
                meter.received_bytes,
                meter.sent_messages,
                meter.sent_bytes,
                [None if one is None else one.session.sequence for one in sequences],
                sorted(row[1:] for row in trace.gathered()["publications"]),
            )
            return Outcome([_by_line(client) for client in clients], counted)


def _blocks(said: Said, version: int) -> list[bytes]:
    encoded = [encode(_marked(one, said.client), version) for one in said.packets]
    if said.cuts is None:
        return encoded
    raw = b"".join(encoded)
    places = sorted(int(share * len(raw)) for share in said.cuts)
    return [raw[start:stop] for start, stop in pairwise([0, *places, len(raw)]) if start < stop]


async def _all_answered(clients: list[LineClient], window: int) -> None:
    while counts := {client: count for client in clients if (count := client.answer_all())}:
        # Only clients of MQTT 5 can say how many they take.
        assert all(count <= window for client, count in counts.items() if client.version == MQTT_5)
        await settle()


def _marked(packet: Packet, client: int) -> Packet:
    """A message that tells its publisher and QoS, for each of which there is an order."""
    if not isinstance(packet, Publish):
        return packet
    payload = b"w" * 20_000 if packet.payload == LARGE else packet.payload
    return msgspec.structs.replace(packet, payload=b"%d%d" % (client, packet.qos) + payload)


async def _connected(
    listener: Listener, kind: type[ClientLine], spoken: tuple[int, ...], window: int
) -> list[LineClient]:
    clients = [LineClient(listener, kind, version) for version in spoken]
    for number, client in enumerate(clients):
        await client.connect(f"c{number}", receive_maximum=window)
    # Only the first message on a topic always goes the whole way.
    clients[0].say(*[Publish(topic) for topic in TOPICS])
    await settle()
    return clients


def _by_line(client: LineClient) -> dict[Any, list[Any]]:
    """What a client read, by what has an order; the identifiers of packets are as they come."""
    read: dict[Any, list[Any]] = {}
    for packet in client.read():
        if isinstance(packet, Publish):
            one = (
                packet.payload[:100], packet.qos, packet.retain, packet.properties,
                packet.subscription_ids,
            )  # fmt: skip
            read.setdefault(_line_of(packet), []).append(one)
        else:
            read.setdefault(type(packet), []).append(packet)
    # A message that is to be retained is answered later than those after it on other topics.
    read.get(Puback, []).sort(key=lambda one: int(one.packet_id))
    return read


def _line_of(packet: Publish) -> Any:
    """In which order a message has its place: that of its publisher, whatever the topic.

    What waits for a reader's answers may be overtaken by QoS 0. What is retained, or may come by a
    shared subscription, comes with no other order than that of its topic.
    """
    if packet.retain or packet.topic == TOPICS[1]:
        return packet.topic, packet.payload[:2]
    return packet.payload[:1], packet.qos > 0


@pytest.mark.parametrize("version", [MQTT_3_1_1, MQTT_5])
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("writes_runs", [False, True])
def test_who_subscribes_in_the_same_write_after_messages_gets_none_of_them(
    tmp_path: Path, version: int, qos: int, *, writes_runs: bool
) -> None:
    async def story() -> None:
        async with one_broker(tmp_path, writes_runs=writes_runs) as listener:
            clients = [LineClient(listener, ClientLine, version) for _ in range(10)]
            for number, client in enumerate(clients):
                await client.connect(f"c{number}")
                early = [Publish("t", b"early", qos, False, one) for one in (1, 2)]
                client.say(*early, Subscribe(3, (Subscription("t", 2),)))
                await settle()
                client.say(Publish("t", b"late", qos, False, 4))
                await settle()
            for number, client in enumerate(clients):
                read = [one.payload for one in client.read() if isinstance(one, Publish)]
                assert read[:1] == [b"late"]
                assert read.count(b"late") == len(clients) - number

    asyncio.run(story())


def test_a_burst_on_a_new_topic_waits_on_the_wire_and_nothing_is_lost(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as listener:
            reader = LineClient(listener, ClientLine, MQTT_3_1_1)
            await reader.connect("reader")
            reader.say(Subscribe(1, (Subscription("#"),)))
            await settle()
            writer = LineClient(listener, ClientLine, MQTT_3_1_1)
            await writer.connect("writer")
            burst = [Publish("new", b"%d" % number) for number in range(5_000)]
            writer.say(*burst)
            assert writer.transport.is_paused
            async with asyncio.timeout(10):
                while writer.transport.is_paused:
                    await asyncio.sleep(0.001)
            await settle()
            read = [packet for packet in reader.read() if isinstance(packet, Publish)]
            assert read == burst

    asyncio.run(story())


def test_a_reader_that_does_not_read_is_dropped_messages_that_are_counted(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as listener:
            reader = LineClient(listener, ClientLine, MQTT_5)
            await reader.connect("reader")
            writer = LineClient(listener, ClientLine, MQTT_5)
            await writer.connect("writer")
            reader.say(Subscribe(1, (Subscription("#"),)))
            await settle()
            writer.say(Publish("a"))
            await settle()
            reader.line.pause_writing()
            writer.say(*[Publish("a")] * 7)
            await settle()
            reader.line.resume_writing()
            writer.say(Publish("a", b"last"))
            await settle()
            read = [packet for packet in reader.read() if isinstance(packet, Publish)]
            assert [packet.payload for packet in read] == [b"", b"last"]
            assert reader.line.dropped_count == 7
            assert listener.host.meter.received_messages[0] == 9
            assert listener.host.meter.sent_messages[0] == 2

    asyncio.run(story())


def test_rules_hold_for_messages_that_pass_by_the_core(tmp_path: Path) -> None:
    async def story() -> None:
        rules = tmp_path / "rules"
        rules.write_text("topic readwrite a/#\n")
        async with one_broker(tmp_path / "disk", rules=rules) as listener:
            reader = LineClient(listener, ClientLine, MQTT_3_1_1)
            await reader.connect("reader")
            reader.say(Subscribe(1, (Subscription("a/#"),)))
            await settle()
            writer = LineClient(listener, ClientLine, MQTT_3_1_1)
            await writer.connect("writer")
            for _ in range(3):
                writer.say(Publish("a/1"), Publish("b"), Publish("a/2"))
                await settle()
            read = [packet.topic for packet in reader.read() if isinstance(packet, Publish)]
            assert read == ["a/1", "a/2"] * 3

    asyncio.run(story())


def test_a_packet_that_is_too_large_ends_the_connection_after_what_came_before_it(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        limits = LimitSettings(packet_bytes_max=1_000)
        async with one_broker(tmp_path, limits=limits) as listener:
            writer = LineClient(listener, ClientLine, MQTT_5)
            await writer.connect("writer")
            writer.say(Subscribe(1, (Subscription("#"),)))
            await settle()
            writer.say(Publish("a"))
            await settle()
            writer.say(Publish("a", b"x" * 900), Publish("a", b"y" * 1_100), Publish("a", b"z"))
            await settle()
            read = [packet.payload for packet in writer.read() if isinstance(packet, Publish)]
            assert read == [b"", b"x" * 900]
            assert writer.transport.is_closed

    asyncio.run(story())


def test_without_a_disk_a_message_of_qos_1_is_through_once_it_was_read(tmp_path: Path) -> None:
    async def story() -> None:
        async with one_broker(tmp_path) as listener:
            reader = LineClient(listener, ClientLine, MQTT_5)
            await reader.connect("reader", receive_maximum=2)
            reader.say(Subscribe(1, (Subscription("#", 1),)))
            await settle()
            writer = LineClient(listener, ClientLine, MQTT_3_1_1)
            await writer.connect("writer")
            writer.say(Publish("a", b"0", 1, False, 1))
            await settle()
            reader.answer_all()
            for number in (1, 2):
                writer.say(Publish("a", b"%d" % number, 1, False, number))
                assert reader.read()[-1].payload == b"%d" % number
                assert writer.read()[-1] == Puback(number)
            # The rest waits for its turn, in order.
            for number in (3, 4, 5):
                writer.say(Publish("a", b"%d" % number, 1, False, number))
                await settle()
            while reader.answer_all():
                await asyncio.sleep(0.01)
            read = [packet.payload for packet in reader.read() if isinstance(packet, Publish)]
            assert read == [b"%d" % number for number in range(6)]

    asyncio.run(story())
