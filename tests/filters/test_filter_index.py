"""The index agrees with the naive loop, whatever was added, taken back and asked before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from small_world import FILTERS, SOME_PROPERTIES, SOME_TOPICS

from meshwright.errors import CallerError
from meshwright.filters.covering import covers
from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.filters.index import FilterIndex

CACHED_TOPICS_MAX = 4
OWNERS = st.sampled_from(["anna", "bert"])
# Few enough that the same pair comes again and again.
WANTED = st.sampled_from(
    [
        parse_filter(text)
        for text in (
            "a", "a/a", "/a", "$/a", "a/+", "+/a", "a/+/#", "a/#", "#", "+/#", "/#", "$/#",
            "$where/p>1/a", "$where/p=x&q=x/a/#", "$where/p<2/#", "$share/g/a",
            "$share/g/#", "$where/p>1&p<3/a", "$where/p!=1/a", "$where/p!=1&p!=x/+",
            "$where/p^=x/#", "$where/p^=xy&q!=x/a",
        )
    ]
)  # fmt: skip
TOPICS = st.sampled_from(["a", "a/a", "/", "/a", "$/a", "z/a", "a/z/z", "$"])


class IndexAndNaiveLoop(RuleBasedStateMachine):
    """Every rule is done to both; `counts` keeps the pairs in the order in which they came."""

    def __init__(self) -> None:
        super().__init__()
        self.index: FilterIndex[str] = FilterIndex(CACHED_TOPICS_MAX)
        self.counts: dict[tuple[str, Filter], int] = {}

    @rule(owner=OWNERS, wanted=WANTED)
    def add(self, owner: str, wanted: Filter) -> None:
        assert self.index.add(owner, wanted) == ((owner, wanted) not in self.counts)
        self.counts[owner, wanted] = self.counts.get((owner, wanted), 0) + 1

    @rule(owner=OWNERS, wanted=WANTED)
    def discard(self, owner: str, wanted: Filter) -> None:
        count = self.counts.get((owner, wanted), 0)
        assert self.index.discard(owner, wanted) == (count == 1)
        if count > 1:
            self.counts[owner, wanted] = count - 1
        else:
            self.counts.pop((owner, wanted), None)

    @rule(topic=TOPICS, properties=SOME_PROPERTIES)
    def match(self, topic: str, properties: list[tuple[str, str]]) -> None:
        expected = tuple(pair for pair in self.counts if matches(pair[1], topic, properties))
        assert self.index.match(topic, properties) == expected

    @rule(narrow=WANTED)
    def find_covering(self, narrow: Filter) -> None:
        expected = tuple(pair for pair in self.counts if covers(pair[1], narrow))
        assert self.index.covering(narrow) == expected

    @invariant()
    def sizes_agree(self) -> None:
        assert len(self.index) == len(self.counts)
        assert len(self.index._cache) <= CACHED_TOPICS_MAX


TestTheIndexAgreesWithTheNaiveLoop = IndexAndNaiveLoop.TestCase
TestTheIndexAgreesWithTheNaiveLoop.settings = settings(max_examples=150, stateful_step_count=40)


@settings(max_examples=60)
@given(st.lists(FILTERS, max_size=40), SOME_TOPICS, SOME_PROPERTIES)
def test_many_filters_are_found_as_the_naive_loop_finds_them(
    filters: list[Filter], topic: str, properties: list[tuple[str, str]]
) -> None:
    index: FilterIndex[int] = FilterIndex()
    for owner, wanted in enumerate(filters):
        index.add(owner, wanted)
    expected = [pair for pair in enumerate(filters) if matches(pair[1], topic, properties)]
    assert list(index.match(topic, properties)) == expected
    narrow = filters[0] if filters else parse_filter(topic)
    assert list(index.covering(narrow)) == [
        pair for pair in enumerate(filters) if covers(pair[1], narrow)
    ]


@given(st.lists(FILTERS, max_size=20, unique=True))
def test_an_index_that_gave_everything_back_holds_nothing(filters: list[Filter]) -> None:
    index: FilterIndex[str] = FilterIndex()
    for wanted in filters:
        index.add("anna", wanted)
    for wanted in filters:
        assert index.discard("anna", wanted)
    assert len(index) == 0
    assert not index._exact
    assert not index._wild._root.children


def test_a_change_forgets_only_the_topics_it_may_touch() -> None:
    index: FilterIndex[str] = FilterIndex()
    for text, forgotten in (("a/b", {"a/b"}), ("a/+", {"a/b", "a/c", "a"}), ("x/y", set[str]())):
        topics = ["a/b", "a/c", "a", "b/a", "/"]
        for topic in topics:
            index.match(topic)
        index.add("anna", parse_filter(text))
        assert {topic for topic in topics if index._cache.get(topic) is None} == forgotten
    index.add("anna", parse_filter("+/b"))
    assert len(index._cache) == 0


def test_a_full_cache_forgets_the_topic_kept_longest() -> None:
    index: FilterIndex[str] = FilterIndex(cached_topics_max=2)
    for topic in ("a", "b", "c"):
        index.match(topic)
    assert [index._cache.get(topic) is None for topic in ("a", "b", "c")] == [True, False, False]


def test_a_cache_that_can_keep_nothing_is_refused() -> None:
    with pytest.raises(CallerError, match="allow at least one"):
        FilterIndex(cached_topics_max=0)
