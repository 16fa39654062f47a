"""Questions to brokers by name that not all of them have answered.

A broker whose conversation began anew may have forgotten a question, so it is asked again. Nobody
waits for a broker that is gone for good. How many answers are enough is for who asks to say; it
closes a question by deleting it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TypeVar

from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import Conversations


class OpenQuestion:
    """A message that brokers are to answer; waiting_for: those that have not."""

    __slots__ = ("message", "waiting_for")

    def __init__(self, message: PeerMessage, brokers: Iterable[str]) -> None:
        self.message = message
        self.waiting_for = dict.fromkeys(brokers)


Key = TypeVar("Key", bound=Hashable)
Asked = TypeVar("Asked", bound=OpenQuestion)


class OpenQuestions(dict[Key, Asked]):
    """The questions of one machine that are open, by what their answers name."""

    def __init__(self, conversations: Conversations) -> None:
        super().__init__()
        self._conversations = conversations

    def ask(self, turn: Turn, key: Key, question: Asked) -> None:
        """Put a question to all its brokers at once; this one may answer before it returns."""
        self[key] = question
        for broker in list(question.waiting_for):
            self._ask(turn, broker, key)

    def feed(self, turn: Turn, questions: Mapping[Key, Asked]) -> None:
        """Put many questions, to each broker as it has room for them."""
        self.update(questions)
        keys_by_broker: dict[str, list[Key]] = {}
        for key, question in questions.items():
            for broker in question.waiting_for:
                keys_by_broker.setdefault(broker, []).append(key)
        for broker, keys in keys_by_broker.items():
            self._conversations.feed(turn, broker, keys, self._ask)

    def answered(self, peer: str, key: Key) -> Asked | None:
        """The question that a peer answers, and is not asked again; None if it was not asked."""
        question = self.open_to(peer, key)
        if question is not None:
            del question.waiting_for[peer]
        return question

    def open_to(self, peer: str, key: Key) -> Asked | None:
        """The question of a key, if a peer has not answered it."""
        question = self.get(key)
        return question if question is not None and peer in question.waiting_for else None

    def is_waiting(self) -> bool:
        """True if somebody has not answered."""
        return any(question.waiting_for for question in self.values())

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Ask a peer again what it may have forgotten to answer."""
        keys = [key for key, question in self.items() if peer in question.waiting_for]
        self._conversations.feed(turn, peer, keys, self._ask)

    def forget_removed(self, is_removed: Callable[[str], bool]) -> None:
        """Wait for nobody who is gone for good."""
        for question in self.values():
            for name in [name for name in question.waiting_for if is_removed(name)]:
                del question.waiting_for[name]

    def _ask(self, turn: Turn, broker: str, key: Key) -> None:
        question = self.open_to(broker, key)
        if question is not None:
            self._conversations.send(turn, broker, question.message)
