"""Which broker keeps a client's session: claims in the directory, the highest one counts.

A claim outlives its session for a while, as its client may come back. It is then taken back, unless
another broker has a lower one: that may be of a broker which has not heard yet that the session
went on elsewhere, and must not count again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from meshwright.protocol.directory import Directory, Entries, Entry
from meshwright.protocol.session import Session
from meshwright.protocol.turn import Action, Turn

TICK = ("homes",)
TICK_US = 1_000_000
RELEASED_AT_ONCE_MAX = 1_000


class Homes:
    """Finds and claims clients for one broker.

    is_here tells whether there is anything of a client here; left is told of those that did not
    return. rest_us: how long a client without a session stays claimed.
    """

    def __init__(
        self,
        me: str,
        incarnation: int,
        directory: Directory,
        *,
        rest_us: int,
        is_here: Callable[[str], bool],
        left: Callable[[str], None],
    ) -> None:
        self._me = me
        self._directory = directory
        self._version = incarnation << 32
        self._rest_us = rest_us
        self._is_here = is_here
        self._left = left
        # Clients whose sessions ended here, and when, in this order.
        self._over_us: dict[str, int] = {}
        self._has_tick = False

    def restore(self, sessions: Iterable[Session]) -> None:
        """After a start: what was claimed for the sessions here is still this broker's word."""
        for session in sessions:
            if session.claim:
                self._version += 1
                self._directory.own(_key(session.client), Entry(self._version, session.claim))

    def find(self, turn: Turn, client: str, done: Callable[[Turn, str | None, int], None]) -> None:
        """Tell who keeps a client, None if nobody does, and the number of that claim."""
        key = _key(client)

        def got(later: Turn, entries: Entries) -> None:
            claims = {name: entry.claim for name, entry in entries.items()}
            mine = self._directory.said(key)
            if mine is not None and mine.is_void:
                # It may have been read just before it was taken back.
                claims.pop(self._me, None)
            number, name = max(
                ((claim, name) for name, claim in claims.items() if claim), default=(0, None)
            )
            done(later, name, number)

        self._directory.get(turn, key, got, is_remembered=False)

    def claim(self, turn: Turn, client: str, number: int, done: Action) -> None:
        """Claim a client for this broker with a number above all found."""
        self._version += 1
        entry = Entry(self._version, number)
        self._directory.put(turn, _key(client), entry, lambda later, _: done(later))

    def over(self, turn: Turn, client: str) -> None:
        """The session of a client is no longer here."""
        self._over_us.pop(client, None)
        self._over_us[client] = turn.now_us
        self._wake(turn)

    def tick(self, turn: Turn) -> None:
        """Take back claims of clients that did not return in time."""
        self._has_tick = False
        longest = islice(self._over_us.items(), RELEASED_AT_ONCE_MAX)
        for client in [one for one, at_us in longest if turn.now_us - at_us >= self._rest_us]:
            del self._over_us[client]
            if not self._is_here(client):
                self._left(client)
                self._release(turn, client)
        if self._over_us:
            self._wake(turn)

    def _wake(self, turn: Turn) -> None:
        if not self._has_tick:
            self._has_tick = True
            turn.timer(TICK, turn.now_us + TICK_US)

    def _release(self, turn: Turn, client: str) -> None:
        key = _key(client)

        def got(later: Turn, entries: Entries) -> None:
            mine = entries.get(self._me)
            if mine is None or not mine.claim or self._is_here(client):
                return
            others = [entry.claim for name, entry in entries.items() if name != self._me]
            if any(0 < claim <= mine.claim for claim in others):
                self.over(later, client)
                return
            self._version += 1
            self._directory.put(
                later, key, Entry(self._version, None), lambda _turn, _readers: None
            )

        self._directory.get(turn, key, got, is_remembered=False)


def _key(client: str) -> str:
    return f"$client/{client}"
