"""The tree of an overlay over the brokers that are seen alive; shared by all with the same view.

Where neighbouring brokers of the tree are dead, its pieces fall apart. Of the living brokers next
to them, the lowest in the overlay's order links to all others, which makes one tree again. If the
root is among these dead, that broker is the root meanwhile. When the dead return, the tree is the
old one.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.overlay import Overlay
from meshwright.overlays.graph import Graph
from meshwright.overlays.tree import tree

# The neighbours of each broker seen, in the overlay's order.
LivingTree = dict[str, tuple[str, ...]]


def living_tree(overlay: Overlay, seen: frozenset[str]) -> LivingTree:
    """The tree of an overlay over those of its brokers that are seen alive."""
    return _living_tree(overlay.brokers, overlay.links, seen)


def living_root(overlay: Overlay, seen: frozenset[str]) -> str | None:
    """The root of the tree over those of its brokers that are seen alive; None if it has none."""
    planned = overlay.params.get("root")
    if planned is None:
        return None
    if planned not in overlay.brokers:
        raise ProblemError(
            f"The root {planned!r} is no broker of the overlay; name one of its brokers."
        )
    if planned in seen:
        return str(planned)
    whole = living_tree(overlay, frozenset(overlay.brokers))
    gap, known = [str(planned)], {str(planned)}
    living: list[str] = []
    for here in gap:
        for other in whole[here]:
            if other not in known:
                known.add(other)
                (living if other in seen else gap).append(other)
    return min(living, key=overlay.brokers.index)


def next_hop(joined: LivingTree, source: str, target: str) -> str:
    """The neighbour of the source on the way to the target; the source itself if it is that."""
    hops = {target: target}
    reached = [target]
    for here in reached:
        for other in joined[here]:
            if other not in hops:
                hops[other] = here
                reached.append(other)
    return hops[source]


# All brokers of one process share this cache, so each tree is computed once.
@lru_cache(maxsize=16)
def _living_tree(
    names: tuple[str, ...], links: tuple[tuple[str, str], ...], seen: frozenset[str]
) -> LivingTree:
    indexes = {name: index for index, name in enumerate(names)}
    ends = [(indexes[one], indexes[other]) for one, other in links]
    whole = tree(len(names), np.array(ends, dtype=np.int32).reshape(-1, 2)).joined
    lives = [name in seen for name in names]
    near: list[set[int]] = [set(whole.of(index).tolist()) for index in range(len(names))]
    for survivors in _around_gaps(whole, lives):
        first = survivors[0]
        near[first].update(survivors[1:])
        for other in survivors[1:]:
            near[other].add(first)
    return {
        names[index]: tuple(names[other] for other in sorted(near[index]) if lives[other])
        for index in range(len(names))
        if lives[index]
    }


def _around_gaps(whole: Graph, lives: list[bool]) -> list[list[int]]:
    """The living next to each group of dead that lie together, ascending, if there are any."""
    gaps = []
    is_known = list(lives)
    for start in range(len(lives)):
        if is_known[start]:
            continue
        is_known[start] = True
        gap, survivors = [start], set()
        for here in gap:
            for other in whole.of(here).tolist():
                if lives[other]:
                    survivors.add(other)
                elif not is_known[other]:
                    is_known[other] = True
                    gap.append(other)
        if survivors:
            gaps.append(sorted(survivors))
    return gaps
