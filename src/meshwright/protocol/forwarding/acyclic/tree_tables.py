"""The tables of a broker on a tree: filters by link, and how they follow for another shape.

When a star is redrawn, its master knows which filters are wanted behind each broker of the star. So
it can compute what each would have heard and told on its new links, and no filter need be sent;
brokers outside the star hear nothing of the change [OCBR, 5.3].
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from meshwright.filters.filter import Filter
from meshwright.filters.values import Properties
from meshwright.protocol.forwarding.acyclic.link_filters import LinkFilters
from meshwright.protocol.forwarding.acyclic.own_advertisements import may_send

Filters = tuple[Filter, ...]


class Behind(NamedTuple):
    """The filters wanted and advertised at or behind a broker of a star."""

    filters: Filters
    advertisements: Filters


class Said(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The filters that a broker has heard and told on a link."""

    heard: Filters
    told: Filters


class StarLink(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What both ends of a link in a redrawn star are taken to have told each other."""

    peer: str
    filters: Said
    advertisements: Said


class TableRules(NamedTuple):
    """How filters spread.

    covering: a filter is not told where a wider one was told.
    advertises: a filter is told only towards origins that advertise topics it matches.
    has_root: filters and advertisements are told towards the root; from there, and from any broker
        on the way, filters go down only to origins that advertise. Where none does, every frame
        climbs to the root instead.
    """

    covering: bool
    advertises: bool
    has_root: bool = False


class TreeTables:
    """Filters and advertisements by link, on one shape of the tree; version: of that shape.

    parent: the link towards the root; None at the root, and where there is none.
    """

    __slots__ = ("_me", "advertisements", "filters", "parent", "rules", "version")

    def __init__(
        self,
        me: str,
        links: Iterable[str],
        rules: TableRules,
        version: int,
        parent: str | None = None,
    ) -> None:
        links = tuple(links)
        self._me = me
        self.rules = rules
        self.version = version
        self.parent = parent
        self.advertisements = LinkFilters(
            me, links, covering=False, is_due=lambda link, _: self._is_upward(link)
        )
        self.filters = LinkFilters(me, links, covering=rules.covering, is_due=self._is_due)

    def onward(self, topic: str, properties: Properties) -> tuple[str, ...]:
        """The links that a message takes: those that want it, and the one up if all climb."""
        links = self.filters.wanting(topic, properties)
        parent = self.parent
        if parent is None or self.rules.advertises or parent in links:
            return links
        return (*links, parent)

    def forget(self, peer: str) -> None:
        """Forget what a peer told and was told; relinking exchanges it again."""
        self.advertisements.forget(peer)
        self.filters.forget(peer)

    def behind(self, neighbours: Iterable[str], others: Iterable[str]) -> dict[str, Behind]:
        """What is wanted behind some neighbours; all other links count as this broker's own."""
        groups = {**{name: (name,) for name in neighbours}, self._me: (self._me, *others)}
        return {
            name: Behind(_all_heard(self.filters, group), _all_heard(self.advertisements, group))
            for name, group in groups.items()
        }

    def redrawn(
        self, links: Iterable[str], star: Collection[str], inner: Iterable[StarLink], version: int
    ) -> TreeTables:
        """The tables for new links within a star; those for links out of it stay."""
        inner = tuple(inner)
        tables = TreeTables(self._me, links, self.rules, version, self.parent)
        advertised = {link.peer: link.advertisements for link in inner}
        _inherit(tables.advertisements, self.advertisements, star, advertised)
        _inherit(tables.filters, self.filters, star, {link.peer: link.filters for link in inner})
        return tables

    def _is_due(self, link: str, one: Filter) -> bool:
        """True if a link leads up to the root, or to an origin that may send what matches."""
        rules = self.rules
        if rules.advertises and _meets(one, self.advertisements.heard(link)):
            return True
        return self._is_upward(link) and (rules.has_root or not rules.advertises)

    def _is_upward(self, link: str) -> bool:
        """True if a link leads towards the root, or there is none."""
        return not self.rules.has_root or link == self.parent


def star_links(
    links: Iterable[tuple[str, str]], behind: Mapping[str, Behind], rules: TableRules
) -> dict[str, tuple[StarLink, ...]]:
    """For each broker of a star, what is told on its links if the star is redrawn to these."""
    links = tuple(links)
    said: dict[str, list[StarLink]] = {name: [] for name in behind}
    for one, other in links:
        near, far = _reached(links, one, other), _reached(links, other, one)
        towards_other = _told(behind, near, far, rules)
        towards_one = _told(behind, far, near, rules)
        said[one].append(_star_link(other, heard=towards_one, told=towards_other))
        said[other].append(_star_link(one, heard=towards_other, told=towards_one))
    return {name: tuple(found) for name, found in said.items()}


def _star_link(peer: str, *, heard: Behind, told: Behind) -> StarLink:
    return StarLink(
        peer,
        Said(heard.filters, told.filters),
        Said(heard.advertisements, told.advertisements),
    )


def _reached(links: tuple[tuple[str, str], ...], start: str, barred: str) -> list[str]:
    """The brokers on one side of a link."""
    reached = [start]
    seen = {start, barred}
    for here in reached:
        for link in links:
            if here in link:
                other = link[1] if link[0] == here else link[0]
                if other not in seen:
                    seen.add(other)
                    reached.append(other)
    return reached


def _told(
    behind: Mapping[str, Behind], near: list[str], far: list[str], rules: TableRules
) -> Behind:
    """The filters that brokers on the near side of a link tell the far side.

    Filters that a wider one covers are told, too: brokers outside were told them, and are not to
    hear of this change.
    """
    filters = dict.fromkeys(one for name in near for one in behind[name].filters)
    if rules.advertises:
        sent = [one for name in far for one in behind[name].advertisements]
        filters = dict.fromkeys(one for one in filters if _meets(one, sent))
    advertised = dict.fromkeys(one for name in near for one in behind[name].advertisements)
    return Behind(tuple(filters), tuple(advertised))


def _meets(one: Filter, advertised: Iterable[Filter]) -> bool:
    return any(may_send(sent, one) for sent in advertised)


def _all_heard(table: LinkFilters, sources: Iterable[str]) -> Filters:
    return tuple(dict.fromkeys(one for source in sources for one in table.heard(source)))


def _inherit(
    after: LinkFilters, before: LinkFilters, star: Collection[str], said: Mapping[str, Said]
) -> None:
    known = before.known_but(star)
    known.heard.update((peer, one.heard) for peer, one in said.items())
    known.told.update((peer, one.told) for peer, one in said.items())
    after.inherit(known)
