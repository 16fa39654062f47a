"""A real broker and clients that speak bytes to it, joined without a socket."""

from __future__ import annotations

from typing import Any

from small_network import SmallNetwork

from meshwright.protocol.foundation.effects import CloseClient, SendClient
from meshwright.protocol.foundation.events import Event
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.connection import Connection, State
from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.fan_out import FanOut
from meshwright.protocol.mqtt.packets import MQTT_5
from meshwright.protocol.mqtt.terms import Terms
from meshwright.protocol.mqtt.topic_texts import TopicTexts


class Server(SmallNetwork):
    """One broker behind connections of bytes; happened: all that clients caused at the broker."""

    def __init__(self, terms: Terms | None = None) -> None:
        self.terms = terms or Terms()
        self.topics = TopicTexts()
        self.fan_out = FanOut()
        self.clients: list[BytesClient] = []
        self.named: dict[str, BytesClient] = {}
        self.happened: list[Event] = []
        super().__init__(1)

    def client(
        self, version: int = MQTT_5, *, alias_max: int = 0, is_deaf: bool = False
    ) -> BytesClient:
        self.clients.append(BytesClient(self, version, alias_max, is_deaf=is_deaf))
        return self.clients[-1]

    def take(self, client: BytesClient, block: bytes) -> None:
        """Bytes of a client; whoever asks is admitted, and then who had its name is not."""
        connection = client.connection
        self.cause(connection.receive(self.now_us, block))
        if connection.state is State.ASKING:
            former = self.named.get(connection.client)
            if former is not None:
                self.cause(former.connection.close(packets.SESSION_TAKEN_OVER))
            self.named[connection.client] = client
            self.cause([connection.accept()])
        self.hear()

    def cause(self, events: list[Event]) -> None:
        self.happened += events
        self.queue.extend(("b0", event) for event in events)
        self.run()

    def later(self, seconds: float) -> None:
        """Let time go by, for the broker's timers and for every connection's deadline."""
        self.advance(seconds)
        for client in self.clients:
            self.cause(client.connection.expire(self.now_us))
        self.hear()

    def hear(self) -> None:
        for client in self.clients:
            client.hear()

    def _do(self, broker: str, effect: Any) -> None:
        if isinstance(effect, SendClient):
            answers = self.named[effect.client].connection.send(effect.packet)
            self.happened += answers
            self.queue.extend((broker, answer) for answer in answers)
        elif isinstance(effect, CloseClient):
            self.named[effect.client].connection.hang_up()
        else:
            super()._do(broker, effect)


class BytesClient:
    """heard: packets from the server, unless the client is deaf to them; raw: their bytes."""

    def __init__(self, server: Server, version: int, alias_max: int, *, is_deaf: bool) -> None:
        self.server = server
        self.version = version
        self.heard: list[Any] = []
        self.raw = b""
        self._alias_max = alias_max
        self._is_deaf = is_deaf
        self._decoder = Decoder(version, is_server=False, topic_alias_maximum=alias_max)
        self.connection = Connection(
            server.terms,
            server.now_us,
            assigned_client_id=f"assigned-{len(server.clients)}",
            topics=server.topics,
            fan_out=server.fan_out,
        )

    @property
    def is_closed(self) -> bool:
        return self.connection.state is State.CLOSED

    def say(self, *said: packets.Packet | bytes) -> list[Any]:
        """Send packets or bytes in one block; returns what came back."""
        blocks = [one if isinstance(one, bytes) else encode(one, self.version) for one in said]
        before = len(self.heard)
        self.server.take(self, b"".join(blocks))
        return self.heard[before:]

    def connect(self, client_id: str, **options: Any) -> Any:
        """Say CONNECT; returns the answer, if there is one."""
        answers = self.say(self.connect_packet(client_id, **options))
        return answers[0] if answers else None

    def connect_packet(self, client_id: str, **options: Any) -> packets.Connect:
        return packets.Connect(
            client_id=client_id,
            protocol_version=self.version,
            topic_alias_maximum=self._alias_max,
            **options,
        )

    def subscribe(self, text: str, qos: int = 0, **options: Any) -> tuple[int, ...]:
        subscription = packets.Subscription(text, qos, **options)
        (suback,) = (
            one
            for one in self.say(packets.Subscribe(1, (subscription,)))
            if isinstance(one, packets.Suback)
        )
        return suback.reasons

    def publish(
        self, topic: str, payload: bytes = b"", qos: int = 0, packet_id: int = 0, **options: Any
    ) -> list[Any]:
        return self.say(packets.Publish(topic, payload, qos, packet_id=packet_id, **options))

    def messages(self) -> list[packets.Publish]:
        return [one for one in self.heard if isinstance(one, packets.Publish)]

    def hear(self) -> None:
        raw = self.connection.flush()
        self.raw += raw
        if self._is_deaf:
            return
        self.heard += self._decoder.take(raw)
        assert self._decoder.fault is None, self._decoder.fault
