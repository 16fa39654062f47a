"""Which reason codes stand in which packet, and what of them earlier versions can say."""

from __future__ import annotations

from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import MQTT_5

CONNACK_REASONS = frozenset(
    {
        0x00, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, *range(0x99, 0x9E), 0x9F,
    }
)  # fmt: skip
PUBLISH_REASONS = frozenset({0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99})
RELEASE_REASONS = frozenset({0x00, 0x92})
SUBACK_REASONS = frozenset({0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2})
UNSUBACK_REASONS = frozenset({0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91})
DISCONNECT_REASONS = frozenset(
    {
        0x00, 0x04, *range(0x80, 0x84), 0x87, 0x89, *range(0x8B, 0x91), *range(0x93, 0xA3),
    }
)  # fmt: skip
AUTH_REASONS = frozenset({0x00, 0x18, 0x19})

# What CONNACK says in MQTT 3, and the reason that is nearest to it.
RETURN_CODES = {
    0: packets.SUCCESS,
    1: packets.UNSUPPORTED_PROTOCOL_VERSION,
    2: packets.CLIENT_IDENTIFIER_NOT_VALID,
    3: packets.SERVER_UNAVAILABLE,
    4: packets.BAD_USER_NAME_OR_PASSWORD,
    5: packets.NOT_AUTHORIZED,
}
_RETURN_CODE_OF = {
    **{reason: code for code, reason in RETURN_CODES.items()},
    packets.SERVER_BUSY: 3,
    packets.BANNED: 5,
    packets.BAD_AUTHENTICATION_METHOD: 5,
    packets.QUOTA_EXCEEDED: 3,
    packets.USE_ANOTHER_SERVER: 3,
    packets.SERVER_MOVED: 3,
    packets.CONNECTION_RATE_EXCEEDED: 3,
    packets.UNSPECIFIED_ERROR: 3,
    packets.IMPLEMENTATION_SPECIFIC_ERROR: 3,
}


def return_code(reason: int, version: int) -> int | None:
    """How CONNACK gives a reason; None if it cannot, and the connection is only closed."""
    return reason if version == MQTT_5 else _RETURN_CODE_OF.get(reason)
