"""What a broker on a tree knows of its links, and how that follows from another shape of the tree.

When a star is redrawn, its master knows what is wanted behind each of the others. So it can tell
every one of them what it would have heard and told on its new links, and brokers that are not in
the star hear of no filter at all [OCBR, 5.3].
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from meshwright.filters.covering import intersects
from meshwright.filters.filter import Filter
from meshwright.protocol.forwarding.link_filters import LinkFilters

Filters = tuple[Filter, ...]


class Behind(NamedTuple):
    """What is wanted and advertised by a broker of a star and by those behind it."""

    filters: Filters
    advertisements: Filters


class Said(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What a broker has heard and told on a link."""

    heard: Filters
    told: Filters


class StarLink(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """What has been said on a link between two brokers of a star, once it is redrawn."""

    peer: str
    filters: Said
    advertisements: Said


class TableRules(NamedTuple):
    """How filters spread: kept back where a wider one went, and only towards who advertises."""

    covering: bool
    advertises: bool


class TreeTables:
    """Filters and advertisements by link, on one shape of the tree; version: which one it is."""

    __slots__ = ("_me", "advertisements", "filters", "rules", "version")

    def __init__(self, me: str, links: Iterable[str], rules: TableRules, version: int) -> None:
        links = tuple(links)
        self._me = me
        self.rules = rules
        self.version = version
        self.advertisements = LinkFilters(me, links)
        self.filters = LinkFilters(me, links, covering=rules.covering, is_due=self._is_due)

    def forget(self, peer: str) -> None:
        """Forget what a peer told and was told; relinking brings the rest in line."""
        self.advertisements.forget(peer)
        self.filters.forget(peer)

    def behind(self, neighbours: Iterable[str], others: Iterable[str]) -> dict[str, Behind]:
        """What is behind some neighbours; what is behind other links counts as this broker's."""
        groups = {**{name: (name,) for name in neighbours}, self._me: (self._me, *others)}
        return {
            name: Behind(_all_heard(self.filters, group), _all_heard(self.advertisements, group))
            for name, group in groups.items()
        }

    def redrawn(
        self, links: Iterable[str], star: Collection[str], inner: Iterable[StarLink], version: int
    ) -> TreeTables:
        """Tables for other links within a star; what was said to others holds."""
        inner = tuple(inner)
        tables = TreeTables(self._me, links, self.rules, version)
        advertised = {link.peer: link.advertisements for link in inner}
        _inherit(tables.advertisements, self.advertisements, star, advertised)
        _inherit(tables.filters, self.filters, star, {link.peer: link.filters for link in inner})
        return tables

    def _is_due(self, link: str, one: Filter) -> bool:
        """Whether somebody behind a link sends what a filter may match."""
        return not self.rules.advertises or _meets(one, self.advertisements.heard(link))


def star_links(
    links: Iterable[tuple[str, str]], behind: Mapping[str, Behind], rules: TableRules
) -> dict[str, tuple[StarLink, ...]]:
    """For each broker of a star that is redrawn to these links, what was said on those it has."""
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
    """What those on the near side of a link tell the far side.

    Also what something wider covers: others were told it, and nobody is to hear of this change.
    """
    filters = dict.fromkeys(one for name in near for one in behind[name].filters)
    if rules.advertises:
        sent = [one for name in far for one in behind[name].advertisements]
        filters = dict.fromkeys(one for one in filters if _meets(one, sent))
    advertised = dict.fromkeys(one for name in near for one in behind[name].advertisements)
    return Behind(tuple(filters), tuple(advertised))


def _meets(one: Filter, advertised: Iterable[Filter]) -> bool:
    return any(intersects(one, sent) for sent in advertised)


def _all_heard(table: LinkFilters, sources: Iterable[str]) -> Filters:
    return tuple(dict.fromkeys(one for source in sources for one in table.heard(source)))


def _inherit(
    after: LinkFilters, before: LinkFilters, star: Collection[str], said: Mapping[str, Said]
) -> None:
    known = before.known_but(star)
    known.heard.update((peer, one.heard) for peer, one in said.items())
    known.told.update((peer, one.told) for peer, one in said.items())
    after.inherit(known)
