"""Runs of messages of QoS 1, as a client writes them together."""

from __future__ import annotations

from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import MQTT_5, Publish, Qos1Run


def a_run(topic: str, payloads: list[bytes], first_id: int, version: int) -> Qos1Run:
    packets = [
        encode(Publish(topic, payload, 1, False, first_id + place), version)
        for place, payload in enumerate(payloads)
    ]
    is_5 = version == MQTT_5
    id_at = len(packets[0]) - len(payloads[0]) - 2 - is_5
    return Qos1Run(topic, b"".join(packets), len(packets), id_at, is_5)
