"""Proxies: a client is connected at one broker while its session stays at another, its home.

The broker where the client is connected, the proxy, passes every packet on in both directions and
answers none itself; home runs the session as if the client were connected there. So messages are
acknowledged end to end, and the client's publications enter at home, which keeps their order. If
the two brokers lose each other, the client's connection is closed, and it must connect again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import CloseClient, Effect, SendClient
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.serials import serials
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mqtt import packets


class ProxyOpen(PeerMessage, frozen=True, gc=False, tag=124):
    """A client has connected to the proxy; serial names the connection."""

    counts_as = "mobility"

    client: str
    serial: int
    packet: packets.Connect


class ProxyPacket(PeerMessage, frozen=True, gc=False, tag=125):
    """The proxy passes on a packet of the client to its home."""

    counts_as = "mobility"

    client: str
    serial: int
    packet: packets.Packet

    @property
    def is_spare(self) -> bool:
        """True for QoS 0, which may be left out when a peer does not keep up."""
        return _is_qos0(self.packet)


class ProxyAnswer(PeerMessage, frozen=True, gc=False, tag=126):
    """Home sends the proxy a packet for the client."""

    counts_as = "mobility"

    client: str
    serial: int
    packet: packets.Packet

    @property
    def is_spare(self) -> bool:
        """True for QoS 0, which may be left out when a peer does not keep up."""
        return _is_qos0(self.packet)


class ProxyDown(PeerMessage, frozen=True, gc=False, tag=127):
    """The client's connection to the proxy is gone; is_clean: after a DISCONNECT."""

    counts_as = "mobility"

    client: str
    serial: int
    is_clean: bool


class ProxyClosed(PeerMessage, frozen=True, gc=False, tag=128):
    """Home closes the client's connection."""

    counts_as = "mobility"

    client: str
    serial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """What proxies need of the rest of the broker.

    up, packet, down: treat a client elsewhere as if it connected, sent a packet or left here.
    relink: recomputes with which brokers to stay connected.
    """

    send: Callable[[Turn, str, Any], None]
    is_lost: Callable[[str], bool]
    up: Callable[[Turn, str, packets.Connect], None]
    packet: Callable[[Turn, str, Any], None]
    down: Callable[[Turn, str, bool], None]
    relink: Action


class Proxies:
    """Both roles of a broker: proxy of clients here, and home of clients elsewhere.

    homes: for each client connected here whose home is elsewhere, its home and the connection's
        serial.
    guests: for each client elsewhere whose home is here, its proxy and the connection's serial.
    """

    def __init__(self, incarnation: int, inside: Inside) -> None:
        self._inside = inside
        self._serials = serials(incarnation)
        self.homes: dict[str, tuple[str, int]] = {}
        self.guests: dict[str, tuple[str, int]] = {}
        self._own_effects: list[Effect] = []

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(ProxyOpen, self.opened),
            on(ProxyPacket, self.packet_came),
            on(ProxyAnswer, self.answered),
            on(ProxyDown, self.gone),
            on(ProxyClosed, self.closed),
        )

    def peers(self) -> set[str]:
        """The brokers to stay connected with, so that it is noticed when they die."""
        return {broker for broker, _ in (*self.homes.values(), *self.guests.values())}

    def open(self, turn: Turn, client: str, home: str, packet: packets.Connect) -> None:
        """Let a client in whose session stays at its home."""
        if self._inside.is_lost(home):
            words = "the session's home cannot be reached now; try again"
            refusal = packets.Connack(False, packets.SERVER_UNAVAILABLE, reason_text=words)
            turn.ask(SendClient(client, refusal))
            turn.ask(CloseClient(client))
            return
        serial = next(self._serials)
        self.homes[client] = (home, serial)
        turn.facts.packets_rerouted.tell(turn)
        self._inside.send(turn, home, ProxyOpen(client, serial, packet))
        self._inside.relink(turn)

    def local_up(self, turn: Turn, client: str) -> None:
        """A client has connected here: end its connections through other brokers."""
        guest = self.guests.pop(client, None)
        if guest is not None:
            self._inside.send(turn, guest[0], ProxyClosed(client, guest[1]))
            self._inside.down(turn, client, False)
        self.down(turn, client, is_clean=False)

    def passed_on(self, turn: Turn, client: str, packet: Any) -> bool:
        """Send a client's packet to its home; False if its home is here."""
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
        """A client whose home is here has connected to a peer."""
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
        """A packet has come from a client that is connected to a peer."""
        if self.guests.get(message.client) == (peer, message.serial):
            self._inside.packet(turn, message.client, message.packet)

    def gone(self, turn: Turn, peer: str, message: ProxyDown) -> None:
        """A client whose home is here has left a peer."""
        if self.guests.get(message.client) == (peer, message.serial):
            del self.guests[message.client]
            self._inside.down(turn, message.client, message.is_clean)
            self._inside.relink(turn)

    def answered(self, turn: Turn, peer: str, message: ProxyAnswer) -> None:
        """Home has sent a packet for a client that is connected here."""
        if self.homes.get(message.client) == (peer, message.serial):
            turn.ask(SendClient(message.client, message.packet))

    def closed(self, turn: Turn, peer: str, message: ProxyClosed) -> None:
        """Home closes a client's connection."""
        if self.homes.get(message.client) == (peer, message.serial):
            del self.homes[message.client]
            turn.facts.packets_rerouted.tell(turn)
            turn.ask(CloseClient(message.client))
            self._inside.relink(turn)

    def peer_gone(self, turn: Turn, peer: str) -> None:
        """The conversation with a peer ended: end all connections through it."""
        for client in [one for one, (home, _) in self.homes.items() if home == peer]:
            del self.homes[client]
            turn.ask(CloseClient(client))
        turn.facts.packets_rerouted.tell(turn)
        for client in [one for one, (proxy, _) in self.guests.items() if proxy == peer]:
            del self.guests[client]
            self._inside.down(turn, client, False)
        self._inside.relink(turn)

    def redirected(self, turn: Turn) -> list[Effect]:
        """The step's effects, with those for guests turned into messages to their proxies."""
        effects, turn.effects = turn.effects, []
        redirected: list[SendClient | CloseClient] = []
        for effect in effects:
            if isinstance(effect, SendClient | CloseClient) and effect.client in self.guests:
                redirected.append(effect)
            else:
                turn.effects.append(effect)
        # After all other effects: messages to a peer are sent in the order of their numbers.
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
