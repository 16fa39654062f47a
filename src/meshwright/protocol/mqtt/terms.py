"""What a listener grants its clients."""

from __future__ import annotations

import msgspec

from meshwright.protocol.mqtt.decoding import PACKET_BYTES_MAX
from meshwright.protocol.packets import MQTT_5, Connect
from meshwright.protocol.wills import NEVER_S


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of each connection; MQTT 5 clients are told of them.

    receive_maximum: unanswered messages of an MQTT 5 client. keep_alive_max_s: 0 for no limit; a
    client of MQTT 3 cannot be told, and keeps to its own. connect_patience_us: how long a new
    connection may be silent.
    """

    receive_maximum: int = 1_024
    packet_bytes_max: int = PACKET_BYTES_MAX
    topic_alias_maximum: int = 32
    keep_alive_max_s: int = 0
    session_expiry_max_s: int = NEVER_S
    connect_patience_us: int = 10_000_000
    response_information: str | None = None

    def keep_alive_s(self, connect: Connect) -> int:
        """How often a client must say something; 0 for never."""
        asked_s, most_s = connect.keep_alive_s, self.keep_alive_max_s
        if not most_s or connect.protocol_version != MQTT_5:
            return asked_s
        return min(asked_s, most_s) if asked_s else most_s

    def session_expiry_s(self, connect: Connect) -> int:
        """How long a session outlives its connection."""
        return min(connect.session_expiry_s, self.session_expiry_max_s)
