"""Retained messages for a new subscription: each matching topic's register, read by a majority.

A topic has one register, whose keepers are known. Which topics a wildcard takes is not, so every
broker is asked for what it keeps; a topic counts as read when a majority of its keepers answered.
The subscription need not wait for brokers that are lost: what only they can tell follows when they
return.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.filters.topics import has_wildcard
from meshwright.model.publication import Publication
from meshwright.protocol.directory import Directory
from meshwright.protocol.entries import EVERYBODY, Entries, Entry, merge, register_key
from meshwright.protocol.message import Message
from meshwright.protocol.removals import Removals
from meshwright.protocol.turn import Action, Turn

Found = Callable[[Turn, Publication], None]


class Find(Protocol):
    """Looks up what is retained."""

    def __call__(
        self, turn: Turn, wanted: Filter, *, found: Found, answered: Action, complete: Action
    ) -> None:
        """Call found with each message that is retained and wanted.

        answered is called when all living brokers have answered, complete when nothing can follow.
        """


class RetainedQuestion(Message, frozen=True, gc=False):
    """Tell me all registers that you keep of topics that this filter takes."""

    request: int
    topic_filter: str


class RetainedAnswer(Message, frozen=True, gc=False):
    """Topics with their registers here, deleted ones included."""

    request: int
    registers: tuple[tuple[str, Entry], ...]


class _Search:
    """A question under way to all brokers; answered is None once it was called.

    missing_max: how many keepers of a topic need not answer.
    """

    __slots__ = (
        "answered", "complete", "found", "merged", "missing_max", "told", "waiting", "wanted",
    )  # fmt: skip

    def __init__(
        self,
        wanted: Filter,
        brokers: tuple[str, ...],
        *,
        found: Found,
        answered: Action,
        complete: Action,
        missing_max: int,
    ) -> None:
        self.wanted = wanted
        self.missing_max = missing_max
        self.waiting = dict.fromkeys(brokers)
        self.found = found
        self.answered: Action | None = answered
        self.complete = complete
        self.merged: Entries = {}
        self.told: dict[str, None] = {}


class Retained:
    """Finds what the network retains, and tells others what is kept here."""

    def __init__(
        self,
        removals: Removals,
        directory: Directory,
        *,
        send: Callable[[Turn, str, Any], None],
        is_lost: Callable[[str], bool],
        incarnation: int,
    ) -> None:
        self._removals = removals
        self._directory = directory
        self._send = send
        self._is_lost = is_lost
        self._request_count = incarnation << 32
        self._searches: dict[int, _Search] = {}

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        """Which message is for which method."""
        return {RetainedQuestion: self.asked, RetainedAnswer: self.answered}

    def find(
        self, turn: Turn, wanted: Filter, *, found: Found, answered: Action, complete: Action
    ) -> None:
        """See Find."""

        def read(later: Turn, entries: Entries) -> None:
            _tell(later, entries.get(EVERYBODY), wanted, found)
            answered(later)
            complete(later)

        if has_wildcard(wanted.levels):
            search = _Search(
                wanted,
                self._removals.present,
                found=found,
                answered=answered,
                complete=complete,
                missing_max=self._directory.missing_max(),
            )
            self._search(turn, search)
        else:
            key = register_key(wanted.topic_filter)
            self._directory.get(turn, key, read, is_remembered=False)

    def asked(self, turn: Turn, peer: str, message: RetainedQuestion) -> None:
        """Another broker searches."""
        wanted = parse_filter(message.topic_filter)
        registers = tuple(self._directory.kept.registers(wanted))
        answer = RetainedAnswer(message.request, registers)
        # What is told must not be forgotten by a crash: a reader relies on it.
        turn.once_synced(lambda later: self._send(later, peer, answer))

    def answered(self, turn: Turn, peer: str, message: RetainedAnswer) -> None:
        """A broker tells what it keeps."""
        search = self._searches.get(message.request)
        if search is None or peer not in search.waiting:
            return
        del search.waiting[peer]
        for topic, register in message.registers:
            merge(search.merged, {topic: register})
        self._go_on(turn, message.request, search)

    def peer_lost(self, turn: Turn, peer: str) -> None:
        """Answer subscriptions that waited only for brokers that are lost."""
        for request, search in list(self._searches.items()):
            if peer in search.waiting:
                self._go_on(turn, request, search)

    def roll_changed(self, turn: Turn) -> None:
        """Do not wait for who is gone for good, but for everybody else: they keep what it kept."""
        for request, search in list(self._searches.items()):
            search.missing_max = 0
            for name in [name for name in search.waiting if self._removals.is_removed(name)]:
                del search.waiting[name]
            self._go_on(turn, request, search)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Ask a broker again what it may have forgotten to answer."""
        for request, search in self._searches.items():
            if peer in search.waiting:
                self._ask(turn, peer, request, search)

    def _search(self, turn: Turn, search: _Search) -> None:
        self._request_count += 1
        request = self._request_count
        self._searches[request] = search
        for broker in list(search.waiting):
            self._ask(turn, broker, request, search)
        self._go_on(turn, request, search)

    def _ask(self, turn: Turn, broker: str, request: int, search: _Search) -> None:
        self._send(turn, broker, RetainedQuestion(request, search.wanted.topic_filter))

    def _go_on(self, turn: Turn, request: int, search: _Search) -> None:
        """Tell all topics that are known by now, and answer if nobody need be waited for."""
        if request not in self._searches:
            return
        for topic, register in list(search.merged.items()):
            if topic not in search.told and self._is_read(topic, search):
                search.told[topic] = None
                _tell(turn, register, search.wanted, search.found)
        is_complete = len(search.waiting) <= search.missing_max
        is_enough = is_complete or all(map(self._is_lost, search.waiting))
        if search.answered is not None and is_enough:
            answered, search.answered = search.answered, None
            answered(turn)
        if is_complete:
            del self._searches[request]
            search.complete(turn)

    def _is_read(self, topic: str, search: _Search) -> bool:
        keepers = self._directory.keepers_of(register_key(topic))
        missing = sum(keeper in search.waiting for keeper in keepers)
        return missing <= search.missing_max


def _tell(turn: Turn, register: Entry | None, wanted: Filter, found: Found) -> None:
    publication = None if register is None else register.publication
    if publication is not None and matches(wanted, publication.topic, publication.properties):
        found(turn, publication)
