"""Rows: a tree overlay as one row for each broker, with its links and their version.

The version counts the changes of a broker's links in this epoch. Redrawing a neighbourhood makes
one new row for each broker in it, and replaces a tree over these brokers by another tree over the
same. So a broker that has all rows of a change, and of the changes before it there, has a whole
tree, whatever changes elsewhere it has not heard of.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from meshwright.errors import CallerError
from meshwright.model.overlay import Overlay

Link = tuple[str, str]


class TreeRow(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The peers that one broker of a tree is linked with since its row has this version."""

    broker: str
    version: int
    peers: tuple[str, ...]


def peers_of(overlay: Overlay, broker: str) -> tuple[str, ...]:
    """The brokers that a broker is linked with, in the order of the overlay's links."""
    return tuple(
        link[1] if link[0] == broker else link[0] for link in overlay.links if broker in link
    )


def with_rows(overlay: Overlay, rows: Iterable[TreeRow]) -> Overlay:
    """The tree with the links of some brokers replaced by rows."""
    rows = tuple(rows)
    redrawn = {row.broker for row in rows}
    links = {frozenset(link) for link in overlay.links if redrawn.isdisjoint(link)}
    links.update(frozenset((row.broker, peer)) for row in rows for peer in row.peers)
    return msgspec.structs.replace(overlay, links=named(overlay, links))


def with_links_replaced(overlay: Overlay, old: Iterable[Link], new: Iterable[Link]) -> Overlay:
    """The tree with new links in place of old ones; raises if the result is no tree."""
    links = {frozenset(link) for link in overlay.links}
    links = links.difference(map(frozenset, old)).union(map(frozenset, new))
    joined = {overlay.brokers[0]}
    waiting = sorted(map(sorted, links))
    while reaching := [link for link in waiting if not joined.isdisjoint(link)]:
        waiting = [link for link in waiting if joined.isdisjoint(link)]
        joined.update(name for link in reaching for name in link)
    if joined != set(overlay.brokers) or len(links) != len(joined) - 1:
        raise CallerError("the redrawn neighbourhood makes no tree of all brokers")
    return msgspec.structs.replace(overlay, links=named(overlay, links))


def named(overlay: Overlay, links: Iterable[frozenset[str]]) -> tuple[Link, ...]:
    """Links as pairs of names, sorted by the order of the overlay's brokers."""
    numbers = {name: number for number, name in enumerate(overlay.brokers)}
    pairs = sorted(tuple(sorted(map(numbers.__getitem__, link))) for link in links)
    return tuple((overlay.brokers[one], overlay.brokers[other]) for one, other in pairs)
