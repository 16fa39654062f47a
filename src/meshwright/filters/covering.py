"""Comparing filters by the messages they match; the group of a shared subscription is ignored.

A filter matches a product: some topics, with some properties. Neither part is ever empty, so each
is compared by itself. All answers are exact, as if texts had no limit of length.
"""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.filters.clauses import clauses_cover, clauses_union
from meshwright.filters.filter import Filter
from meshwright.filters.topics import SEPARATOR, levels_cover, levels_intersect, levels_union
from meshwright.filters.trie import TopicTrie


def covers(wide: Filter, narrow: Filter) -> bool:
    """True if every message that matches `narrow` matches `wide`."""
    return levels_cover(wide.levels, narrow.levels) and clauses_cover(wide.clauses, narrow.clauses)


def intersects(one: Filter, other: Filter) -> bool:
    """True if some message matches both.

    Only the topics decide: `value<1` and `value>2` both match a message that repeats value.
    """
    return levels_intersect(one.levels, other.levels)


def merge(one: Filter, other: Filter) -> Filter | None:
    """The filter without group that matches what either matches and nothing else.

    None if this language has no such filter: two products make a product only if one covers the
    other, or if they differ in one part and its union can be written.
    """
    if covers(one, other):
        return one.ungrouped()
    if covers(other, one):
        return other.ungrouped()
    if levels_cover(one.levels, other.levels) and levels_cover(other.levels, one.levels):
        clauses = clauses_union(one.clauses, other.clauses)
        return None if clauses is None else Filter(one.topic_filter, clauses)
    if clauses_cover(one.clauses, other.clauses) and clauses_cover(other.clauses, one.clauses):
        levels = levels_union(one.levels, other.levels)
        return None if levels is None else Filter(SEPARATOR.join(levels), one.clauses)
    return None


def cover_set(filters: Iterable[Filter]) -> tuple[Filter, ...]:
    """The filters that no other one covers, in the order given; of equivalent ones the first.

    Every filter is covered by a single one of these. Costs a walk of a trie for each filter.
    """
    distinct = tuple(dict.fromkeys(filters))
    if len(distinct) < 2:
        return distinct
    trie: TopicTrie[int] = TopicTrie()
    for place, narrow in enumerate(distinct):
        trie.add(narrow.levels, place)

    def is_needed(place: int, narrow: Filter) -> bool:
        return not any(
            clauses_cover(distinct[rival].clauses, narrow.clauses)
            and (rival < place or not covers(narrow, distinct[rival]))
            for rival in trie.covering(narrow.levels)
            if rival != place
        )

    return tuple(f for place, f in enumerate(distinct) if is_needed(place, f))
