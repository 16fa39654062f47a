"""What a listener grants its clients."""

from __future__ import annotations

import msgspec

from meshwright.errors import MqttError
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.decoding import PACKET_BYTES_MAX
from meshwright.protocol.mqtt.packets import MQTT_5, NEVER_S, Connect, Publish, Subscribe, Will

QOS_MAX = 2
SHARED = "$share/"


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of each connection; MQTT 5 clients are told of them.

    receive_maximum: unanswered messages of an MQTT 5 client. keep_alive_max_s: 0 for no limit; a
    client of MQTT 3 cannot be told, and is refused if it asks for more. connect_patience_us: how
    long a new connection may take to say CONNECT. payload_bytes_max: of a message; 0 for no limit.
    """

    receive_maximum: int = 1_024
    packet_bytes_max: int = PACKET_BYTES_MAX
    topic_alias_maximum: int = 32
    keep_alive_max_s: int = 0
    session_expiry_max_s: int = NEVER_S
    connect_patience_us: int = 10_000_000
    response_information: str | None = None
    qos_max: int = 2
    retain_available: bool = True
    payload_bytes_max: int = 0
    empty_client_ids: bool = True

    def keep_alive_s(self, connect: Connect) -> int:
        """How often a client must say something; 0 for never."""
        asked_s, most_s = connect.keep_alive_s, self.keep_alive_max_s
        if not most_s or connect.protocol_version != MQTT_5:
            return asked_s
        return min(asked_s, most_s) if asked_s else most_s

    @property
    def limits_messages(self) -> bool:
        """True if not every message that a packet can hold is taken."""
        return self.qos_max < QOS_MAX or not self.retain_available or self.payload_bytes_max > 0

    @property
    def unseen_bytes_max(self) -> int:
        """How large a packet may be that nobody has looked at closely."""
        return min(self.packet_bytes_max, self.payload_bytes_max or self.packet_bytes_max)

    def check_connect(self, connect: Connect) -> None:
        """Refuse a client that asks for what is not offered here and cannot be told so later."""
        if not connect.client_id and not self.empty_client_ids:
            problem = "a client must have an identifier here"
            raise MqttError(packets.CLIENT_IDENTIFIER_NOT_VALID, problem)
        asked_s, most_s = connect.keep_alive_s, self.keep_alive_max_s
        if connect.protocol_version != MQTT_5 and most_s and not 0 < asked_s <= most_s:
            # MQTT 3 has no word for it; this is the one that clients know from Mosquitto.
            problem = f"a keep alive of {asked_s} s is not allowed: it must be 1 to {most_s} s"
            raise MqttError(packets.CLIENT_IDENTIFIER_NOT_VALID, problem)
        if connect.will is not None:
            self.check_message(connect.will)

    def check_message(self, message: Publish | Will) -> None:
        """Refuse a message that is not taken from any client."""
        if message.qos > self.qos_max:
            problem = f"messages of QoS {message.qos} are not taken, only up to {self.qos_max}"
            raise MqttError(packets.QOS_NOT_SUPPORTED, problem)
        if message.retain and not self.retain_available:
            raise MqttError(packets.RETAIN_NOT_SUPPORTED, "no message is retained here")
        if 0 < self.payload_bytes_max < len(message.payload):
            problem = f"a payload has {len(message.payload)} bytes, of {self.payload_bytes_max}"
            raise MqttError(packets.PACKET_TOO_LARGE, problem)

    def granted(self, packet: Subscribe, *, is_bridge: bool) -> Subscribe:
        """What a client asks for, as it is given: no more than the highest QoS.

        A bridge of MQTT 3 cannot say that it wants nothing of its own back, and all as it was
        published; without that, messages would go round in a circle.
        """
        if not is_bridge and self.qos_max == QOS_MAX:
            return packet
        subscriptions = tuple(
            msgspec.structs.replace(
                one,
                qos=min(one.qos, self.qos_max),
                no_local=one.no_local or (is_bridge and not one.filter_text.startswith(SHARED)),
                retain_as_published=one.retain_as_published or is_bridge,
            )
            for one in packet.subscriptions
        )
        return msgspec.structs.replace(packet, subscriptions=subscriptions)

    def session_expiry_s(self, connect: Connect) -> int:
        """How long a session outlives its connection."""
        return min(connect.session_expiry_s, self.session_expiry_max_s)
