"""A client of others, paho, talks with a real broker over a pair of sockets, in every version."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from mqtt_clients import BytesClient, Server
from paho.mqtt import client as paho
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from meshwright.protocol.mqtt.connection import State
from meshwright.protocol.mqtt.packets import MQTT_3_1, MQTT_3_1_1, MQTT_5
from meshwright.protocol.mqtt.terms import Terms

VERSIONS = (MQTT_3_1, MQTT_3_1_1, MQTT_5)


class PahoClient(paho.Client):
    """paho, whose socket is one end of a pair and whose loop runs when it is told to."""

    def __init__(self, server: Server, name: str, version: int, **options: Any) -> None:
        super().__init__(
            paho.CallbackAPIVersion.VERSION2,
            client_id=name,
            protocol=paho.MQTTProtocolVersion(version),
            **options,
        )
        self.got: list[paho.MQTTMessage] = []
        self.connected: list[Any] = []
        self.granted: list[Any] = []
        self.published: list[int] = []
        self.left: list[Any] = []
        self.on_message = lambda _client, _data, message: self.got.append(message)
        self.on_connect = lambda *answer: self.connected.append(answer[3:])
        self.on_subscribe = lambda *answer: self.granted.append(answer[3])
        self.on_publish = lambda *answer: self.published.append(answer[2])
        self.on_disconnect = lambda *answer: self.left.append(answer[3])
        self.server = server
        self.seat: BytesClient = server.client(version, is_deaf=True)
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)

    def _create_socket(self) -> Any:
        self.theirs.setblocking(False)
        return self.theirs

    def exchange(self) -> bool:
        """Carry all bytes both ways once; True if there were any."""
        while self.want_write():
            self.loop_write()
        came = _received(self.ours)
        if came:
            self.server.take(self.seat, came)
        sent, self.seat.raw = self.seat.raw, b""
        if sent:
            self.ours.sendall(sent)
            for _ in range(100):
                self.loop_read()
        if self.seat.connection.state is State.CLOSED and self.ours.fileno() >= 0:
            self.ours.close()
            self.loop_read()
        return bool(came or sent)


class Company:
    """A server and the paho clients that talk with it."""

    def __init__(self) -> None:
        self.server = Server(Terms(keep_alive_max_s=30))
        self.clients: list[PahoClient] = []

    def client(self, name: str, version: int, **options: Any) -> PahoClient:
        client = PahoClient(self.server, name, version, **options)
        self.clients.append(client)
        return client

    def talk(self) -> None:
        """Until nobody has anything to say."""
        while sum(client.exchange() for client in self.clients):
            pass


@pytest.fixture
def company() -> Iterator[Company]:
    company = Company()
    yield company
    for client in company.clients:
        client.ours.close()
        client.theirs.close()


@pytest.mark.parametrize("version", VERSIONS)
def test_paho_connects_subscribes_and_gets_each_qos_once(company: Company, version: int) -> None:
    client = company.client("c", version)
    client.connect("here", keepalive=30)
    company.talk()
    assert [answer[0].value for answer in client.connected] == [0]
    client.subscribe([("a/#", 2), ("b", 1)])
    company.talk()
    assert [code.value for code in client.granted[0]] == [2, 1]
    for qos in (0, 1, 2):
        client.publish("a/x", f"message {qos}", qos)
    company.talk()
    client.publish("b", b"x" * 70_000, 2)
    company.talk()
    assert [(one.payload[:9], one.qos) for one in client.got] == [
        (b"message 0", 0), (b"message 1", 1), (b"message 2", 2), (b"x" * 9, 1),
    ]  # fmt: skip
    assert len(client.published) == 4
    client.unsubscribe("a/#")
    company.talk()
    client.publish("a/x", b"unheard", 1)
    company.talk()
    assert len(client.got) == 4
    client.disconnect()
    company.talk()
    assert client.seat.is_closed


def test_paho_gets_all_properties_of_mqtt_5(company: Company) -> None:
    client = company.client("", MQTT_5)
    client.connect("here", keepalive=60)
    company.talk()
    _, terms = client.connected[0]
    assert terms.ServerKeepAlive == 30
    assert terms.AssignedClientIdentifier == "assigned-0"
    identified = Properties(PacketTypes.SUBSCRIBE)
    identified.SubscriptionIdentifier = 300
    options = SubscribeOptions(qos=1, retainAsPublished=True)
    client.subscribe("t", options=options, properties=identified)
    company.talk()
    sent = Properties(PacketTypes.PUBLISH)
    sent.PayloadFormatIndicator = 1
    sent.MessageExpiryInterval = 90
    sent.ContentType = "text/plain"
    sent.ResponseTopic = "replies"
    sent.CorrelationData = b"\0key"
    sent.UserProperty = [("b", "1"), ("a", "2"), ("b", "1")]
    client.publish("t", "words", 1, retain=True, properties=sent)
    company.talk()
    (got,) = client.got
    assert got.retain
    assert got.properties is not None
    wanted = sent.json() | {"SubscriptionIdentifier": [300]}
    assert got.properties.json() == wanted


def test_paho_resumes_its_session_and_is_taken_over(company: Company) -> None:
    lasting = {"clean_session": False}
    first = company.client("c", MQTT_3_1_1, **lasting)
    first.connect("here", keepalive=30)
    company.talk()
    first.subscribe("t", 1)
    company.talk()
    second = company.client("c", MQTT_3_1_1, **lasting)
    second.connect("here", keepalive=30)
    company.talk()
    assert second.connected[0][0].value == 0
    assert first.seat.is_closed
    second.publish("t", b"still there", 1)
    company.talk()
    assert [one.payload for one in second.got] == [b"still there"]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_will_of_paho_is_published_when_it_vanishes(company: Company, version: int) -> None:
    mortal, reader = company.client("m", version), company.client("r", MQTT_5)
    mortal.will_set("will", b"gone", 1)
    for client in (mortal, reader):
        client.connect("here", keepalive=30)
    company.talk()
    reader.subscribe("will", 1)
    company.talk()
    company.server.cause(mortal.seat.connection.lost())
    company.server.hear()
    company.talk()
    assert [one.payload for one in reader.got] == [b"gone"]


def _received(end: socket.socket) -> bytes:
    if end.fileno() < 0:
        return b""
    parts = []
    while True:
        try:
            part = end.recv(65_536)
        except BlockingIOError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)
