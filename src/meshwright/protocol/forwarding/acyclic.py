"""Forwarding on a tree: filters spread over it, frames follow them.

A filter goes over a link unless one that covers it went before (covering = false: unless it went
itself). Every change is answered when all behind the one who heard it have it, so a broker knows
when its filter is in force everywhere. With advertisements = true, filters go only towards origins
whose topics they meet, and the first frame on a topic waits until its origin is known everywhere;
an origin advertises as long as it lives. Where brokers die, the pieces of the tree are linked
anew, and each new link is told what it lacks. [mobility, 4.1; OCBR, 5.1]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from meshwright.filters.covering import intersects
from meshwright.filters.filter import Filter
from meshwright.protocol.effects import TimerKey
from meshwright.protocol.forwarding.answers import Answers, Wait
from meshwright.protocol.forwarding.forwarding import Surroundings, drop_circling
from meshwright.protocol.forwarding.link_filters import Change, LinkFilters, LinkKnowledge
from meshwright.protocol.forwarding.living_tree import living_tree, next_hop
from meshwright.protocol.forwarding.own_topics import WantedCounts
from meshwright.protocol.forwarding.recent_frames import RecentFrames
from meshwright.protocol.message import Message
from meshwright.protocol.stream import StreamFrame
from meshwright.protocol.turn import Action, Turn

HELD_MAX = 1_024
VISITED = 1


class AlongTree(Message, frozen=True, gc=False):
    """A frame on its way to those who want it."""

    epoch: int
    frame: StreamFrame
    hops: int


class FilterChange(Message, frozen=True, gc=False):
    """The sender, or somebody behind it, wants some filters from now on, and others no more."""

    epoch: int
    number: int
    added: tuple[Filter, ...]
    removed: tuple[Filter, ...]


class AdvertisementChange(Message, frozen=True, gc=False):
    """The sender, or somebody behind it, sends on some topics from now on, on others no more."""

    epoch: int
    number: int
    added: tuple[Filter, ...]
    removed: tuple[Filter, ...]


class ChangeInstalled(Message, frozen=True, gc=False):
    """Changes up to this number are known to the sender, and to all behind it that need to know."""

    epoch: int
    number: int


class AcyclicKnowledge(NamedTuple):
    """What a broker knows of its links, and the topics that it has advertised."""

    filters: LinkKnowledge
    advertisements: LinkKnowledge
    advertised: frozenset[str]


class Acyclic:
    """One broker's part in the forwarding of one overlay whose links make a tree."""

    accepts: Literal["topic", "filter"] = "filter"

    def __init__(self, around: Surroundings) -> None:
        overlay, me = around.overlay, around.me
        self._around = around
        self._seen = frozenset(overlay.brokers)
        self._tree = living_tree(overlay, self._seen)
        self._planned = self._tree[me]
        self._hops_max = len(overlay.brokers)
        self._recent = RecentFrames()
        self._answers = Answers()
        self._wanted: WantedCounts[Filter] = WantedCounts()
        self._advertises = bool(overlay.params.get("advertisements", False))
        self._advertisements = LinkFilters(me, self._planned)
        self._filters = LinkFilters(
            me,
            self._planned,
            covering=bool(overlay.params.get("covering", True)),
            is_due=self._is_due,
        )
        self._advertised: set[str] = set()
        self._held: dict[str, list[StreamFrame]] = {}
        self._handlers: dict[type, Callable[[Turn, str, Any], None]] = {
            AlongTree: self._visited,
            FilterChange: self._filters_changed,
            AdvertisementChange: self._advertisements_changed,
            ChangeInstalled: lambda turn, peer, message: self._answers.answered(
                turn, peer, message.number
            ),
        }

    def neighbours(self) -> tuple[str, ...]:
        """The overlay's own, to see them return, and those that the dead had joined."""
        return tuple(sorted({*self._planned, *self._links}))

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        one = wanted.ungrouped()
        if self._wanted.add(one, wanted):
            self._tell(turn, FilterChange, self._filters.hear(self._around.me, (one,)))
        self._answers.wait(turn, self._links, done)

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        one = wanted.ungrouped()
        if self._wanted.discard(one, wanted):
            self._tell(turn, FilterChange, self._filters.hear(self._around.me, (), (one,)))

    def send_out(self, turn: Turn, frame: StreamFrame) -> None:
        topic = frame.publication.topic
        held = self._held.get(topic)
        if held is not None:
            if len(held) < HELD_MAX:
                held.append(frame)
        elif self._advertises and topic not in self._advertised:
            self._advertised.add(topic)
            self._held[topic] = [frame]
            self._advertise(turn, topic)
        else:
            self._visit(turn, frame, self._around.me, 0)

    def handle(self, turn: Turn, peer: str, message: Any) -> None:
        self._handlers[type(message)](turn, peer, message)

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        """Nothing here waits for a time."""

    def alive_changed(self, turn: Turn, alive: tuple[str, ...]) -> None:
        seen = frozenset(alive).intersection(self._around.overlay.brokers) | {self._around.me}
        if seen != self._seen:
            before = self._links
            self._seen = seen
            self._tree = living_tree(self._around.overlay, seen)
            lost = [link for link in before if link not in self._links]
            self._relink(turn, self._answers.withdraw(lost))

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        self._advertisements.forget(peer)
        self._filters.forget(peer)
        self._relink(turn, self._answers.renew(peer))

    def knowledge(self) -> AcyclicKnowledge:
        me = self._around.me
        peers = sorted({*self._planned, *self._links})
        return AcyclicKnowledge(
            self._filters.known(peers),
            self._advertisements.known((me, *peers)),
            frozenset(self._advertised.difference(self._held)),
        )

    def inherit(self, knowledge: Any, seats: Mapping[str, str]) -> tuple[Filter, ...]:
        """Filters of this broker itself are added anew, which tells nothing that was told."""
        del seats
        self._filters.inherit(knowledge.filters)
        self._advertisements.inherit(knowledge.advertisements)
        self._advertised = set(knowledge.advertised)
        return ()

    def settle(self, turn: Turn, done: Action) -> None:
        self._relink(turn, [])
        self._answers.wait(turn, self._links, done)

    def path(self, topic: str, source: str) -> tuple[tuple[str, str], ...]:
        """Over links that want the topic without asking for content, but for that to the source."""
        me = self._around.me
        if source not in self._tree:
            return ()
        back = next_hop(self._tree, me, source)
        wanting = self._filters.wanting(topic, ())
        return tuple((me, link) for link in wanting if link != back)

    @property
    def _links(self) -> tuple[str, ...]:
        return self._tree[self._around.me]

    def _visited(self, turn: Turn, peer: str, message: AlongTree) -> None:
        self._visit(turn, message.frame, peer, message.hops)

    def _visit(self, turn: Turn, frame: StreamFrame, source: str, hops: int) -> None:
        if self._recent.mark(frame, VISITED):
            return
        self._around.arrived(turn, frame)
        if hops >= self._hops_max:
            drop_circling(turn, frame)
            return
        publication = frame.publication
        onward = AlongTree(self._around.epoch, frame, hops + 1)
        links = self._filters.wanting(publication.topic, publication.properties)
        if self._around.carried is not None:
            self._around.carried(publication.topic, source, links)
        for link in links:
            if link != source:
                self._around.send(turn, link, onward)

    def _filters_changed(self, turn: Turn, peer: str, message: FilterChange) -> None:
        changes = self._filters.hear(peer, message.added, message.removed)
        self._tell(turn, FilterChange, changes)
        self._answer_later(turn, peer, message.number)

    def _advertisements_changed(self, turn: Turn, peer: str, message: AdvertisementChange) -> None:
        changes = self._advertisements.hear(peer, message.added, message.removed)
        self._tell(turn, AdvertisementChange, changes)
        self._tell(turn, FilterChange, self._filters.due(peer, message.added))
        self._answer_later(turn, peer, message.number)

    def _answer_later(self, turn: Turn, peer: str, number: int) -> None:
        """Answer once all behind this broker have it; nobody is behind a peer that is no link."""
        answer = ChangeInstalled(self._around.epoch, number)
        links = self._links if peer in self._links else ()
        self._answers.wait(
            turn, links, lambda later: self._around.tell(later, peer, answer), source=peer
        )

    def _advertise(self, turn: Turn, topic: str) -> None:
        changes = self._advertisements.hear(self._around.me, (Filter(topic),))
        self._tell(turn, AdvertisementChange, changes)

        def known(later: Turn) -> None:
            for frame in self._held.pop(topic):
                self._visit(later, frame, self._around.me, 0)

        self._answers.wait(turn, self._links, known)

    def _relink(self, turn: Turn, waits: list[Wait]) -> None:
        """Bring all links in line; who waited for lost answers waits for what is told now."""
        self._tell(turn, AdvertisementChange, self._advertisements.relink(self._links))
        self._tell(turn, FilterChange, self._filters.relink(self._links))
        self._answers.resume(turn, waits, self._links)

    def _tell(
        self,
        turn: Turn,
        kind: type[FilterChange | AdvertisementChange],
        changes: dict[str, Change],
    ) -> None:
        for link, change in changes.items():
            number = self._answers.number(link)
            message = kind(self._around.epoch, number, change.added, change.removed)
            self._around.tell(turn, link, message)

    def _is_due(self, link: str, one: Filter) -> bool:
        """Whether somebody behind a link sends what a filter may match."""
        return not self._advertises or any(
            intersects(one, sent) for sent in self._advertisements.heard(link)
        )
