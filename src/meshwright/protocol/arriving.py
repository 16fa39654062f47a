"""Clients that come here: their session is found, fetched, claimed, and only then opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from meshwright.protocol import packets
from meshwright.protocol.effects import CloseClient, SendClient
from meshwright.protocol.homes import Homes
from meshwright.protocol.moves import (
    Discard,
    HaveYou,
    MoveAsk,
    MoveBegun,
    MoveCancelled,
    MoveDone,
    MoveEnd,
    MoveNotHere,
    MoveReady,
    MovingSettings,
)
from meshwright.protocol.sessions import Sessions
from meshwright.protocol.turn import Turn

TICK = ("arriving",)


@dataclass(slots=True, eq=False)
class Arrival:
    """A client that waits here for its session; packet is None once it went away again.

    holder: who has claimed it. source: who was asked for it, the holder or who was given it.
    """

    client: str
    serial: int
    packet: packets.Connect | None
    since_us: int
    claim: int = 0
    holder: str | None = None
    source: str | None = None
    is_stalled: bool = False
    is_unpacked: bool = False
    put_off: list[tuple[str, MoveAsk]] = field(default_factory=list)


class Arriving:
    """The receiving side of moves.

    given_to tells whom this broker gave a session to; asked takes a peer's request for one.
    """

    def __init__(
        self,
        me: str,
        settings: MovingSettings,
        homes: Homes,
        sessions: Sessions,
        *,
        send: Callable[[Turn, str, Any], None],
        given_to: Callable[[str], str | None],
        asked: Callable[[Turn, str, MoveAsk], None],
        incarnation: int,
    ) -> None:
        self._me = me
        self._settings = settings
        self._homes = homes
        self._sessions = sessions
        self._send = send
        self._given_to = given_to
        self._asked = asked
        self._serial = incarnation << 32
        self._arrivals: dict[str, Arrival] = {}
        self._has_tick = False

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        """Which message is for which method."""
        return {
            MoveBegun: self.begun,
            MoveNotHere: self.not_here,
            MoveEnd: self.end,
            HaveYou: self.asked_for,
        }

    def put_off(self, peer: str, ask: MoveAsk) -> bool:
        """True if a session is on its way here, so that who asks for it must wait."""
        arrival = self._arrivals.get(ask.client)
        if arrival is None or arrival.source is None:
            return False
        arrival.put_off.append((peer, ask))
        return True

    def admit(self, turn: Turn, client: str, packet: packets.Connect) -> None:
        """A client connects: find out where its session is."""
        self.gone(turn, client)
        self._serial += 1
        arrival = Arrival(client, self._serial, packet, turn.now_us)
        self._arrivals[client] = arrival
        self._homes.find(turn, client, partial(self._found, arrival=arrival))
        self._wake(turn)

    def gone(self, turn: Turn, client: str) -> None:
        """The client went away: what was not yet sent here, stays where it is."""
        arrival = self._arrivals.get(client)
        if arrival is None:
            return
        arrival.packet = None
        if not arrival.is_unpacked:
            self._give_up(turn, arrival)

    def begun(self, turn: Turn, peer: str, message: MoveBegun) -> None:
        """The filters of a session are here: put them in force, then say so."""
        arrival = self._current(message.client, message.serial)
        if arrival is None:
            self._send(turn, peer, MoveCancelled(message.client))
            return
        ready = MoveReady(message.client, message.serial)
        self._sessions.prepare(
            turn,
            message.client,
            message.identity,
            message.subscriptions,
            lambda later: self._send(later, peer, ready),
        )

    def not_here(self, turn: Turn, peer: str, message: MoveNotHere) -> None:
        """Ask where the session was given to; if its holder knows of none, there is none."""
        arrival = self._current(message.client, message.serial)
        if arrival is None or arrival.is_unpacked:
            return
        if message.elsewhere not in {None, self._me}:
            assert message.elsewhere is not None
            self._ask(turn, arrival, message.elsewhere)
        elif peer == arrival.holder and message.elsewhere is None:
            arrival.source = None
            self._claim(turn, arrival)
        else:
            # It was given, but did not arrive: its holder will find that out, too.
            arrival.is_stalled = True

    def end(self, turn: Turn, peer: str, message: MoveEnd) -> None:
        """The whole session is here: to disk, then claim the client."""
        arrival = self._current(message.client, message.serial)
        if arrival is None or arrival.is_unpacked:
            self._send(turn, peer, MoveCancelled(message.client))
            return
        arrival.is_unpacked = True
        self._sessions.unpack(turn, message.client, message.belongings)
        turn.once_synced(partial(self._claim, arrival=arrival))

    def asked_for(self, turn: Turn, peer: str, message: HaveYou) -> None:
        """Say whether a session that was given arrived; if so it must be claimed first."""
        client = message.client
        arrival = self._arrivals.get(client)
        if arrival is not None and arrival.is_unpacked:
            return
        if arrival is not None or self._sessions.find(client) is None:
            self._send(turn, peer, MoveCancelled(client))
            return

        def found(later: Turn, holder: str | None, number: int) -> None:
            done = MoveDone(client)
            if holder == self._me:
                self._send(later, peer, done)
            else:
                claim = number + 1
                self._homes.claim(later, client, claim, lambda last: self._send(last, peer, done))

        self._homes.find(turn, client, found)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Ask again for what a peer may have forgotten to send."""
        for arrival in list(self._arrivals.values()):
            if arrival.source == peer and not arrival.is_unpacked:
                self._ask(turn, arrival, peer)

    def tick(self, turn: Turn) -> None:
        """Turn away clients that have waited too long; they may try again."""
        self._has_tick = False
        for arrival in list(self._arrivals.values()):
            waited_us = turn.now_us - arrival.since_us
            if waited_us > self._settings.patience_us and not arrival.is_unpacked:
                turn.ask(
                    SendClient(arrival.client, packets.Connack(False, packets.SERVER_UNAVAILABLE))
                )
                turn.ask(CloseClient(arrival.client))
                self._give_up(turn, arrival)
            elif arrival.is_stalled:
                arrival.is_stalled = False
                self._homes.find(turn, arrival.client, partial(self._found, arrival=arrival))
        if self._arrivals:
            self._wake(turn)

    def _wake(self, turn: Turn) -> None:
        if not self._has_tick:
            self._has_tick = True
            turn.timer(TICK, turn.now_us + self._settings.tick_us)

    def _current(self, client: str, serial: int) -> Arrival | None:
        arrival = self._arrivals.get(client)
        return arrival if arrival is not None and arrival.serial == serial else None

    def _found(self, turn: Turn, holder: str | None, number: int, *, arrival: Arrival) -> None:
        if self._arrivals.get(arrival.client) is not arrival or arrival.packet is None:
            return
        client = arrival.client
        arrival.claim = number + 1
        arrival.holder = holder
        if holder in {None, self._me}:
            target = self._given_to(client)
            if target is not None:
                self._ask(turn, arrival, target)
            elif holder is None:
                self._claim(turn, arrival)
            else:
                self._open(turn, arrival)
            return
        assert holder is not None
        stale = self._sessions.find(client)
        if stale is not None:
            self._sessions.end(turn, stale)
        if arrival.packet.clean_start:
            self._send(turn, holder, Discard(client))
            self._claim(turn, arrival)
        else:
            self._ask(turn, arrival, holder)

    def _ask(self, turn: Turn, arrival: Arrival, holder: str) -> None:
        arrival.source = holder
        self._send(turn, holder, MoveAsk(arrival.client, arrival.serial))

    def _claim(self, turn: Turn, arrival: Arrival) -> None:
        self._homes.claim(turn, arrival.client, arrival.claim, partial(self._open, arrival=arrival))

    def _open(self, turn: Turn, arrival: Arrival) -> None:
        """The session is this broker's: open it, and let those go on who waited for that."""
        if self._arrivals.get(arrival.client) is not arrival:
            return
        del self._arrivals[arrival.client]
        if arrival.is_unpacked and arrival.source is not None:
            self._send(turn, arrival.source, MoveDone(arrival.client))
        if arrival.packet is not None:
            self._sessions.connect(turn, arrival.client, arrival.packet)
        for peer, ask in arrival.put_off:
            self._asked(turn, peer, ask)

    def _give_up(self, turn: Turn, arrival: Arrival) -> None:
        del self._arrivals[arrival.client]
        prepared = self._sessions.find(arrival.client)
        if prepared is not None and prepared.is_arriving:
            self._sessions.end(turn, prepared)
        if arrival.source is not None:
            self._send(turn, arrival.source, MoveCancelled(arrival.client))
        for peer, ask in arrival.put_off:
            self._send(turn, peer, MoveNotHere(ask.client, ask.serial, arrival.source))
