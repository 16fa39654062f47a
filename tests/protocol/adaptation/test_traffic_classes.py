from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import CallerError
from meshwright.protocol.adaptation.traffic_classes import LinkSet, TrafficClasses

LINK_SETS = st.frozensets(st.sampled_from("abcd"), min_size=1)
STREAMS = st.lists(LINK_SETS, max_size=120)


class PlainClasses:
    """The same by looking at everything: (upper, excess, when it was counted last) of each."""

    def __init__(self, kept_max: int) -> None:
        self.kept_max = kept_max
        self.kept: dict[LinkSet, tuple[int, int, int]] = {}

    def count(self, links: LinkSet, now: int) -> None:
        if links in self.kept:
            upper, excess, _ = self.kept[links]
        elif len(self.kept) < self.kept_max:
            upper, excess = 0, 0
        else:
            evicted = min(self.kept, key=lambda one: (self.kept[one][0], self.kept[one][2]))
            upper = excess = self.kept.pop(evicted)[0]
        self.kept[links] = (upper + 1, excess, now)

    def rows(self) -> list[tuple[tuple[str, ...], int]]:
        found = [(tuple(sorted(one)), each[0] - each[1]) for one, each in self.kept.items()]
        return sorted(row for row in found if row[1])


def counted(stream: list[LinkSet], kept_max: int) -> TrafficClasses:
    classes = TrafficClasses(kept_max)
    for links in stream:
        classes.count(links)
    return classes


@settings(max_examples=200)
@given(STREAMS, st.integers(1, 8))
def test_the_counter_agrees_with_its_plain_twin(stream: list[LinkSet], kept_max: int) -> None:
    plain = PlainClasses(kept_max)
    for now, links in enumerate(stream):
        plain.count(links, now)
    assert counted(stream, kept_max).rows() == plain.rows()


@settings(max_examples=200)
@given(STREAMS, st.integers(1, 8))
def test_no_class_is_over_counted_or_missed_by_more_than_a_share(
    stream: list[LinkSet], kept_max: int
) -> None:
    classes = counted(stream, kept_max)
    found = dict(classes.rows())
    assert len(classes) <= kept_max
    assert classes.total == len(stream)
    for links, count in Counter(stream).items():
        known = found.get(tuple(sorted(links)), 0)
        assert count - len(stream) / kept_max <= known <= count


@given(STREAMS)
def test_counts_are_exact_while_all_classes_have_a_place(stream: list[LinkSet]) -> None:
    due = Counter(tuple(sorted(links)) for links in stream)
    assert counted(stream, max(1, len(due))).rows() == sorted(due.items())


def test_a_counter_that_was_cleared_begins_anew() -> None:
    classes = counted([frozenset("ab")] * 3, 2)
    classes.clear()
    assert (classes.total, classes.rows()) == (0, [])
    classes.count(frozenset("bc"))
    assert classes.rows() == [(("b", "c"), 1)]


def test_a_counter_without_a_place_is_refused() -> None:
    with pytest.raises(CallerError):
        TrafficClasses(0)
