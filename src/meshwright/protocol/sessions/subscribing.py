"""SUBSCRIBE and UNSUBSCRIBE: many filters are taken some at a time, and answered together.

A client's next such packet waits until this one is done. If the connection ends before, the rest is
dropped: no SUBACK promised it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import TypeVar

from meshwright.errors import FilterError
from meshwright.filters.filter import Filter, parse_filter
from meshwright.protocol.foundation.slices import PIECE, Piece, Slices
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mqtt import packets
from meshwright.protocol.sessions.deliveries import send_once_synced
from meshwright.protocol.sessions.session import Session

Add = Callable[[Turn, Session, Filter, packets.Subscription, Action], None]
Drop = Callable[[Turn, Session, str], None]
Look = Callable[..., None]
Release = Callable[[Turn, Session, Action], None]
One = TypeVar("One")


class Subscribing:
    """Packets of clients that change their subscriptions.

    add, drop and look do so with one filter of a session: look finds what is retained, which
    release sends once the packet is answered.
    """

    def __init__(
        self, slices: Slices, *, add: Add, drop: Drop, look: Look, release: Release
    ) -> None:
        self._slices = slices
        self._add = add
        self._drop = drop
        self._look = look
        self._release = release
        # By client: the work that waits until what was begun before it is done.
        self._waiting: dict[str, deque[Piece]] = {}

    def subscribe(self, turn: Turn, session: Session, packet: packets.Subscribe) -> None:
        """Take the filters; answered when all of them are in force in the network."""
        reasons: list[int] = []
        problems: list[str] = []
        remaining = 1
        connection, left = session.connection, iter(packet.subscriptions)

        def one_done(later: Turn) -> None:
            nonlocal remaining
            remaining -= 1
            if remaining:
                return
            is_whole = len(reasons) == len(packet.subscriptions)
            if is_whole and session.connection == connection:
                words = "; ".join(problems) or None
                suback = packets.Suback(packet.packet_id, tuple(reasons), words)
                send_once_synced(later, session, suback)
            self._release(later, session, one_done)

        def take(later: Turn, subscription: packets.Subscription) -> None:
            nonlocal remaining
            try:
                wanted = parse_filter(subscription.filter_text)
            except FilterError as error:
                reasons.append(packets.TOPIC_FILTER_INVALID)
                problems.append(f"{error.problem}; {error.remedy}")
                return
            reasons.append(subscription.qos)
            remaining += 1
            is_new = str(wanted) not in session.subscriptions
            look = partial(self._look, session=session, wanted=wanted, is_new=is_new, done=one_done)
            self._add(later, session, wanted, subscription, look)

        def piece(later: Turn) -> bool:
            return _take_some(later, session, connection, left, take)

        self._begin(turn, session.client, piece, one_done)

    def unsubscribe(self, turn: Turn, session: Session, packet: packets.Unsubscribe) -> None:
        """Drop the filters, and answer."""
        reasons: list[int] = []
        connection, left = session.connection, iter(packet.filter_texts)

        def take(later: Turn, text: str) -> None:
            try:
                wanted = str(parse_filter(text))
            except FilterError:
                reasons.append(packets.TOPIC_FILTER_INVALID)
                return
            is_known = wanted in session.subscriptions
            reasons.append(packets.SUCCESS if is_known else packets.NO_SUBSCRIPTION_EXISTED)
            if is_known:
                self._drop(later, session, wanted)

        def piece(later: Turn) -> bool:
            return _take_some(later, session, connection, left, take)

        def done(later: Turn) -> None:
            is_whole = len(reasons) == len(packet.filter_texts)
            if is_whole and session.connection == connection:
                unsuback = packets.Unsuback(packet.packet_id, tuple(reasons))
                send_once_synced(later, session, unsuback)

        self._begin(turn, session.client, piece, done)

    def _begin(self, turn: Turn, client: str, piece: Piece, done: Action) -> None:
        """Do the work of a packet after that of those before it."""

        def work(later: Turn) -> bool:
            if piece(later):
                return True
            done(later)
            later.facts.subscriptions_changed.tell(later, client)
            waiting = self._waiting[client]
            waiting.popleft()
            if waiting:
                self._slices.begin(later, waiting[0])
            else:
                del self._waiting[client]
            return False

        waiting = self._waiting.setdefault(client, deque())
        waiting.append(work)
        if len(waiting) == 1:
            self._slices.begin(turn, work)


def _take_some(
    turn: Turn,
    session: Session,
    connection: int,
    left: Iterator[One],
    take: Callable[[Turn, One], None],
) -> bool:
    """Take some of what is left; True if there may be more."""
    if session.connection != connection or session.is_leaving:
        return False
    some = list(islice(left, PIECE))
    for one in some:
        take(turn, one)
    return len(some) == PIECE
