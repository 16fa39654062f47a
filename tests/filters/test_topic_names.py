"""The names that a filter takes are those of the naive loop, whatever came and went before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from small_world import FILTERS, SOME_TOPICS

from meshwright.filters.covering import covers
from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.filters.names import DEPTH_MAX, TopicNames

# Names and filters about as deep as names are kept apart.
DEPTHS = st.integers(min_value=DEPTH_MAX - 2, max_value=DEPTH_MAX + 2)
DEEP_NAMES = DEPTHS.flatmap(
    lambda depth: st.lists(st.sampled_from("ab"), min_size=depth, max_size=depth).map("/".join)
)
DEEP_FILTERS = DEPTHS.flatmap(
    lambda depth: st.tuples(
        st.lists(st.sampled_from("ab+"), min_size=depth, max_size=depth).map("/".join),
        st.sampled_from(["", "/#"]),
    ).map("".join)
).map(parse_filter)


@given(st.lists(SOME_TOPICS), st.sets(SOME_TOPICS), FILTERS)
def test_a_filter_takes_the_names_that_it_matches(
    come: list[str], gone: set[str], wanted: Filter
) -> None:
    names = TopicNames(come)
    for name in sorted(gone):
        names.discard(name)
    left = dict.fromkeys(name for name in come if name not in gone)
    assert set(names) == set(left)
    wide = Filter(wanted.topic_filter)
    assert sorted(names.taken_by(wanted)) == sorted(name for name in left if matches(wide, name))


@given(st.lists(DEEP_NAMES), DEEP_FILTERS)
def test_names_of_many_levels_are_told_apart(come: list[str], wanted: Filter) -> None:
    names = TopicNames(come)
    expected = sorted(name for name in set(come) if matches(wanted, name))
    assert sorted(names.taken_by(wanted)) == expected


@given(st.lists(FILTERS), FILTERS)
def test_of_topic_filters_those_are_taken_that_are_covered(
    come: list[Filter], wide: Filter
) -> None:
    texts = {one.topic_filter for one in come}
    expected = sorted(text for text in texts if covers(Filter(wide.topic_filter), Filter(text)))
    assert sorted(TopicNames(texts).taken_by(wide)) == expected


def test_what_came_and_went_leaves_nothing_behind() -> None:
    names = TopicNames(["a/b/c", "a/b", "/".join("a" * 100)])
    for name in list(names):
        names.discard(name)
    assert not len(names)
    assert not names._root.children
    assert names.taken_by(parse_filter("#")) == []
