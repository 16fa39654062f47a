"""The topics that subscriptions take are those of plain loops over all of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from small_world import SOME_TOPICS, TOPIC_FILTERS

from meshwright.errors import FilterError
from meshwright.filters.filter import matches, parse_filter
from meshwright.filters.taking import asks_content, index_of, names_one_topic, pairs_taken

PREFIXES = st.sampled_from(["", "$share/g/", "$share/h/", "$where/n>1/", "$share/g/$where/n>1/"])
TEXTS = st.one_of(
    SOME_TOPICS,
    st.tuples(PREFIXES, st.sampled_from(TOPIC_FILTERS)).map("".join),
    st.sampled_from(["a/#/b", "$share//a", "$where/n/a", "a/+b/#"]),
)
HOLDINGS = st.lists(st.tuples(st.sampled_from("xyz"), TEXTS), max_size=12)


def named(text: str) -> str | None:
    """The topic that a subscription names, before anybody publishes."""
    if names_one_topic(text):
        return text
    try:
        topic_filter = parse_filter(text).topic_filter
    except FilterError:
        return None
    return None if {"+", "#"} & set(topic_filter.split("/")) else topic_filter


def takes(text: str, topic: str) -> bool:
    if names_one_topic(text):
        return text == topic
    try:
        wanted = parse_filter(text)
    except FilterError:
        return False
    return matches(parse_filter(wanted.topic_filter), topic)


@given(HOLDINGS, st.lists(SOME_TOPICS, max_size=12))
def test_holders_want_what_their_subscriptions_take_and_groups_want_it_once(
    holdings: list[tuple[str, str]], published: list[str]
) -> None:
    known = {*published, *(topic for _, text in holdings if (topic := named(text)) is not None)}
    held = []
    for holder, text in holdings:
        if text.startswith("$share/") and any(text == other for _, other in held):
            continue
        held.append((holder, text))
    wanted = {(holder, t) for holder, text in held for t in known if takes(text, t)}
    assert pairs_taken(holdings, published) == sorted(wanted)


@given(st.lists(TEXTS), st.lists(SOME_TOPICS, max_size=12))
def test_an_index_of_subscriptions_says_the_same_of_each_topic(
    texts: list[str], topics: list[str]
) -> None:
    filters = [text for text in texts if not names_one_topic(text)]
    index = index_of(filters)
    for topic in topics:
        found = {text for text, _ in index.taking(topic)}
        assert found == {text for text in filters if takes(text, topic)}


def test_a_leading_wildcard_takes_no_topic_of_the_server() -> None:
    holdings = [("x", "#"), ("y", "+/a"), ("z", "$SYS/#")]
    assert pairs_taken(holdings, ["$SYS/a", "b/a"]) == [("x", "b/a"), ("y", "b/a"), ("z", "$SYS/a")]


def test_content_is_asked_for_after_where() -> None:
    asking = ["$where/n>1/a", "$share/g/$where/n>1/#", "a/$where/b", "$share/g/a"]
    assert [asks_content(text) for text in asking] == [True, True, False, False]
