"""Filters by link on a tree: which link wants what, and what must be told over which link.

A broker tells over a link the filters wanted here or behind its other links, unless a filter that
covers them was told before. So the filters told cover all that are wanted, and each filter told is
one that is wanted. When a filter goes, those that it kept back are told instead. What two brokers
told each other is valid for as long as their conversation lasts, even while the tree does not link
them, so a link that returns needs only the difference. [mobility, 4.1]
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from meshwright.filters.clauses import clauses_cover
from meshwright.filters.covering import cover_set
from meshwright.filters.filter import Filter
from meshwright.filters.index import FilterIndex
from meshwright.filters.names import TopicNames
from meshwright.filters.topics import has_wildcard
from meshwright.filters.values import Properties
from meshwright.protocol.forwarding.acyclic.own_advertisements import may_send

ROUTES_MAX = 65_536


class Change(NamedTuple):
    """Filters to tell over a link, and filters to take back."""

    added: tuple[Filter, ...]
    removed: tuple[Filter, ...]


class LinkKnowledge(NamedTuple):
    """The filters heard from each peer and from the broker itself, and those told to each."""

    heard: dict[str, tuple[Filter, ...]]
    told: dict[str, tuple[Filter, ...]]

    def only(self, names: Collection[str]) -> LinkKnowledge:
        """The same for these brokers only."""
        return LinkKnowledge(
            {name: one for name, one in self.heard.items() if name in names},
            {name: one for name, one in self.told.items() if name in names},
        )


class LinkFilters:
    """The filters of this broker and of its links; a source is a link or the broker itself.

    covering: a filter is kept back where one that covers it was told, not only where it was told
        itself.
    is_due: True if a filter need be told over a link at all.
    """

    def __init__(
        self,
        me: str,
        links: Iterable[str],
        *,
        covering: bool = True,
        is_due: Callable[[str, Filter], bool] = lambda _link, _wanted: True,
    ) -> None:
        self._me = me
        self._covering = covering
        self._is_due = is_due
        self._links = tuple(links)
        self._heard: dict[str, dict[Filter, None]] = {}
        self._told: dict[str, dict[Filter, None]] = {}
        self._told_indexes: dict[str, FilterIndex[str]] = {}
        # By topic filter, so that filters that an exact topic covers are found at once.
        self._sources: dict[str, dict[Filter, dict[str, None]]] = {}
        # The same topic filters, by their levels: those that a wildcard covers are found at once.
        self._topic_filters = TopicNames()
        self._wanted: FilterIndex[str] = FilterIndex()
        self._routes: dict[str, tuple[str, ...]] = {}

    def wanting(self, topic: str, properties: Properties) -> tuple[str, ...]:
        """The links that want a message, in the order in which they said so."""
        links = self._routes.get(topic)
        if links is None:
            pairs, asks_content = self._wanted.look_up(topic, properties)
            links = tuple(dict(pairs))
            if not asks_content:
                if len(self._routes) >= ROUTES_MAX:
                    self._routes.clear()
                self._routes[topic] = links
        return links

    @property
    def links(self) -> tuple[str, ...]:
        """The present links of this broker."""
        return self._links

    def heard(self, source: str) -> Collection[Filter]:
        """The filters that a source wants."""
        return self._heard.get(source, ())

    def told(self, link: str) -> Collection[Filter]:
        """The filters told over a link."""
        return self._told.get(link, ())

    def hear(
        self, source: str, added: Iterable[Filter], removed: Iterable[Filter] = ()
    ) -> dict[str, Change]:
        """A source wants some filters, and others no more; returns what to tell over each link."""
        heard = self._heard.setdefault(source, {})
        come = [one for one in added if one not in heard]
        gone = [one for one in removed if one in heard]
        heard.update(dict.fromkeys(come))
        for one in gone:
            del heard[one]
        if source != self._me and source not in self._links:
            return {}
        self._support(source, come)
        self._oppose(source, gone)
        others = (link for link in self._links if link != source)
        return _said((link, self._settle(link, come, gone)) for link in others)

    def known(self, peers: Iterable[str]) -> LinkKnowledge:
        """The filters that these peers told and were told."""
        peers = tuple(peers)
        return LinkKnowledge(
            {peer: tuple(self.heard(peer)) for peer in peers},
            {peer: tuple(self.told(peer)) for peer in peers},
        )

    def known_but(self, peers: Collection[str]) -> LinkKnowledge:
        """The filters that all but these peers, this broker included, told and were told."""
        return LinkKnowledge(
            {name: tuple(heard) for name, heard in self._heard.items() if name not in peers},
            {name: tuple(told) for name, told in self._told.items() if name not in peers},
        )

    def inherit(self, known: LinkKnowledge) -> None:
        """Start from what peers, and this broker itself, told and were told before."""
        for source, heard in known.heard.items():
            self._heard[source] = dict.fromkeys(heard)
            if source == self._me or source in self._links:
                self._support(source, self._heard[source])
        for link, told in known.told.items():
            self._told[link] = dict.fromkeys(told)
            index = self._told_indexes[link] = FilterIndex()
            for one in told:
                index.add(link, one)

    def relink(self, links: Iterable[str]) -> dict[str, Change]:
        """This broker has other links now; returns what to tell over each."""
        before, self._links = self._links, tuple(links)
        for link in before:
            if link not in self._links:
                self._oppose(link, self.heard(link))
        for link in self._links:
            if link not in before:
                self._support(link, self.heard(link))
        return _said(
            (link, self._settle(link, self._all(), tuple(self.told(link)))) for link in self._links
        )

    def forget(self, peer: str) -> None:
        """Forget what a peer told and was told; relink exchanges it again."""
        heard = self._heard.pop(peer, {})
        if peer in self._links:
            self._oppose(peer, heard)
        self._told.pop(peer, None)
        self._told_indexes.pop(peer, None)

    def due(self, link: str, sent: tuple[Filter, ...]) -> dict[str, Change]:
        """Origins behind a link advertise anew; returns what to tell over it."""
        if link not in self._links:
            return {}
        come = [one for one in self._all() if any(may_send(new, one) for new in sent)]
        return _said([(link, self._settle(link, come, ()))])

    def _support(self, source: str, filters: Iterable[Filter]) -> None:
        for one in filters:
            self._sources.setdefault(one.topic_filter, {}).setdefault(one, {})[source] = None
            self._topic_filters.add(one.topic_filter)
            if source != self._me:
                self._wanted.add(source, one)
                self._forget_routes(one)

    def _oppose(self, source: str, filters: Iterable[Filter]) -> None:
        for one in filters:
            same_topic = self._sources[one.topic_filter]
            del same_topic[one][source]
            if not same_topic[one]:
                del same_topic[one]
                if not same_topic:
                    del self._sources[one.topic_filter]
                    self._topic_filters.discard(one.topic_filter)
            if source != self._me:
                self._wanted.discard(source, one)
                self._forget_routes(one)

    def _settle(self, link: str, come: Iterable[Filter], gone: Iterable[Filter]) -> Change:
        """Take back filters that are not wanted or due any more, then tell those that are.

        Of these, none that one told covers.
        """
        told = self._told.setdefault(link, {})
        index = self._told_indexes.get(link)
        if index is None:
            index = self._told_indexes[link] = FilterIndex()
        removed = [
            one
            for one in gone
            if one in told and not (self._is_wanted(link, one) and self._is_due(link, one))
        ]
        for one in removed:
            del told[one]
            index.discard(link, one)
        candidates = dict.fromkeys((*come, *self._kept_back(removed)))
        added: Iterable[Filter] = (
            one
            for one in candidates
            if self._is_wanted(link, one)
            and one not in told
            and not (self._covering and index.covering(one))
            and self._is_due(link, one)
        )
        added = cover_set(added) if self._covering else tuple(added)
        for one in added:
            told[one] = None
            index.add(link, one)
        return Change(added, tuple(removed))

    def _is_wanted(self, link: str, one: Filter) -> bool:
        """True if a source other than the link itself wants a filter."""
        sources = self._sources.get(one.topic_filter, {}).get(one, {})
        return len(sources) > (link in sources)

    def _kept_back(self, removed: list[Filter]) -> Iterator[Filter]:
        """The filters that one of these covers."""
        if not self._covering:
            return
        for wide in removed:
            for topic_filter in self._topic_filters.taken_by(wide):
                rivals = self._sources[topic_filter]
                yield from (one for one in rivals if clauses_cover(wide.clauses, one.clauses))

    def _all(self) -> Iterator[Filter]:
        """All filters that a source wants."""
        for same_topic in self._sources.values():
            yield from same_topic

    def _forget_routes(self, changed: Filter) -> None:
        if has_wildcard(changed.levels):
            self._routes.clear()
        else:
            self._routes.pop(changed.topic_filter, None)


def _said(changes: Iterable[tuple[str, Change]]) -> dict[str, Change]:
    """The changes that are not empty."""
    return {link: change for link, change in changes if any(change)}
