"""Room for wills: they are counted when clients connect, so that they can be published."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mqtt import packets
from meshwright.protocol.sessions.deliveries import refusal
from meshwright.protocol.sessions.publishing import BROKERS_OWN, is_system, may_be_published
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.streams.ordering import Ordering

NO_ROOM_FOR_WILL = "too many messages wait for other brokers; try again, or without a will"


class WillQuota:
    """Wills that will be kept for other brokers count among what is kept as soon as they are given.

    These are wills of QoS 1 and 2, and of QoS 0 on topics that have one order. log_length tells how
    much is kept without them, of which log_max is too much.
    """

    def __init__(
        self,
        sessions: Mapping[str, Session],
        log_max: int,
        log_length: Callable[[], int],
        ordering: Ordering,
    ) -> None:
        self._sessions = sessions
        self._log_max = log_max
        self._log_length = log_length
        self._has_order = ordering.takes

    def log_length(self) -> int:
        """How much is kept for the network; near its bound, wills that may have to be included."""
        length = self._log_length()
        if length + len(self._sessions) >= self._log_max:
            length += sum(self._is_kept(one.will) for one in self._sessions.values())
        return length

    def without_system(self, turn: Turn, client: str, packet: packets.Connect) -> packets.Connect:
        """A CONNECT without a will under $SYS, if its version could not be told why it is refused.

        MQTT 3 has no word for that, and its clients would try again for ever.
        """
        will = packet.will
        if will is None or not is_system(will.topic) or packet.protocol_version >= packets.MQTT_5:
            return packet
        turn.report(refusal(client, Publication(client, 0, will.topic), BROKERS_OWN))
        return msgspec.structs.replace(packet, will=None)

    def refusal(self, client: str, packet: packets.Connect) -> packets.Connack | None:
        """Why a client cannot be let in with its will, if so."""
        will = packet.will
        if will is None:
            return None
        if is_system(will.topic):
            return packets.Connack(False, packets.NOT_AUTHORIZED, reason_text=BROKERS_OWN)
        if not may_be_published(will.topic):
            return packets.Connack(False, packets.TOPIC_NAME_INVALID)
        former = self._sessions.get(client)
        is_replaced = former is not None and self._is_kept(former.will) and not packet.clean_start
        if self._is_kept(will) and self.log_length() - is_replaced >= self._log_max:
            return packets.Connack(False, packets.QUOTA_EXCEEDED, reason_text=NO_ROOM_FOR_WILL)
        return None

    def has_room_for(self, will: packets.Will | None) -> bool:
        """True if a session may come here from another broker with its will."""
        return not self._is_kept(will) or self.log_length() < self._log_max

    def _is_kept(self, will: packets.Will | None) -> bool:
        return will is not None and (will.qos > 0 or self._has_order(will.topic))
