"""Forwarding on a tree: filters spread over the tree, and frames follow them.

A filter goes over a link unless one that covers it went before (with covering = false: unless it
went itself). A broker acknowledges a change of filters when all brokers behind it have it, so the
first knows when its filter is in force everywhere. With advertisements = true, filters go only
towards origins whose messages they match, and the first frame on a topic waits until its origin is
known. With a root, filters climb to it alone, and so does every frame (`TableRules`). Where brokers
die, the pieces of the tree are linked anew, and each new link is told what it lacks. Where a star
is redrawn, its filters are known before (`star_change`). [mobility, 4.1; OCBR, 5.1]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

from meshwright.filters.filter import Filter
from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.protocol.forwarding.acyclic.answers import Answers, Wait
from meshwright.protocol.forwarding.acyclic.link_filters import Change, LinkKnowledge
from meshwright.protocol.forwarding.acyclic.living_tree import living_root, living_tree, next_hop
from meshwright.protocol.forwarding.acyclic.own_advertisements import OwnAdvertisements
from meshwright.protocol.forwarding.acyclic.star_change import Pause, StarChange
from meshwright.protocol.forwarding.acyclic.tree_tables import (
    Behind,
    StarLink,
    TableRules,
    TreeTables,
)
from meshwright.protocol.forwarding.forwarding import ForwardingMessage, Surroundings, drop_circling
from meshwright.protocol.forwarding.own_topics import WantedCounts
from meshwright.protocol.forwarding.recent_frames import RecentFrames, frame_key
from meshwright.protocol.foundation.dispatch import on, table_of
from meshwright.protocol.foundation.effects import TimerKey
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn

HELD_MAX = 1_024
VISITED = 1


class AlongTree(ForwardingMessage, frozen=True, gc=False, tag=76):
    """A frame on its way along the tree; version: of the tables by which it was sent."""

    counts_as = "publication"

    frame: StreamFrame
    hops: int
    version: int = 0


class FilterChange(ForwardingMessage, frozen=True, gc=False, tag=77):
    """The sender, or a broker behind it, wants some filters from now on, and others no more."""

    counts_as = "subscription"

    number: int
    added: tuple[Filter, ...]
    removed: tuple[Filter, ...]


class AdvertisementChange(ForwardingMessage, frozen=True, gc=False, tag=78):
    """The sender, or an origin behind it, publishes on some topics, and on others no more."""

    counts_as = "advertisement"

    number: int
    added: tuple[Filter, ...]
    removed: tuple[Filter, ...]


class ChangeInstalled(ForwardingMessage, frozen=True, gc=False, tag=79):
    """The sender, and all brokers behind it that must, know changes up to this number."""

    counts_as = "acknowledgement"

    number: int


class AcyclicKnowledge(NamedTuple):
    """The filters on a broker's links, and what it has advertised on which topic."""

    filters: LinkKnowledge
    advertisements: LinkKnowledge
    advertised: dict[str, tuple[Filter, ...]]


class Acyclic:
    """One broker's part in forwarding on an overlay whose links make a tree."""

    accepts: Literal["topic", "filter"] = "filter"

    def __init__(self, around: Surroundings) -> None:
        overlay, me = around.overlay, around.me
        self._around = around
        self._seen = frozenset(overlay.brokers)
        self._take_shape(overlay)
        self._hops_max = len(overlay.brokers)
        self._recent = RecentFrames()
        self._answers = Answers()
        self._wanted: WantedCounts[Filter] = WantedCounts()
        rules = TableRules(
            covering=bool(overlay.params.get("covering", True)),
            advertises=bool(overlay.params.get("advertisements", False)),
            has_root=self._root is not None,
        )
        self._tables = TreeTables(me, self._planned, rules, around.version, self._parent)
        self._star: StarChange | None = None
        self._pause = Pause()
        self._contents_max = int(overlay.params.get("contents_max") or 0)
        self._advertised = OwnAdvertisements(self._contents_max)
        self._held: dict[str, list[StreamFrame]] = {}
        self._handlers = table_of(
            on(FilterChange, self._filters_changed),
            on(AdvertisementChange, self._advertisements_changed),
            on(ChangeInstalled, self._change_installed),
        )

    def neighbours(self) -> tuple[str, ...]:
        """Neighbours by the overlay, those that replace dead ones, and those of a redrawn star."""
        star = () if self._star is None else self._star.links
        return tuple(sorted({*self._planned, *self._links, *star}))

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        if self._puts_off(turn, lambda later: self.add_interest(later, wanted, done)):
            return
        one = wanted.ungrouped()
        if self._wanted.add(one, wanted):
            self._tell(turn, FilterChange, self._tables.filters.hear(self._around.me, (one,)))
        self._answers.wait(turn, self._links, done)

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        if self._puts_off(turn, lambda later: self.remove_interest(later, wanted)):
            return
        one = wanted.ungrouped()
        if self._wanted.discard(one, wanted):
            self._tell(turn, FilterChange, self._tables.filters.hear(self._around.me, (), (one,)))

    def send_out(self, turn: Turn, frame: StreamFrame) -> None:
        if not self._tables.rules.advertises:
            self._visit(turn, frame, self._around.me, 0, self._tables)
            return
        topic = frame.publication.topic
        held = self._held.get(topic)
        if held is not None:
            if len(held) < HELD_MAX:
                held.append(frame)
            return
        change = self._advertised.note(frame.publication)
        if change is None:
            self._visit(turn, frame, self._around.me, 0, self._tables)
        else:
            self._held[topic] = [frame]
            self._advertise(turn, topic, Change(*change))

    def handle(self, turn: Turn, peer: str, message: ForwardingMessage) -> None:
        if type(message) is AlongTree:
            star, tables = self._star, self._tables
            if star is not None:
                tables = star.tables(tables, peer, message.version)
            self._visit(turn, message.frame, peer, message.hops, tables)
        elif not self._puts_off(turn, partial(self._handle_later, peer, message), peer):
            self._handlers[type(message)](turn, peer, message)

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        """Nothing here waits for a time."""

    def alive_changed(self, turn: Turn, alive: tuple[str, ...]) -> None:
        seen = frozenset(alive).intersection(self._overlay.brokers) | {self._around.me}
        if seen != self._seen:
            before = self._links
            self._seen = seen
            self._take_shape(self._overlay)
            self._relink(turn, self._withdraw(before))

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        if self._puts_off(turn, lambda later: self.peer_renewed(later, peer)):
            return
        self._tables.forget(peer)
        self._relink(turn, self._answers.renew(peer))

    def pause(self, besides: str | None = None) -> None:
        """Put off all changes of filters, but those that one peer tells."""
        self._pause.begin(besides)

    def behind(self, star: Iterable[str]) -> dict[str, Behind]:
        """The filters wanted behind each neighbour in a star, and behind this broker."""
        neighbours = [name for name in star if name != self._around.me]
        others = [link for link in self._links if link not in neighbours]
        return self._tables.behind(neighbours, others)

    @property
    def rules(self) -> TableRules:
        """How filters spread on this tree."""
        return self._tables.rules

    @property
    def version(self) -> int:
        """How often the links of this broker have changed in this epoch."""
        return self._tables.version

    def prepare(
        self, overlay: Overlay, versions: Mapping[str, int], inner: Iterable[StarLink]
    ) -> bool:
        """Make ready to switch to a redrawn star; False if brokers of it do not seem alive.

        versions: of the rows of its brokers after the change.
        inner: what is told on this broker's links within the star.
        """
        me, inner = self._around.me, tuple(inner)
        links = living_tree(overlay, self._seen)[me]
        if {link for link in links if link in versions} != {one.peer for one in inner}:
            return False
        star = frozenset(versions) - {me}
        after = self._tables.redrawn(links, star, inner, versions[me])
        self._star = StarChange(versions, self._tables, after, self._links, links)
        return True

    @property
    def is_prepared(self) -> bool:
        """True if a redrawn star is prepared, and not switched to yet."""
        return self._star is not None and self._star.after is not self._tables

    def switch(self, overlay: Overlay) -> None:
        """Send new frames along the redrawn star; frames in flight go on by the old links."""
        assert self._star is not None
        self._tables = self._star.after
        self._take_shape(overlay)

    def redraw(
        self, turn: Turn, overlay: Overlay, renewed: Iterable[str] = (), version: int | None = None
    ) -> None:
        """The tree has changed, elsewhere or also at this broker.

        version: of this broker's own links, if they changed and nothing was prepared.
        renewed: brokers with which to exchange all filters anew.
        """
        if version is not None:
            self.let_go(turn)
            self._tables.version = version
        before = self._links
        self._take_shape(overlay)
        if self._pause.is_on:
            return
        waits = self._withdraw(before)
        for peer in renewed:
            self._tables.forget(peer)
            waits += self._answers.renew(peer)
        if renewed or before != self._links:
            self._relink(turn, waits)

    def let_go(self, turn: Turn) -> None:
        """Drop the shape of a star that is not in use, and do what was put off."""
        star, self._star = self._star, None
        before = self._tables.filters.links if star is None else star.before_links
        if star is not None or before != self._links:
            self._relink(turn, self._withdraw(before))
        for action in self._pause.end():
            action(turn)

    def knowledge(self) -> AcyclicKnowledge:
        me = self._around.me
        peers = sorted({*self._planned, *self._links})
        return AcyclicKnowledge(
            self._tables.filters.known(peers),
            self._tables.advertisements.known((me, *peers)),
            self._advertised.known_but(self._held),
        )

    def inherit(self, knowledge: Any, heirs: Mapping[str, str]) -> tuple[Filter, ...]:
        """Filters of this broker itself are added anew, which tells nothing that was told."""
        del heirs
        names = (self._around.me, *self._links)
        self._tables.filters.inherit(knowledge.filters.only(names))
        self._tables.advertisements.inherit(knowledge.advertisements.only(names))
        self._advertised = OwnAdvertisements(self._contents_max, knowledge.advertised)
        return ()

    def settle(self, turn: Turn, done: Action) -> None:
        self._relink(turn, [])
        self._answers.wait(turn, self._links, done)

    def path(self, topic: str, source: str) -> tuple[tuple[str, str], ...]:
        """Links that take the topic whatever the content, but for the one towards the source."""
        me = self._around.me
        if source not in self._tree:
            return ()
        back = next_hop(self._tree, me, source)
        onward = self._tables.onward(topic, ())
        return tuple((me, link) for link in onward if link != back)

    def wanting(self, publication: Publication) -> tuple[str, ...]:
        """The links that want a publication of this broker's clients."""
        return self._tables.filters.wanting(publication.topic, publication.properties)

    @property
    def _links(self) -> tuple[str, ...]:
        return self._tree[self._around.me]

    def _puts_off(self, turn: Turn, action: Action, peer: str | None = None) -> bool:
        """Put an action off while a star is redrawn; returns whether it was. Not past a limit."""
        if self._pause.is_full:
            self.let_go(turn)
        return self._pause.takes(action, peer)

    def _take_shape(self, overlay: Overlay) -> None:
        """Compute this broker's links in the tree of living brokers."""
        me = self._around.me
        self._overlay = overlay
        self._planned = living_tree(overlay, frozenset(overlay.brokers))[me]
        self._tree = living_tree(overlay, self._seen)
        self._root = root = living_root(overlay, self._seen)
        self._parent = None if root in (None, me) else next_hop(self._tree, me, root)

    def _withdraw(self, before: Iterable[str]) -> list[Wait]:
        """The waits for answers on links that are gone."""
        return self._answers.withdraw([link for link in before if link not in self._links])

    def _handle_later(self, peer: str, message: ForwardingMessage, turn: Turn) -> None:
        self.handle(turn, peer, message)

    def _visit(
        self, turn: Turn, frame: StreamFrame, source: str, hops: int, tables: TreeTables
    ) -> None:
        if self._recent.note(frame_key(frame), VISITED):
            return
        around = self._around
        arrived, send = around.arrived, around.send
        if hops:
            arrived(turn, frame)
        if hops >= self._hops_max:
            drop_circling(turn, frame)
            return
        publication = frame.publication
        links = tables.onward(publication.topic, publication.properties)
        if around.carried is not None and tables is self._tables:
            around.carried(publication, source, links)
        onward: AlongTree | None = None
        for link in links:
            if link != source:
                if onward is None:
                    onward = AlongTree(around.epoch, frame, hops + 1, tables.version)
                send(turn, link, onward)

    def _filters_changed(self, turn: Turn, peer: str, message: FilterChange) -> None:
        changes = self._tables.filters.hear(peer, message.added, message.removed)
        self._tell(turn, FilterChange, changes)
        self._answer_later(turn, peer, message.number)

    def _change_installed(self, turn: Turn, peer: str, message: ChangeInstalled) -> None:
        self._answers.answered(turn, peer, message.number)

    def _advertisements_changed(self, turn: Turn, peer: str, message: AdvertisementChange) -> None:
        changes = self._tables.advertisements.hear(peer, message.added, message.removed)
        self._tell(turn, AdvertisementChange, changes)
        self._tell(turn, FilterChange, self._tables.filters.due(peer, message.added))
        self._answer_later(turn, peer, message.number)

    def _answer_later(self, turn: Turn, peer: str, number: int) -> None:
        """Acknowledge a change once all brokers behind this one have it."""
        answer = ChangeInstalled(self._around.epoch, number)
        links = self._links if peer in self._links else ()
        self._answers.wait(
            turn, links, lambda later: self._around.tell(later, peer, answer), source=peer
        )

    def _advertise(self, turn: Turn, topic: str, change: Change) -> None:
        if self._puts_off(turn, lambda later: self._advertise(later, topic, change)):
            return
        changes = self._tables.advertisements.hear(self._around.me, change.added, change.removed)
        self._tell(turn, AdvertisementChange, changes)

        def known(later: Turn) -> None:
            for frame in self._held.pop(topic):
                self.send_out(later, frame)

        self._answers.wait(turn, self._links, known)

    def _relink(self, turn: Turn, waits: list[Wait]) -> None:
        """Bring all links in line; waits for lost answers go on with what is told now."""
        tables, links = self._tables, self._links
        tables.parent = self._parent
        self._tell(turn, AdvertisementChange, tables.advertisements.relink(links))
        self._tell(turn, FilterChange, tables.filters.relink(links))
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
