"""Connections of clients to brokers: in order while they stand, and they may break too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from heapq import heappush
from typing import Any, Protocol

from meshwright.protocol.foundation.effects import SendClient
from meshwright.protocol.foundation.events import ClientDown, ClientPacket, ClientUp
from meshwright.protocol.mqtt.packets import SESSION_TAKEN_OVER, Connect, Disconnect
from meshwright.sim.physics.agenda import Agenda
from meshwright.sim.physics.chance import Draws
from meshwright.sim.physics.network import Listeners, NetworkSettings


class Listener(Protocol):
    """A client, as its lines know it."""

    name: str

    def received(self, packet: Any) -> None:
        """A packet came."""

    def closed(self) -> None:
        """The line is gone, and the client did not ask for it."""


class Line:
    """One connection of one client; is_heard until the client itself lets go of it.

    standing: the lines at its broker, by client, of which it is one while that knows it. parted:
    called when the broker hears that the connection is gone. noticed: if it was abandoned, called
    when the broker has it no more.
    """

    __slots__ = (
        "broker", "client", "is_heard", "is_open", "listener", "noticed", "parted",
        "standing", "to_broker_us", "to_client_us",
    )  # fmt: skip

    def __init__(self, listener: Listener, broker: str, standing: dict[str, Line]) -> None:
        self.listener = listener
        self.client = listener.name
        self.broker = broker
        self.standing = standing
        self.is_open = True
        self.is_heard = True
        self.parted: Callable[[], None] | None = None
        self.noticed: Callable[[], None] | None = None
        self.to_broker_us = 0
        self.to_client_us = 0


class Lines:
    """All lines. A broker hears of the end of a client's line before that of its next one.

    A broker that closes a line itself is not told that it is gone.
    """

    def __init__(
        self,
        agenda: Agenda,
        settings: NetworkSettings,
        *,
        jitter_us: Draws,
        listeners: Listeners,
        is_up: Callable[[str], bool],
    ) -> None:
        self._agenda = agenda
        self._delay_us = settings.client_delay_us
        self._next_jitter_us = jitter_us.next
        self._arrive = self._at_broker
        self._listeners = listeners
        self._is_up = is_up
        self._at: dict[str, dict[str, Line]] = defaultdict(dict)

    def open(self, listener: Listener, broker: str, packet: Connect) -> Line:
        """Connect to a broker; the answer, or the end of the line, comes to the listener."""
        line = Line(listener, broker, self._at[broker])
        self._agenda.at(self._to_broker_us(line), self._opened, line, packet)
        return line

    def send(self, line: Line, packet: object) -> None:
        """A packet from the client."""
        self._agenda.at(self._to_broker_us(line), self._arrive, line, packet)

    def leave(self, line: Line) -> None:
        """The client says goodbye after what it sent, and listens no more."""
        line.is_heard = False
        self._agenda.at(self._to_broker_us(line), self._ended, line, True)

    def abandon(self, line: Line, noticed: Callable[[], None]) -> None:
        """The client listens no more, and the broker does not notice until it ends the line."""
        line.is_heard = False
        line.noticed = noticed

    def standing(self) -> dict[str, list[str]]:
        """The brokers at which each client has a line, as far as they know."""
        found: dict[str, list[str]] = {}
        for broker, lines in self._at.items():
            for client in lines:
                found.setdefault(client, []).append(broker)
        return found

    def cut(self, line: Line) -> None:
        """The line breaks: the client knows at once, the broker a little later."""
        if line.is_open:
            line.is_open = False
            self._agenda.at(self._agenda.now_us + self._delay_us, self._ended, line, False)
            self._lost(line, None)

    def answerer(self, broker: str) -> Callable[[SendClient], None]:
        """How a broker sends packets to its clients; what finds no line is lost."""
        agenda, arrive, jitter_us = self._agenda, self._at_client, self._next_jitter_us
        near, next_place = agenda.near, agenda.next_place
        lines, delay_us = self._at[broker], self._delay_us

        def answer(effect: SendClient) -> None:
            line = lines.get(effect.client)
            if line is not None:
                arrival_us = agenda.now_us + delay_us + jitter_us()
                if arrival_us < line.to_client_us:
                    arrival_us = line.to_client_us
                line.to_client_us = arrival_us
                if arrival_us < agenda.horizon_us:
                    heappush(near, (arrival_us, next_place(), arrive, line, effect.packet))
                else:
                    agenda.at(arrival_us, arrive, line, effect.packet)

        return answer

    def close(self, broker: str, client: str) -> None:
        """The broker closes a line after what it sent."""
        line = self._at[broker].pop(client, None)
        if line is not None:
            self._end(line, self._to_client_us(line))

    def crash(self, broker: str) -> None:
        """All lines of a broker end; clients still get what it had sent."""
        lines = self._at[broker]
        for line in lines.values():
            self._end(line, self._to_client_us(line))
        lines.clear()

    def _to_broker_us(self, line: Line) -> int:
        arrival_us = self._agenda.now_us + self._delay_us + self._next_jitter_us()
        if arrival_us > line.to_broker_us:
            line.to_broker_us = arrival_us
        return line.to_broker_us

    def _to_client_us(self, line: Line) -> int:
        arrival_us = self._agenda.now_us + self._delay_us + self._next_jitter_us()
        if arrival_us > line.to_client_us:
            line.to_client_us = arrival_us
        return line.to_client_us

    def _opened(self, line: Line, packet: Connect) -> None:
        if not line.is_open:
            return
        if not self._is_up(line.broker):
            line.is_open = False
            self._end(line, self._agenda.now_us + self._delay_us)
            return
        client, lines = line.client, line.standing
        former = lines.pop(client, None)
        if former is not None:
            self._take_over(former)
            self._listeners[line.broker](ClientDown(client, clean=False))
        lines[client] = line
        self._listeners[line.broker](ClientUp(client, packet))

    def _take_over(self, former: Line) -> None:
        """The broker ends a line whose client has another one, and says why [MQTT 5, 3.1.4]."""
        goodbye = Disconnect(SESSION_TAKEN_OVER)
        if former.is_open:
            self._agenda.at(self._to_client_us(former), self._at_client, former, goodbye)
        self._end(former, self._to_client_us(former))

    def _end(self, line: Line, heard_us: int) -> None:
        """The broker has a line no more, of which its client hears later, if it still listens."""
        if line.noticed is not None:
            line.noticed()
        self._agenda.at(heard_us, self._lost, line)

    def _at_broker(self, line: Line, packet: Any) -> None:
        client = line.client
        if line.is_open and line.standing.get(client) is line:
            self._listeners[line.broker](ClientPacket(client, packet))

    def _at_client(self, line: Line, packet: Any) -> None:
        if line.is_open and line.is_heard:
            line.listener.received(packet)

    def _ended(self, line: Line, clean: bool) -> None:
        """The broker hears that a line is gone."""
        line.is_open = False
        if line.standing.get(line.client) is line:
            del line.standing[line.client]
            if line.parted is not None:
                line.parted()
            self._listeners[line.broker](ClientDown(line.client, clean=clean))

    def _lost(self, line: Line, _: None) -> None:
        """The client hears that a line is gone."""
        line.is_open = False
        if line.is_heard:
            line.is_heard = False
            line.listener.closed()
