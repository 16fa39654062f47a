"""Sends what shared subscriptions say: much of one step to one peer goes together.

When a peer comes back there may be more to say about what was handed to its clients than a
conversation lets wait, and so may be its answers. One by one, they would end it again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.shared.messages import (
    HandAccepted,
    HandDone,
    Handed,
    HandForgotten,
    HandMoved,
    HandOffered,
    HandUndone,
    Members,
    MembersKept,
    MembersQuestion,
)
from meshwright.protocol.shared.takeover import Holdings, HoldingsQuestion
from meshwright.protocol.streams.messages import LegacyQuestion

# Of one step to one peer: how many go one by one, and how many and how much at most together.
SINGLY_MAX = 16
TOGETHER_MAX = 1_000
TOGETHER_BYTES_MAX = 1 << 18

Word = (
    Members
    | MembersKept
    | MembersQuestion
    | HandOffered
    | HandAccepted
    | Handed
    | HandDone
    | HandUndone
    | HandMoved
    | HandForgotten
    | HoldingsQuestion
    | Holdings
    | LegacyQuestion
)


class Together(PeerMessage, frozen=True, gc=False, tag=108):
    """Words on shared subscriptions, in order."""

    counts_as = "shared"

    words: tuple[Word, ...]


class SharedPost:
    """What one broker's shared subscriptions send; handlers: of all that may come."""

    def __init__(
        self,
        me: str,
        send: Callable[[Turn, str, Any], None],
        handlers: dict[type, Callable[[Turn, str, Any], None]],
    ) -> None:
        self._me = me
        self._send = send
        self._handlers = handlers
        self._step = 0
        self._counts: dict[str, int] = {}
        self._gathered: dict[str, list[Word]] = {}

    def send(self, turn: Turn, peer: str, word: Word) -> None:
        """Send a word now, or at the end of the step if there are many."""
        if turn.number != self._step:
            self._step = turn.number
            self._counts.clear()
        count = self._counts[peer] = self._counts.get(peer, 0) + 1
        if count <= SINGLY_MAX or peer == self._me:
            self._send(turn, peer, word)
            return
        if not self._gathered:
            turn.at_end(self._flush)
        self._gathered.setdefault(peer, []).append(word)

    def heard(self, turn: Turn, peer: str, message: Together) -> None:
        """Take in one word after the other."""
        for word in message.words:
            self._handlers[type(word)](turn, peer, word)

    def _flush(self, turn: Turn) -> None:
        gathered, self._gathered = self._gathered, {}
        for peer, words in gathered.items():
            for together in _portions(words):
                self._send(turn, peer, Together(together))


def _portions(words: list[Word]) -> Iterator[tuple[Word, ...]]:
    """Words in order, in portions that a conversation can carry."""
    portion: list[Word] = []
    bytes_sum = 0
    for word in words:
        portion.append(word)
        if isinstance(word, Handed):
            bytes_sum += len(word.publication.payload)
        if len(portion) == TOGETHER_MAX or bytes_sum > TOGETHER_BYTES_MAX:
            yield tuple(portion)
            portion, bytes_sum = [], 0
    if portion:
        yield tuple(portion)
