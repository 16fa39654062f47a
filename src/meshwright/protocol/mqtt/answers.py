"""What a server says to a client in the client's version and within the client's limits."""

from __future__ import annotations

import msgspec

from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.decoding import PACKET_BYTES_MAX
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import MQTT_3_1, MQTT_5
from meshwright.protocol.mqtt.terms import Terms

# MQTT 3 has a server answer what it does not allow as if it had taken it.
ANSWERED_ANYWAY = (packets.NOT_AUTHORIZED,)
WORDY = (
    packets.Puback | packets.Pubrec | packets.Pubrel | packets.Pubcomp | packets.Suback
    | packets.Unsuback
)  # fmt: skip


def connack_for(
    packet: packets.Connack,
    terms: Terms,
    connect: packets.Connect,
    assigned_client_id: str | None,
) -> packets.Connack:
    """The broker's consent with all that the client must know; MQTT 3 says none of it."""
    keep_alive_s = terms.keep_alive_s(connect)
    expiry_s = terms.session_expiry_s(connect)
    size = terms.packet_bytes_max
    asks = connect.request_response_information
    return msgspec.structs.replace(
        packet,
        session_expiry_s=expiry_s if expiry_s != connect.session_expiry_s else None,
        receive_maximum=terms.receive_maximum,
        maximum_packet_size=size if size < PACKET_BYTES_MAX else None,
        assigned_client_id=assigned_client_id,
        topic_alias_maximum=terms.topic_alias_maximum,
        maximum_qos=terms.qos_max,
        retain_available=terms.retain_available,
        server_keep_alive_s=keep_alive_s if keep_alive_s != connect.keep_alive_s else None,
        response_information=terms.response_information if asks else None,
    )


def is_unsayable(packet: packets.Packet, version: int) -> bool:
    """True if MQTT 3 has no word for a refusal, and to consent would lose messages."""
    if isinstance(packet, packets.Suback):
        refusals = (reason for reason in packet.reasons if reason >= packets.UNSPECIFIED_ERROR)
        return version == MQTT_3_1 and any(one not in ANSWERED_ANYWAY for one in refusals)
    return (
        version != MQTT_5
        and isinstance(packet, packets.Puback | packets.Pubrec)
        and packet.reason >= packets.UNSPECIFIED_ERROR
        and packet.reason not in ANSWERED_ANYWAY
    )


def without_words(packet: packets.Packet) -> packets.Packet:
    """An answer without reason text and user properties, for who does not want to read them."""
    if isinstance(packet, WORDY) and (packet.reason_text is not None or packet.properties):
        return msgspec.structs.replace(packet, reason_text=None, properties=())
    return packet


def fitting(packet: packets.Packet, version: int, bytes_max: int) -> bytes:
    """A packet as bytes that the client takes: its words are left out if they are too many."""
    raw = encode(packet, version)
    if bytes_max and len(raw) > bytes_max and hasattr(packet, "reason_text"):
        raw = encode(msgspec.structs.replace(packet, reason_text=None, properties=()), version)
    return raw
