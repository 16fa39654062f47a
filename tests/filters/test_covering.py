"""The laws of matching, covering, intersecting, merging and quenching."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import (
    FILTERS,
    NUMBERS,
    SOME_PROPERTIES,
    SOME_TOPICS,
    TEXT_PAIRS,
    TOPIC_FILTERS,
    TOPICS,
    Contents,
    message_matches,
    properties_matched,
    topics_matched,
    with_suffix,
)

from meshwright.filters.covering import cover_set, covers, intersects, merge
from meshwright.filters.filter import Filter, matches, parse_filter

Properties = list[tuple[str, str]]

PARSED_TOPICS = {text: parse_filter(text) for text in TOPIC_FILTERS}
both_contents = pytest.mark.parametrize("contents", [NUMBERS, TEXT_PAIRS], ids=["numbers", "texts"])


def _tried(contents: Contents) -> list[tuple[str, Filter, int]]:
    """Each suffix, the filter with it, and the messages that match."""
    return [
        (text, with_suffix("#", text), properties_matched(text, contents))
        for text in contents.suffixes
    ]


@given(FILTERS, SOME_TOPICS, SOME_PROPERTIES)
def test_matching_agrees_with_the_dull_twin(
    wanted: Filter, topic: str, properties: Properties
) -> None:
    assert matches(wanted, topic, properties) == message_matches(wanted, topic, properties)


def test_a_topic_matches_in_every_small_case_as_mqtt_says() -> None:
    for text, wanted in PARSED_TOPICS.items():
        found = sum(matches(wanted, topic) << i for i, topic in enumerate(TOPICS))
        assert found == topics_matched(text), text


def test_covering_of_topics_is_exactly_the_subset() -> None:
    for (a, wide), (b, narrow) in product(PARSED_TOPICS.items(), repeat=2):
        expected = topics_matched(b) & ~topics_matched(a) == 0
        assert covers(wide, narrow) == expected, (a, b)


@both_contents
def test_covering_of_content_is_exactly_the_subset(contents: Contents) -> None:
    for (a, wide, by_a), (b, narrow, by_b) in product(_tried(contents), repeat=2):
        assert covers(wide, narrow) == (by_b & ~by_a == 0), (a, b)


def test_intersection_of_topics_is_exactly_a_common_topic() -> None:
    for (a, one), (b, other) in product(PARSED_TOPICS.items(), repeat=2):
        assert intersects(one, other) == bool(topics_matched(a) & topics_matched(b)), (a, b)


def test_contents_always_intersect_because_a_property_may_be_repeated() -> None:
    low, high = parse_filter("$where/p<1&p=x/a"), parse_filter("$where/p>2&p^=y&p!=x/a")
    repeated = [("p", "0"), ("p", "3"), ("p", "x"), ("p", "yes")]
    assert matches(low, "a", repeated)
    assert matches(high, "a", repeated)
    assert intersects(low, high)


def test_topics_are_merged_exactly_when_a_filter_matches_their_union() -> None:
    by_topics = {topics_matched(text) for text in TOPIC_FILTERS}
    for (a, one), (b, other) in product(PARSED_TOPICS.items(), repeat=2):
        union = topics_matched(a) | topics_matched(b)
        merged = merge(one, other)
        assert (merged is not None) == (union in by_topics), (a, b)
        if merged is not None:
            assert topics_matched(merged.topic_filter) == union, (a, b)


@both_contents
def test_contents_are_merged_exactly_when_a_filter_matches_their_union(contents: Contents) -> None:
    tried = _tried(contents)
    by_content = {matched for _, _, matched in tried}
    for (a, one, by_a), (b, other, by_b) in product(tried, repeat=2):
        merged = merge(one, other)
        assert (merged is not None) == (by_a | by_b in by_content), (a, b)
        if merged is not None:
            assert parse_filter(str(merged)) == merged
            suffix = "&".join(map(str, merged.clauses))
            assert properties_matched(suffix, contents) == by_a | by_b, (a, b)


@given(FILTERS)
def test_covering_is_reflexive(wanted: Filter) -> None:
    assert covers(wanted, wanted)
    assert merge(wanted, wanted) == wanted


@given(FILTERS, FILTERS, FILTERS)
def test_covering_is_transitive(one: Filter, two: Filter, three: Filter) -> None:
    for a, b, c in ((one, two, three), (two, three, one), (three, one, two)):
        assert not (covers(a, b) and covers(b, c)) or covers(a, c)


@given(FILTERS, FILTERS, SOME_TOPICS, SOME_PROPERTIES)
def test_covering_intersecting_and_merging_agree_with_matching(
    one: Filter, other: Filter, topic: str, properties: Properties
) -> None:
    by_one, by_other = matches(one, topic, properties), matches(other, topic, properties)
    assert not (covers(one, other) and by_other) or by_one
    assert intersects(one, other) or not (by_one and by_other)
    merged = merge(one, other)
    if merged is not None:
        assert covers(merged, one)
        assert covers(merged, other)
        assert matches(merged, topic, properties) == (by_one or by_other)


@given(FILTERS, FILTERS)
def test_merging_is_symmetric_in_what_matches(one: Filter, other: Filter) -> None:
    merged, turned = merge(one, other), merge(other, one)
    assert (merged is None) == (turned is None)
    if merged is not None and turned is not None:
        assert covers(merged, turned)
        assert covers(turned, merged)


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ("a", "a/+/#", "a/#"),
        ("+/+/#", "+", "+/#"),
        ("$where/p=x/a", "$where/p=x/a/+/#", "$where/p=x/a/#"),
        ("$where/value>20/a", "$where/value>10&value<=30/a", "$where/value>10/a"),
        ("$where/value>20/a", "$where/value>10&value<=20/a", "$where/value>10/a"),
        ("$where/y<9&y=5&x>20/a", "$where/y<8&y=5&x>10&x<=30/a", "$where/x>10&y=5/a"),
        ("$share/g/a", "$share/h/+", "+"),
        ("$where/room^=a&room!=a1/a", "$where/room^=a&room!=a2/a", "$where/room^=a/a"),
        ("$where/v<9&v^=-/a", "$where/v<9&v>=0/a", "$where/v<9/a"),
        ("$where/room!=a/a", "$where/room!=b/a", None),
        ("$where/room^=a/a", "$where/room^=b/a", None),
        ("$where/value>20/a", "$where/value>10&value<20/a", None),
        ("$where/value>20/a", "$where/value<=20/a", None),
        ("a", "b", None),
        ("$where/p=x/a", "$where/p=y/a/+/#", None),
        ("+", "$SYS", None),
    ],
)
def test_two_filters_become_one_only_where_nothing_is_added(
    one: str, other: str, merged: str | None
) -> None:
    expected = None if merged is None else parse_filter(merged)
    assert merge(parse_filter(one), parse_filter(other)) == expected
    assert merge(parse_filter(other), parse_filter(one)) == expected


@settings(max_examples=60)
@given(st.lists(FILTERS, max_size=30))
def test_the_cover_set_covers_everything_and_nothing_in_it_is_covered(
    filters: list[Filter],
) -> None:
    kept = cover_set(filters)
    assert all(any(covers(wide, narrow) for wide in kept) for narrow in filters)
    assert not any(covers(a, b) for a in kept for b in kept if a is not b)
    assert list(kept) == sorted(kept, key=filters.index)


def test_of_equivalent_filters_the_first_is_kept() -> None:
    low, same, other = "$where/n>1.0/$SYS/a", "$where/n>1/$SYS/a", "$where/n>=1&m=x/$SYS/+"
    texts = ["a/b", "+/#", "#", low, same, other]
    kept = cover_set(map(parse_filter, texts))
    assert [str(wanted) for wanted in kept] == ["+/#", low, "$where/m=x&n>=1/$SYS/+"]


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("$where/value>25/s", "$where/value=30/s"),
        ("$where/value>25/s", "$where/value=30.0&room=a/s"),
        ("$where/id>1700000000000000000/s", "$where/id>=1700000000000000001/s"),
        ("$where/value<=1e2/s", "$where/value<100/s"),
        ("$where/room!=a/s", "$where/room=b/s"),
        ("$where/room!=a/s", "$where/room^=b/s"),
        ("$where/room!=25/s", "$where/room>25/s"),
        ("$where/room^=a/s", "$where/room^=ab/s"),
        ("$where/value^=-/s", "$where/value<0/s"),
        ("$share/g/+", "s"),
        ("s", "$share/g/$where/value>1/s"),
    ],
)
def test_the_looser_filter_covers_the_stricter_and_not_the_other_way(
    wide: str, narrow: str
) -> None:
    assert covers(parse_filter(wide), parse_filter(narrow))
    assert not covers(parse_filter(narrow), parse_filter(wide))
