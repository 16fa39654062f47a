"""One message for many connections: its bytes are made once for each form that they need."""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.protocol.mqtt.encoding import Cut, cut_publish
from meshwright.protocol.mqtt.packets import MQTT_5, Publish
from meshwright.protocol.mqtt.plain_messages import converted

Form = tuple[bool, int, bool, bool, int | None, tuple[int, ...], int, bool]


class FanOut:
    """Remembers the forms of the last message, as long as packets of that message come.

    Packets are of one message if topic, payload and properties are the same objects: a broker
    hands out those of the publication, so no bytes need be compared.
    """

    __slots__ = ("_cuts", "_message", "_run", "_run_of_5")

    def __init__(self) -> None:
        self._message = Publish("")
        self._cuts: dict[Form, Cut] = {}
        self._run = self._run_of_5 = b""

    def run(self, packets: bytes, version: int) -> bytes:
        """Plain messages of MQTT 3.1.1 as a client of a version reads them."""
        if version != MQTT_5:
            return packets
        if packets is not self._run:
            self._run, self._run_of_5 = packets, converted(packets, is_5=False)
        return self._run_of_5

    def cut(self, packet: Publish, version: int, *, alias: int = 0, has_topic: bool = True) -> Cut:
        """A PUBLISH without its packet identifier."""
        message = self._message
        if (
            packet.payload is not message.payload
            or packet.topic is not message.topic
            or packet.properties is not message.properties
            or packet.extras is not message.extras
        ):
            self._message = packet
            self._cuts = {}
        form = (
            version == MQTT_5,
            packet.qos,
            packet.retain,
            packet.is_duplicate,
            packet.expiry_s,
            packet.subscription_ids,
            alias,
            has_topic,
        )
        cut = self._cuts.get(form)
        if cut is None:
            cut = cut_publish(packet, version, alias=alias, has_topic=has_topic)
            self._cuts[form] = cut
        return cut


def encode_for_many(packet: Publish, version: int, packet_ids: Iterable[int]) -> list[bytes]:
    """One message of QoS 1 or 2 for sessions that give it these packet identifiers."""
    head, tail = cut_publish(packet, version)
    return [head + packet_id.to_bytes(2) + tail for packet_id in packet_ids]
