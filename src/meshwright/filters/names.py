"""Topic names by their levels: which of them does a filter take, without looking at all.

Topic filters may stand among them: those are taken that a filter covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from meshwright.filters.filter import Filter
from meshwright.filters.topics import (
    ALL_LEVELS,
    ONE_LEVEL,
    has_wildcard,
    levels_cover,
    levels_of,
    plus_takes,
)

# Names of more levels lie together at this depth: a name of 65,535 levels is not worth as many
# nodes.
DEPTH_MAX = 16


class TopicNames:
    """A set of topic names; one level deeper is one child further."""

    __slots__ = ("_names", "_root")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names: dict[str, None] = {}
        self._root = _Node()
        for name in names:
            self.add(name)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def add(self, name: str) -> None:
        """Keep a name; once is enough."""
        if name in self._names:
            return
        self._names[name] = None
        node = self._root
        for level in levels_of(name)[:DEPTH_MAX]:
            following = node.children.get(level)
            if following is None:
                following = node.children[level] = _Node()
            node = following
        node.names[name] = None

    def discard(self, name: str) -> None:
        """Forget a name, if it is there, and every node that is empty then."""
        if name not in self._names:
            return
        del self._names[name]
        levels = levels_of(name)[:DEPTH_MAX]
        path = [self._root]
        for level in levels:
            path.append(path[-1].children[level])
        del path[-1].names[name]
        for level, parent, node in zip(levels[::-1], path[-2::-1], path[:0:-1], strict=True):
            if node.names or node.children:
                return
            del parent.children[level]

    def clear(self) -> None:
        """Forget all names."""
        self._names.clear()
        self._root = _Node()

    def taken_by(self, wanted: Filter) -> list[str]:
        """The names that a filter takes, whatever it asks of the content.

        Their order depends only on when they came. A "+" looks at all that stands at its level.
        """
        levels = wanted.levels
        if not has_wildcard(levels):
            return [wanted.topic_filter] if wanted.topic_filter in self._names else []
        nodes = [self._root]
        for depth, level in enumerate(levels[:DEPTH_MAX]):
            if level == ALL_LEVELS:
                return [name for node in nodes for name in _all_below(node)]
            nodes = list(_next_nodes(nodes, level, depth))
        is_exact = len(levels) < DEPTH_MAX
        return [
            name
            for node in nodes
            for name in node.names
            if is_exact or levels_cover(levels, levels_of(name))
        ]


class _Node:
    """The names that end here, and the levels that go on."""

    __slots__ = ("children", "names")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.names: dict[str, None] = {}


def _next_nodes(nodes: list[_Node], level: str, depth: int) -> Iterator[_Node]:
    for node in nodes:
        if level != ONE_LEVEL:
            following = node.children.get(level)
            if following is not None:
                yield following
            continue
        for taken, child in node.children.items():
            if plus_takes(taken, depth):
                yield child


def _all_below(top: _Node) -> Iterator[str]:
    """All names of a node and below it: no deeper than DEPTH_MAX."""
    yield from top.names
    for child in top.children.values():
        yield from _all_below(child)
