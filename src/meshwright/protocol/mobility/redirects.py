"""Redirects: tells clients to go to another broker, where their session follows them.

A client that a plan moves gets DISCONNECT with the broker to go to (reason 0x9C); the session of
one that is away is offered to that broker. A client that comes back is turned away a few times and
then let in: no plan keeps a client out. A client stays if its session would end with its
connection, its will would be published, or it cannot be told where to go. A redirect is on disk
until the client has moved or stays, or a later plan is in force. A client that placement suggests
to move is sent once; if it comes back, it is not sent again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

import msgspec

from meshwright.model.plan import ClientMove
from meshwright.protocol.foundation.effects import CloseClient, DiskKey, SendClient
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mobility.messages import MoveOffer
from meshwright.protocol.mobility.pace import Pace
from meshwright.protocol.mobility.prefetching import may_go_ahead
from meshwright.protocol.mqtt import packets
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.sessions import Sessions

TICK = ("redirects",)
TICK_US = 1_000_000
# How often a client is sent away before it may stay, and how many ticks its move is tried.
TURNED_AWAY_MAX = 3
PATIENCE_TICKS = 60
# How many suggestions, and clients that did not follow one, are remembered.
REMEMBERED_MAX = 10_000


Kept = TypeVar("Kept")


class ClientMoveRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports what became of a client's move.

    epoch: of the plan; 0 for a suggestion of placement.
    step: redirected, moved or stays.
    """

    client: str
    target: str
    epoch: int
    step: str
    detail: str = ""


class Redirect:
    """One move that is not done; is_ahead: the session has moved while its client was away."""

    __slots__ = ("epoch", "is_ahead", "target", "tick_count", "turned_away_count")

    def __init__(self, epoch: int, target: str) -> None:
        self.epoch = epoch
        self.target = target
        self.is_ahead = False
        self.tick_count = 0
        self.turned_away_count = 0


class Redirects:
    """The redirects of one broker's clients.

    is_alive: True if a broker is believed alive.
    _waiting: redirects of a plan, also on disk.
    _suggested: redirects of placement, and of a tree that adapts.
    _deaf: clients that cannot be told where to go.
    _stubborn: clients that came back after a suggestion; not on disk, so they may be sent once more
        after a restart.
    """

    def __init__(
        self,
        me: str,
        sessions: Sessions,
        pace: Pace,
        *,
        send: Callable[[Turn, str, Any], None],
        is_alive: Callable[[str], bool],
    ) -> None:
        self._me = me
        self._sessions = sessions
        self._pace = pace
        self._send = send
        self._is_alive = is_alive
        self._waiting: dict[str, Redirect] = {}
        self._deaf: set[str] = set()
        self._suggested: dict[str, Redirect] = {}
        self._stubborn: dict[str, None] = {}
        self._has_tick = False

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a start, go on with redirects that were not done."""
        for client in sorted(str(key[1]) for key in disk if key[0] == "redirect"):
            self._waiting[client] = Redirect(*disk["redirect", client])
        if self._waiting:
            self._wake(turn)

    def begin(self, turn: Turn, epoch: int, moves: Iterable[ClientMove]) -> None:
        """A plan is in force: redirect the clients that it moves from here; drop earlier plans'."""
        for client in list(self._waiting):
            self._drop(turn, client)
        self._pace.announce(turn)
        for move in moves:
            if move.source == self._me and move.target != self._me:
                redirect = self._waiting[move.client] = Redirect(epoch, move.target)
                turn.write(("redirect", move.client), (epoch, move.target))
                # Once the plan is on disk here: a crash must not take it back.
                turn.once_synced(partial(self._try, client=move.client, redirect=redirect))
        if self._waiting:
            self._wake(turn)

    def may_be_sent(self, client: str) -> bool:
        """True if a client is connected here and may be suggested to go elsewhere."""
        session = self._sessions.find(client)
        if session is None or not session.is_connected:
            return False
        if client in self._waiting or client in self._stubborn:
            return False
        return self._why_stay(client, Redirect(0, "")) is None

    def suggest(self, turn: Turn, client: str, target: str) -> bool:
        """Send a connected client once to where it is better off; False if it must stay."""
        redirect = Redirect(0, target)
        if not self._is_alive(target) or not self.may_be_sent(client):
            return False
        if not self._pace.is_free(turn.now_us):
            return False
        self._pace.count()
        _remember(self._suggested, client, redirect)
        self._send_away(turn, client, redirect)
        return True

    def staying(self) -> dict[str, int]:
        """Connected clients that cannot be sent away, by the reason; a walk over all sessions."""
        reasons = Counter(
            why for session in self._sessions.all() if (why := self.why_stays(session)) is not None
        )
        return dict(sorted(reasons.items()))

    def why_stays(self, session: Session) -> str | None:
        """Why a connected client cannot be sent away; None if it can, or is not connected."""
        if not session.is_connected:
            return None
        return self._why_keep_connected(session) or self._why_left_alone(session)

    def turns_away(self, turn: Turn, client: str, packet: packets.Connect) -> bool:
        """Send a client that connects to the target of its redirect; returns whether it is sent."""
        self._deaf.discard(client)
        if not packet.can_be_redirected:
            self._deaf.add(client)
        suggested = self._suggested.pop(client, None)
        if suggested is not None:
            _remember(self._stubborn, client, None)
            self._report(turn, client, suggested, "stays", "it came back")
        redirect = self._waiting.get(client)
        if redirect is None or self._why_stay(client, redirect) or packet.clean_start:
            return False
        if not self._is_alive(redirect.target):
            return False
        self._count(turn, client, redirect)
        refusal = packets.Connack(False, packets.USE_ANOTHER_SERVER, redirect.target)
        turn.ask(SendClient(client, refusal))
        turn.ask(CloseClient(client))
        return True

    def forget(self, client: str) -> None:
        """Nothing of a client is left here: forget what is known of it."""
        self._deaf.discard(client)

    def left(self, turn: Turn, client: str, target: str) -> None:
        """A client's session has arrived at another broker."""
        suggested = self._suggested.pop(client, None)
        if suggested is not None:
            self._report(turn, client, suggested, "moved", f"to {target}")
        redirect = self._waiting.get(client)
        if redirect is None:
            return
        redirect.is_ahead = not redirect.turned_away_count and target == redirect.target
        if not redirect.is_ahead:
            self._drop(turn, client)
        detail = f"to {target}" if target != redirect.target else ""
        self._report(turn, client, redirect, "moved", detail)

    def tick(self, turn: Turn) -> None:
        """Try again what is not done."""
        self._has_tick = False
        for client, redirect in list(self._waiting.items()):
            if not self._pace.is_waiting(client):
                redirect.tick_count += 1
                self._try(turn, client, redirect)
        if self._waiting:
            self._wake(turn)

    def _try(self, turn: Turn, client: str, redirect: Redirect) -> None:
        if self._waiting.get(client) is not redirect:
            return
        why = self._why_stay(client, redirect)
        if why is not None:
            self._drop(turn, client)
            if not redirect.is_ahead:
                self._report(turn, client, redirect, "stays", why)
            return
        if self._may_go(client, redirect):
            send = partial(self._send_or_offer, client=client, redirect=redirect)
            self._pace.when_free(turn, client, send)

    def _send_or_offer(self, turn: Turn, *, client: str, redirect: Redirect) -> None:
        is_void = self._waiting.get(client) is not redirect or self._why_stay(client, redirect)
        session = self._sessions.find(client)
        if is_void or session is None or not self._may_go(client, redirect):
            return
        if session.is_connected:
            self._send_away(turn, client, redirect)
        else:
            self._send(turn, redirect.target, MoveOffer(client))

    def _may_go(self, client: str, redirect: Redirect) -> bool:
        """True if a client can be told to go, or its session be offered."""
        session = self._sessions.find(client)
        if session is None or not self._is_alive(redirect.target):
            return False
        return session.is_connected or may_go_ahead(session)

    def _send_away(self, turn: Turn, client: str, redirect: Redirect) -> None:
        self._count(turn, client, redirect)
        goodbye = packets.Disconnect(packets.USE_ANOTHER_SERVER, redirect.target)
        turn.ask(SendClient(client, goodbye))
        turn.ask(CloseClient(client))
        self._sessions.disconnect(turn, client, clean=False)

    def _why_stay(self, client: str, redirect: Redirect) -> str | None:
        if redirect.turned_away_count >= TURNED_AWAY_MAX:
            return "it comes back whenever it is sent away"
        if redirect.tick_count >= PATIENCE_TICKS:
            return f"{redirect.target} was not reached, or did not take it"
        session = self._sessions.find(client)
        if redirect.is_ahead:
            return None
        if session is None or session.is_arriving:
            return "its session is not here"
        return self._why_keep_connected(session) if not session.is_away else None

    def _why_keep_connected(self, session: Session) -> str | None:
        if not session.expiry_s:
            return "its session would end with its connection"
        if session.will is not None and not session.will.delay_s:
            return "its will would go out"
        if session.client in self._deaf:
            return "it cannot be told where to go"
        return None

    def _why_left_alone(self, session: Session) -> str | None:
        return "it came back when it was sent" if session.client in self._stubborn else None

    def _count(self, turn: Turn, client: str, redirect: Redirect) -> None:
        redirect.turned_away_count += 1
        self._report(turn, client, redirect, "redirected")

    def _drop(self, turn: Turn, client: str) -> None:
        del self._waiting[client]
        turn.write(("redirect", client), None)

    def _wake(self, turn: Turn) -> None:
        if not self._has_tick:
            self._has_tick = True
            turn.timer(TICK, turn.now_us + TICK_US)

    def _report(
        self, turn: Turn, client: str, redirect: Redirect, step: str, detail: str = ""
    ) -> None:
        turn.report(
            ClientMoveRecord(
                client=client,
                target=redirect.target,
                epoch=redirect.epoch,
                step=step,
                detail=detail,
            )
        )


def _remember(known: dict[str, Kept], client: str, value: Kept) -> None:
    """Keep a value for a client; the oldest of too many is dropped."""
    known[client] = value
    if len(known) > REMEMBERED_MAX:
        del known[next(iter(known))]
