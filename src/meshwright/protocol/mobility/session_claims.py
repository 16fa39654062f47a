"""Claims: which broker has a client's session; of all claims in the directory the highest counts.

A broker that makes a claim reads all other claims in the same request, so of two that claim a
client at once at least one sees the other. A claim makes only claims up to its void_up_to void: if
the broker of the highest claim has no session, the claims between are tried. A claim stays for a
while after its session has ended, as the client may come back. Then it is withdrawn, unless another
broker has a lower claim: that broker may not know yet that the session went on elsewhere, and its
claim must not count again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple

from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.directory.entries import Entries, Entry, claim_key
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.sessions.session import Session

TICK = ("session_claims",)
TICK_US = 1_000_000
RELEASED_AT_ONCE_MAX = 1_000


class Claim(NamedTuple):
    """A broker's claim on a client; of two claims the one with the higher number counts.

    Of two with the same number, the one with the higher broker name counts. void_up_to: all claims
    up to this number are void.
    """

    number: int
    broker: str
    void_up_to: int


# Claims on one client, the highest first.
Claims = tuple[Claim, ...]


class SessionClaims:
    """Reads and makes claims for one broker.

    rest_us: how long a client without a session stays claimed.
    is_here: True if a client's session is here, or on its way in or out.
    left: called for clients that did not come back.
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
        # When sessions ended here, by client, the earliest first.
        self._over_us: dict[str, int] = {}
        # The claims under which sessions were opened here, and the clients asked for since.
        self._opened: dict[str, int] = {}
        self._yielded: set[str] = set()
        self._has_tick = False

    def restore(self, sessions: Iterable[Session]) -> None:
        """After a start, remember this broker's claims on the clients of its sessions."""
        for session in sessions:
            if session.claim:
                entry = self._entry(session.claim, session.claim - 1)
                self._directory.own(claim_key(session.client), entry)

    def find(self, turn: Turn, client: str, done: Callable[[Turn, Claims], None]) -> None:
        """Read all claims on a client from the directory."""
        key = claim_key(client)

        def got(later: Turn, entries: Entries) -> None:
            claims = _claims(entries)
            mine = self._directory.said(key)
            if mine is not None and mine.is_void:
                # The entry may have been read just before it was withdrawn.
                claims = tuple(one for one in claims if one.broker != self._me)
            done(later, claims)

        self._directory.get(turn, key, got, is_remembered=False)

    def claim(
        self,
        turn: Turn,
        client: str,
        number: int,
        void_up_to: int,
        done: Callable[[Turn, Claims], None],
    ) -> None:
        """Claim a client for this broker; done gets all claims on it as they are then."""

        def got(later: Turn, entries: Entries) -> None:
            done(later, _claims(entries))

        self._directory.put_and_get(turn, claim_key(client), self._entry(number, void_up_to), got)

    def withdraw(self, turn: Turn, client: str, former: Claim | None) -> None:
        """Take back a claim under which no session was opened; the former claim counts again."""
        number, void_up_to = (former.number, former.void_up_to) if former is not None else (None, 0)
        entry = self._entry(number, void_up_to)
        self._directory.put(turn, claim_key(client), entry, lambda _turn, _readers: None)

    def opened(self, client: str, number: int) -> None:
        """Note that a session is open here under a claim, and that no other broker has one."""
        self._opened[client] = number
        self._yielded.discard(client)

    def asked(self, client: str) -> None:
        """Note that another broker has asked for a session, so it may claim the client."""
        if client in self._opened:
            self._yielded.add(client)

    def may_reopen(self, client: str, number: int) -> bool:
        """True if a client whose session ended here may begin a new one under the same claim.

        Nobody else has asked for it since, so nobody else can have a session.
        """
        return self._opened.get(client) == number and client not in self._yielded

    def settled(self, client: str) -> int:
        """The number up to which all claims on a client are void, as this broker knows."""
        return self._opened.get(client, 0)

    def over(self, turn: Turn, client: str) -> None:
        """A client's session has ended here: withdraw its claim after rest_us."""
        self._over_us.pop(client, None)
        self._over_us[client] = turn.now_us
        self._wake(turn)

    def tick(self, turn: Turn) -> None:
        """Withdraw the claims of clients that did not come back in time."""
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
        def got(later: Turn, entries: Entries) -> None:
            if self._is_here(client):
                return
            mine = entries.get(self._me)
            number = mine.claim if mine is not None else 0
            others = [entry.claim for name, entry in entries.items() if name != self._me]
            if any(0 < claim <= number for claim in others):
                self.over(later, client)
                return
            self._opened.pop(client, None)
            self._yielded.discard(client)
            if number:
                self.withdraw(later, client, None)

        self._directory.get(turn, claim_key(client), got, is_remembered=False)

    def _entry(self, number: int | None, void_up_to: int) -> Entry:
        self._version += 1
        return Entry(self._version, number, void_up_to)


def _claims(entries: Entries) -> Claims:
    claims = [Claim(one.claim, name, one.void_up_to) for name, one in entries.items() if one.claim]
    return tuple(sorted(claims, reverse=True))
