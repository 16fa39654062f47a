"""A trie of topic filters that finds all those that cover a topic or another filter."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from meshwright.filters.topics import ALL_LEVELS, ONE_LEVEL, Levels, plus_takes

Item = TypeVar("Item", bound=Hashable)


class TopicTrie(Generic[Item]):
    """Items, each under the levels of a topic filter; one level deeper is one child further."""

    def __init__(self) -> None:
        self._root: _Node[Item] = _Node()

    def add(self, levels: Levels, item: Item) -> None:
        """Keep an item under these levels; an item is kept once."""
        node = self._root
        for level in levels:
            node = node.children.setdefault(level, _Node())
        node.items[item] = None

    def discard(self, levels: Levels, item: Item) -> None:
        """Forget an item, if it is there, and every node that is empty then."""
        path = [self._root]
        for level in levels:
            following = path[-1].children.get(level)
            if following is None:
                return
            path.append(following)
        path[-1].items.pop(item, None)
        for level, parent, node in zip(levels[::-1], path[-2::-1], path[:0:-1], strict=True):
            if node.items or node.children:
                return
            del parent.children[level]

    def covering(self, levels: Levels) -> list[Item]:
        """Items whose levels cover these, in an order that depends on the trie's history only."""
        found: list[Item] = []
        nodes = [self._root]
        for depth, level in enumerate(levels):
            following: list[_Node[Item]] = []
            plus_fits = level != ONE_LEVEL and plus_takes(level, depth)
            for node in nodes:
                children = node.children
                if (rest := children.get(ALL_LEVELS)) is not None:
                    found.extend(rest.items)
                if level != ALL_LEVELS and (same := children.get(level)) is not None:
                    following.append(same)
                if plus_fits and (any_level := children.get(ONE_LEVEL)) is not None:
                    following.append(any_level)
            nodes = following
        for node in nodes:
            found.extend(node.items)
            if (rest := node.children.get(ALL_LEVELS)) is not None:
                found.extend(rest.items)
        return found


class _Node(Generic[Item]):
    """The items that end here, in order of addition, and the levels that go on."""

    __slots__ = ("children", "items")

    def __init__(self) -> None:
        self.children: dict[str, _Node[Item]] = {}
        self.items: dict[Item, None] = {}
