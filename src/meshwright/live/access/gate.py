"""Stands between a client and the broker, and answers for the broker what is not allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from meshwright.errors import FilterError
from meshwright.filters.filter import parse_filter
from meshwright.live.access.doorman import Doorman
from meshwright.protocol.mqtt import packets

NOT_ALLOWED = "not allowed for this client"


class Gate:
    """The rules of one client at work, by its name; they may change while it is connected.

    answer sends the client a packet. refused_count: messages and subscriptions that were refused.
    """

    def __init__(
        self, doorman: Doorman, client: str, answer: Callable[[packets.Packet], None]
    ) -> None:
        self.refused_count = 0
        self._doorman = doorman
        self._client = client
        self._answer = answer
        # Which filters of a SUBSCRIBE under way were kept from the broker.
        self._kept_back: dict[int, list[bool]] = {}

    def may_write(self, topic: str) -> bool:
        """True if the client may publish on a topic."""
        return self._doorman.may_write(self._client, topic)

    def may_read(self, topic: str) -> bool:
        """True if the client may get messages of a topic."""
        return self._doorman.may_read(self._client, topic)

    def passes(self, packet: Any) -> Any:
        """The packet as the broker may see it; None if it was answered here."""
        if type(packet) is packets.Publish:
            return packet if self.may_write(packet.topic) else self._refuse_publish(packet)
        if isinstance(packet, packets.Subscribe):
            return self._passes_subscribe(packet)
        return packet

    def answered(self, packet: packets.Suback) -> packets.Suback:
        """The broker's answer together with what was refused here."""
        kept_back = self._kept_back.pop(packet.packet_id, None)
        if kept_back is None:
            return packet
        granted = iter(packet.reasons)
        reasons = [packets.NOT_AUTHORIZED if held else next(granted) for held in kept_back]
        return msgspec.structs.replace(packet, reasons=tuple(reasons))

    def allows_will(self, will: packets.Will | None) -> bool:
        """True if a client may have such a will."""
        return will is None or self.may_write(will.topic)

    def _passes_subscribe(self, packet: packets.Subscribe) -> packets.Subscribe | None:
        kept_back = [not self._may_subscribe(one.filter_text) for one in packet.subscriptions]
        if not any(kept_back):
            return packet
        self.refused_count += sum(kept_back)
        passing = tuple(
            one for one, held in zip(packet.subscriptions, kept_back, strict=True) if not held
        )
        if not passing:
            reasons = (packets.NOT_AUTHORIZED,) * len(kept_back)
            self._answer(packets.Suback(packet.packet_id, reasons))
            return None
        self._kept_back[packet.packet_id] = kept_back
        return msgspec.structs.replace(packet, subscriptions=passing)

    def _may_subscribe(self, text: str) -> bool:
        try:
            wanted = parse_filter(text)
        except FilterError:
            return True  # the broker says what is wrong with it
        rules = self._doorman.rules_of(self._client)
        # Of a group, what one member may not read would be lost to all.
        if self._doorman.refuses_parts or wanted.group is not None:
            return rules.may_read_all(wanted)
        return rules.may_read_some(wanted)

    def _refuse_publish(self, packet: packets.Publish) -> None:
        self.refused_count += 1
        if packet.qos:
            kind = packets.Puback if packet.qos == 1 else packets.Pubrec
            self._answer(kind(packet.packet_id, packets.NOT_AUTHORIZED, NOT_ALLOWED))
