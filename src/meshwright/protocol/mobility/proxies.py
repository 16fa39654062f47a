"""Clients that are connected at one broker while their session stays at another, their home.

The broker where the client is passes every packet on, both ways, and answers none: home runs the
session as if the client were there. So messages are acknowledged end to end, and publications of a
client enter at home, which keeps their order. If the two lose each other, the client's connection
is closed, and it comes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import CloseClient, Effect, SendClient
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mqtt import packets


class ProxyOpen(PeerMessage, frozen=True, gc=False, tag=124):
    """A client of yours connects here; serial names the connection."""

    counts_as = "mobility"

    client: str
    serial: int
    packet: packets.Connect


class ProxyPacket(PeerMessage, frozen=True, gc=False, tag=125):
    """A packet from a client to its home."""

    counts_as = "mobility"

    client: str
    serial: int
    packet: packets.Packet

    @property
    def is_spare(self) -> bool:
        """QoS 0 promises nothing."""
        return _is_qos0(self.packet)


class ProxyAnswer(PeerMessage, frozen=True, gc=False, tag=126):
    """A packet from home to a client."""

    counts_as = "mobility"

    client: str
    serial: int
    packet: packets.Packet

    @property
    def is_spare(self) -> bool:
        """QoS 0 promises nothing."""
        return _is_qos0(self.packet)


class ProxyDown(PeerMessage, frozen=True, gc=False, tag=127):
    """The client's connection is gone, after a goodbye or not."""

    counts_as = "mobility"

    client: str
    serial: int
    is_clean: bool


class ProxyClosed(PeerMessage, frozen=True, gc=False, tag=128):
    """Home ends the connection."""

    counts_as = "mobility"

    client: str
    serial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What proxies ask of their broker: to treat clients as if they were here, and stay linked."""

    send: Callable[[Turn, str, Any], None]
    is_lost: Callable[[str], bool]
    up: Callable[[Turn, str, packets.Connect], None]
    packet: Callable[[Turn, str, Any], None]
    down: Callable[[Turn, str, bool], None]
    relink: Action


class Proxies:
    """Both roles: for clients here whose home is elsewhere, and the other way round.

    homes: where the home of a client is that is connected here; guests: where a client is whose
    home is here; both with a number of the connection.
    """

    def __init__(self, incarnation: int, inside: Inside) -> None:
        self._inside = inside
        self._serial = incarnation << 32
        self.homes: dict[str, tuple[str, int]] = {}
        self.guests: dict[str, tuple[str, int]] = {}
        self._own_effects: list[Effect] = []

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (
            on(ProxyOpen, self.opened),
            on(ProxyPacket, self.packet_came),
            on(ProxyAnswer, self.answered),
            on(ProxyDown, self.gone),
            on(ProxyClosed, self.closed),
        )

    def peers(self) -> set[str]:
        """Brokers to stay connected with, so that it is known when they die."""
        return {broker for broker, _ in (*self.homes.values(), *self.guests.values())}

    def open(self, turn: Turn, client: str, home: str, packet: packets.Connect) -> None:
        """A client is here whose session is to stay at its home."""
        if self._inside.is_lost(home):
            words = "the session's home cannot be reached now; try again"
            refusal = packets.Connack(False, packets.SERVER_UNAVAILABLE, reason_text=words)
            turn.ask(SendClient(client, refusal))
            turn.ask(CloseClient(client))
            return
        self._serial += 1
        self.homes[client] = (home, self._serial)
        turn.facts.packets_rerouted.tell(turn)
        self._inside.send(turn, home, ProxyOpen(client, self._serial, packet))
        self._inside.relink(turn)

    def local_up(self, turn: Turn, client: str) -> None:
        """A client connects here itself: what connections it had through others are over."""
        guest = self.guests.pop(client, None)
        if guest is not None:
            self._inside.send(turn, guest[0], ProxyClosed(client, guest[1]))
            self._inside.down(turn, client, False)
        self.down(turn, client, is_clean=False)

    def passed_on(self, turn: Turn, client: str, packet: Any) -> bool:
        """Send a client's packet home; False if its home is here."""
        home = self.homes.get(client)
        if home is not None:
            self._inside.send(turn, home[0], ProxyPacket(client, home[1], packet))
        return home is not None

    def down(self, turn: Turn, client: str, *, is_clean: bool) -> bool:
        """Tell home that a client's connection is gone; False if its home is here."""
        home = self.homes.pop(client, None)
        if home is not None:
            turn.facts.packets_rerouted.tell(turn)
            self._inside.send(turn, home[0], ProxyDown(client, home[1], is_clean))
            self._inside.relink(turn)
        return home is not None

    def opened(self, turn: Turn, peer: str, message: ProxyOpen) -> None:
        """A client of this broker is at a peer."""
        former = self.guests.get(message.client)
        if former is not None:
            self._inside.send(turn, former[0], ProxyClosed(message.client, former[1]))
        else:
            self._own_effects.append(CloseClient(message.client))
        self._inside.down(turn, message.client, False)
        self.guests[message.client] = (peer, message.serial)
        self._inside.up(turn, message.client, message.packet)
        self._inside.relink(turn)

    def packet_came(self, turn: Turn, peer: str, message: ProxyPacket) -> None:
        """A packet of a client that is at a peer."""
        if self.guests.get(message.client) == (peer, message.serial):
            self._inside.packet(turn, message.client, message.packet)

    def gone(self, turn: Turn, peer: str, message: ProxyDown) -> None:
        """A client has left a peer."""
        if self.guests.get(message.client) == (peer, message.serial):
            del self.guests[message.client]
            self._inside.down(turn, message.client, message.is_clean)
            self._inside.relink(turn)

    def answered(self, turn: Turn, peer: str, message: ProxyAnswer) -> None:
        """A packet of home for a client that is here."""
        if self.homes.get(message.client) == (peer, message.serial):
            turn.ask(SendClient(message.client, message.packet))

    def closed(self, turn: Turn, peer: str, message: ProxyClosed) -> None:
        """Home ends a client's connection."""
        if self.homes.get(message.client) == (peer, message.serial):
            del self.homes[message.client]
            turn.facts.packets_rerouted.tell(turn)
            turn.ask(CloseClient(message.client))
            self._inside.relink(turn)

    def peer_gone(self, turn: Turn, peer: str) -> None:
        """What was said to a peer is void: end all connections through it."""
        for client in [one for one, (home, _) in self.homes.items() if home == peer]:
            del self.homes[client]
            turn.ask(CloseClient(client))
        turn.facts.packets_rerouted.tell(turn)
        for client in [one for one, (proxy, _) in self.guests.items() if proxy == peer]:
            del self.guests[client]
            self._inside.down(turn, client, False)
        self._inside.relink(turn)

    def redirected(self, turn: Turn) -> list[Effect]:
        """The effects of a step, with what is for guests sent to where they are."""
        effects, turn.effects = turn.effects, []
        redirected: list[SendClient | CloseClient] = []
        for effect in effects:
            if isinstance(effect, SendClient | CloseClient) and effect.client in self.guests:
                redirected.append(effect)
            else:
                turn.effects.append(effect)
        # Only now, as messages to peers are numbered: none may overtake another.
        for effect in redirected:
            self._redirect(turn, effect)
        turn.effects.extend(self._own_effects)
        self._own_effects.clear()
        return turn.effects

    def _redirect(self, turn: Turn, effect: SendClient | CloseClient) -> None:
        guest = self.guests.get(effect.client)
        if guest is None:
            return
        if isinstance(effect, SendClient):
            self._inside.send(turn, guest[0], ProxyAnswer(effect.client, guest[1], effect.packet))
        else:
            del self.guests[effect.client]
            self._inside.send(turn, guest[0], ProxyClosed(effect.client, guest[1]))


def _is_qos0(packet: packets.Packet) -> bool:
    return isinstance(packet, packets.Publish) and not packet.qos
