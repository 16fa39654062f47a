"""Retained messages for a new subscription: each matching topic's register, read by a majority.

A topic has one register, whose replicas are known. Which topics a wildcard takes is not, so every
broker is asked for what it keeps; a topic counts as read when a majority of its replicas answered.
The subscription need not wait for brokers that are lost: what only they can tell follows when they
return.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice
from typing import Protocol

from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.filters.topics import has_wildcard
from meshwright.model.publication import Publication
from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.directory.entries import EVERYBODY, Entries, Entry, merge, register_key
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.serials import serials
from meshwright.protocol.foundation.slices import PIECE, Slices
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.open_questions import OpenQuestion, OpenQuestions
from meshwright.protocol.peers.removals import Removals

# So many registers are told with one message.
REGISTERS_MAX = 500

Found = Callable[[Turn, Publication], None]


class Find(Protocol):
    """Looks up what is retained."""

    def __call__(
        self, turn: Turn, wanted: Filter, *, found: Found, answered: Action, complete: Action
    ) -> None:
        """Call found with each message that is retained and wanted.

        answered is called when all living brokers have answered, complete when nothing can follow.
        """


class RetainedQuestion(PeerMessage, frozen=True, gc=False, tag=92):
    """Tell me all registers that you keep of topics that this filter takes."""

    counts_as = "directory"

    request: int
    topic_filter: str


class RetainedAnswer(PeerMessage, frozen=True, gc=False, tag=93):
    """Topics with their registers here, deleted ones included.

    first: how many were told before these. is_last: there are no more.
    """

    counts_as = "directory"

    request: int
    registers: tuple[tuple[str, Entry], ...]
    first: int = 0
    is_last: bool = True


class _Search(OpenQuestion):
    """A question under way to all brokers; answered is None once it was called.

    counts: how many registers brokers have told that may have more. missing_max: how many replicas
    of a topic need not answer. read: what is to be told, some at a time while is_telling.
    """

    __slots__ = (
        "answered", "complete", "counts", "found", "is_telling", "merged", "missing_max", "read",
        "told", "wanted",
    )  # fmt: skip

    def __init__(
        self,
        request: int,
        wanted: Filter,
        brokers: tuple[str, ...],
        *,
        found: Found,
        answered: Action,
        complete: Action,
        missing_max: int,
    ) -> None:
        super().__init__(RetainedQuestion(request, wanted.topic_filter), brokers)
        self.wanted = wanted
        self.missing_max = missing_max
        self.counts: dict[str, int] = {}
        self.found = found
        self.answered: Action | None = answered
        self.complete = complete
        self.merged: Entries = {}
        self.told: dict[str, None] = {}
        self.read: deque[Entry] = deque()
        self.is_telling = False


class Retained:
    """Finds what the network retains, and tells others what is kept here."""

    def __init__(
        self,
        removals: Removals,
        directory: Directory,
        *,
        conversations: Conversations,
        incarnation: int,
        slices: Slices,
    ) -> None:
        self._removals = removals
        self._slices = slices
        self._directory = directory
        self._conversations = conversations
        self._send = conversations.send
        self._requests = serials(incarnation)
        self._searches: OpenQuestions[int, _Search] = OpenQuestions(conversations)
        # By asker and its request: answers that are not finished.
        self._answering: dict[tuple[str, int], object] = {}

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (
            on(RetainedQuestion, self.asked),
            on(RetainedAnswer, self.answered),
        )

    def find(
        self, turn: Turn, wanted: Filter, *, found: Found, answered: Action, complete: Action
    ) -> None:
        """See Find."""

        def read(later: Turn, entries: Entries) -> None:
            _tell(later, entries.get(EVERYBODY), wanted, found)
            answered(later)
            complete(later)

        if has_wildcard(wanted.levels):
            request = next(self._requests)
            search = _Search(
                request,
                wanted,
                self._removals.present,
                found=found,
                answered=answered,
                complete=complete,
                missing_max=self._directory.missing_max(),
            )
            self._searches.ask(turn, request, search)
            self._go_on(turn, request, search)
        else:
            key = register_key(wanted.topic_filter)
            self._directory.get(turn, key, read, is_remembered=False)

    def asked(self, turn: Turn, peer: str, message: RetainedQuestion) -> None:
        """Another broker searches."""
        wanted = parse_filter(message.topic_filter)
        registers = self._directory.kept.registers(wanted)
        asked, told = (peer, message.request), 0
        # Whoever asks again is answered from the beginning.
        mine = self._answering[asked] = object()

        def answer(later: Turn) -> bool:
            nonlocal told
            if self._answering.get(asked) is not mine:
                return False
            some = tuple(islice(registers, REGISTERS_MAX))
            is_last = len(some) < REGISTERS_MAX
            part = RetainedAnswer(message.request, some, told, is_last)
            told += len(some)
            if is_last:
                del self._answering[asked]
            # What is told must not be forgotten by a crash: a reader relies on it.
            later.once_synced(lambda synced: self._send(synced, peer, part))
            return not is_last

        self._slices.begin(turn, answer)

    def answered(self, turn: Turn, peer: str, message: RetainedAnswer) -> None:
        """A broker tells what it keeps."""
        search = self._searches.open_to(peer, message.request)
        if search is None or message.first not in (0, search.counts.get(peer)):
            # Or the rest of an answer of which something is lost; the peer is asked again.
            return
        search.counts[peer] = message.first + len(message.registers)
        merge(search.merged, dict(message.registers))
        if message.is_last:
            self._searches.answered(peer, message.request)
            self._go_on(turn, message.request, search)

    def peer_lost(self, turn: Turn, peer: str) -> None:
        """Answer subscriptions that waited only for brokers that are lost."""
        for request, search in list(self._searches.items()):
            if peer in search.waiting_for:
                self._go_on(turn, request, search)

    def roll_changed(self, turn: Turn) -> None:
        """Do not wait for who is gone for good, but for everybody else: they keep what it kept."""
        self._searches.forget_removed(self._removals.is_removed)
        for request, search in list(self._searches.items()):
            search.missing_max = 0
            self._go_on(turn, request, search)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Ask a broker again what it may have forgotten to answer."""
        for search in self._searches.values():
            search.counts.pop(peer, None)
        self._searches.peer_renewed(turn, peer)

    def _go_on(self, turn: Turn, request: int, search: _Search) -> None:
        """Tell all topics that are known by now, and answer if nobody need be waited for."""
        if request not in self._searches:
            return
        for topic, register in search.merged.items():
            if topic not in search.told and self._is_read(topic, search):
                search.told[topic] = None
                search.read.append(register)
        if not search.is_telling:
            search.is_telling = True
            self._slices.begin(turn, lambda later: self._tell_some(later, request, search))

    def _tell_some(self, turn: Turn, request: int, search: _Search) -> bool:
        for _ in range(min(PIECE, len(search.read))):
            _tell(turn, search.read.popleft(), search.wanted, search.found)
        if search.read:
            return True
        search.is_telling = False
        self._end_if_told(turn, request, search)
        return False

    def _end_if_told(self, turn: Turn, request: int, search: _Search) -> None:
        is_complete = len(search.waiting_for) <= search.missing_max
        is_enough = is_complete or all(map(self._conversations.is_lost, search.waiting_for))
        if search.answered is not None and is_enough:
            answered, search.answered = search.answered, None
            answered(turn)
        if is_complete:
            del self._searches[request]
            search.complete(turn)

    def _is_read(self, topic: str, search: _Search) -> bool:
        replicas = self._directory.replicas_of(register_key(topic))
        missing = sum(replica in search.waiting_for for replica in replicas)
        return missing <= search.missing_max


def _tell(turn: Turn, register: Entry | None, wanted: Filter, found: Found) -> None:
    publication = None if register is None else register.publication
    if publication is not None and matches(wanted, publication.topic, publication.properties):
        found(turn, publication)
