"""Asks peers what they keep: so many questions to each at once, the others when answers come.

When a peer comes back, or brokers join, there may be more to ask than a conversation lets wait.
Asked all at once it would end the conversation, and with it the answers to what the peer asks at
the same time: both would ask all over again, for ever.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from meshwright.protocol.directory.entries import Question
from meshwright.protocol.foundation.turn import Turn


class _Peer:
    """What one peer is asked. sent: questions under way, None if others have answered it."""

    __slots__ = ("sent", "waiting")

    def __init__(self) -> None:
        self.sent: dict[int, Question | None] = {}
        self.waiting: OrderedDict[int, Question] = OrderedDict()


class Questions:
    """The questions of one broker; at_once_max: how many a peer is asked before it answers."""

    def __init__(
        self, me: str, send: Callable[[Turn, str, Any], None], *, at_once_max: int
    ) -> None:
        self._me = me
        self._send = send
        self._at_once_max = at_once_max
        self._peers: dict[str, _Peer] = {}

    def ask(self, turn: Turn, broker: str, question: Question) -> None:
        """Ask a broker now, or after what it was asked before."""
        if broker != self._me:
            peer = self._peers.get(broker)
            if peer is None:
                peer = self._peers[broker] = _Peer()
            if len(peer.sent) >= self._at_once_max:
                peer.waiting[question.request] = question
                return
            peer.sent[question.request] = question
        self._send(turn, broker, question)

    def ask_instead(self, turn: Turn, broker: str, question: Question) -> None:
        """Put a question in other words to a broker that could not answer it."""
        if broker != self._me:
            peer = self._peers.get(broker)
            if peer is None or question.request not in peer.sent:
                return
            peer.sent[question.request] = question
        self._send(turn, broker, question)

    def answered(self, turn: Turn, broker: str, number: int) -> None:
        """A broker has answered a question: it is asked the next one."""
        peer = self._peers.get(broker)
        if peer is not None and number in peer.sent:
            del peer.sent[number]
            self._ask_on(turn, broker, peer)

    def close(self, number: int, brokers: list[str]) -> None:
        """A question needs no answer any more of these who have given none."""
        for broker in brokers:
            peer = self._peers.get(broker)
            if peer is not None:
                peer.waiting.pop(number, None)
                if number in peer.sent:
                    peer.sent[number] = None

    def forget_all(self) -> None:
        """Nothing that was asked so far needs an answer."""
        self._peers.clear()

    def peer_renewed(self, turn: Turn, broker: str) -> None:
        """Ask a peer again what it may have forgotten."""
        peer = self._peers.get(broker)
        if peer is not None:
            sent, peer.sent = peer.sent, {}
            for number, question in reversed(sent.items()):
                if question is not None:
                    peer.waiting[number] = question
                    peer.waiting.move_to_end(number, last=False)
            self._ask_on(turn, broker, peer)

    def _ask_on(self, turn: Turn, broker: str, peer: _Peer) -> None:
        while peer.waiting and len(peer.sent) < self._at_once_max:
            number, question = peer.waiting.popitem(last=False)
            peer.sent[number] = question
            self._send(turn, broker, question)
