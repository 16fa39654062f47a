"""Messages that peers have yet to answer, and actions that wait for the answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from meshwright.protocol.foundation.turn import Action, Turn, nothing


class Wait:
    """An action that waits for answers; source is the peer on whose behalf, which is not asked."""

    __slots__ = ("action", "missing_count", "source")

    def __init__(self, action: Action, source: str | None) -> None:
        self.action = action
        self.source = source
        self.missing_count = 0


class Answers:
    """Messages to each peer, numbered from 1; an answer to one is an answer to all before it."""

    __slots__ = ("_answered", "_told", "_waiting")

    def __init__(self) -> None:
        self._told: dict[str, int] = {}
        self._answered: dict[str, int] = {}
        self._waiting: dict[str, deque[tuple[int, Wait]]] = {}

    def number(self, peer: str) -> int:
        """The number of the next message to a peer, which is sent now."""
        number = self._told[peer] = self._told.get(peer, 0) + 1
        return number

    def wait(
        self, turn: Turn, peers: Iterable[str], action: Action, *, source: str | None = None
    ) -> None:
        """Act once these peers, but for the source, have answered all that they were told."""
        wait = Wait(action, source)
        self._enlist(wait, peers)
        if not wait.missing_count:
            action(turn)

    def answered(self, turn: Turn, peer: str, number: int) -> None:
        """A peer has answered all messages up to a number."""
        self._answered[peer] = max(number, self._answered.get(peer, 0))
        waiting = self._waiting.get(peer)
        while waiting and waiting[0][0] <= number:
            _release(turn, waiting.popleft()[1])

    def withdraw(self, peers: Iterable[str]) -> list[Wait]:
        """These peers will not answer: returns the waits for them, one for each answer."""
        waits: list[Wait] = []
        for peer in peers:
            self._answered[peer] = self._told.get(peer, 0)
            waits.extend(wait for _, wait in self._waiting.pop(peer, ()))
        return waits

    def renew(self, peer: str) -> list[Wait]:
        """A peer begins anew: withdraw it, and let nothing act any more on its behalf."""
        for waiting in self._waiting.values():
            for _, wait in waiting:
                if wait.source == peer:
                    wait.action = nothing
        return self.withdraw((peer,))

    def resume(self, turn: Turn, waits: list[Wait], peers: Iterable[str]) -> None:
        """Let waits that were withdrawn go on for what these peers have not answered."""
        peers = tuple(peers)
        for wait in waits:
            self._enlist(wait, peers)
        for wait in waits:
            _release(turn, wait)

    def _enlist(self, wait: Wait, peers: Iterable[str]) -> None:
        for peer in peers:
            told = self._told.get(peer, 0)
            if peer != wait.source and told > self._answered.get(peer, 0):
                self._waiting.setdefault(peer, deque()).append((told, wait))
                wait.missing_count += 1


def _release(turn: Turn, wait: Wait) -> None:
    wait.missing_count -= 1
    if not wait.missing_count:
        wait.action(turn)
