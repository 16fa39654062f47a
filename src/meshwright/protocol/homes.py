"""Which broker keeps a client's session: claims in the directory, the highest one counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from meshwright.protocol.directory import Directory, Entries, Entry
from meshwright.protocol.session import Session
from meshwright.protocol.turn import Action, Turn


class Homes:
    """Finds and claims clients for one broker."""

    def __init__(self, me: str, incarnation: int, directory: Directory) -> None:
        self._me = me
        self._directory = directory
        self._version = incarnation << 32

    def restore(self, sessions: Iterable[Session]) -> None:
        """After a start: what was claimed for the sessions here is still this broker's word."""
        for session in sessions:
            if session.claim:
                self._version += 1
                self._directory.own(_key(session.client), Entry(self._version, session.claim))

    def find(self, turn: Turn, client: str, done: Callable[[Turn, str | None, int], None]) -> None:
        """Tell who keeps a client, None if nobody does, and the number of that claim."""

        def got(later: Turn, entries: Entries) -> None:
            claims = [(entry.claim, name) for name, entry in entries.items()]
            number, name = max(claims, default=(0, None))
            done(later, name, number)

        self._directory.get(turn, _key(client), got)

    def claim(self, turn: Turn, client: str, number: int, done: Action) -> None:
        """Claim a client for this broker with a number above all found."""
        self._version += 1
        entry = Entry(self._version, number)
        self._directory.put(turn, _key(client), entry, lambda later, _: done(later))


def _key(client: str) -> str:
    return f"$client/{client}"
