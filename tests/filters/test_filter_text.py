"""What may be written as a topic name and as a filter, and what is said of anything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import FILTERS

from meshwright.errors import FilterError
from meshwright.filters.clauses import Clause
from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.filters.topics import TEXT_BYTES_MAX, check_topic_name

GROUPS = st.none() | st.text(st.sampled_from("gé $=&"), min_size=1, max_size=3)


@given(FILTERS, GROUPS)
def test_a_filter_is_what_its_text_says_in_any_order_of_its_clauses(
    wanted: Filter, group: str | None
) -> None:
    shared = Filter(wanted.topic_filter, wanted.clauses, group)
    assert parse_filter(str(shared)) == shared
    assert parse_filter(str(shared.ungrouped())) == wanted
    backwards = Filter(wanted.topic_filter, wanted.clauses[::-1], group)
    assert (backwards, hash(backwards)) == (shared, hash(shared))
    assert str(backwards) == str(shared)


def test_the_parts_of_a_filter() -> None:
    wanted = parse_filter("$share/kitchen/$where/value>25&location=roomA?/sensor/+/temp")
    assert wanted.group == "kitchen"
    assert wanted.topic_filter == "sensor/+/temp"
    assert [str(clause) for clause in wanted.clauses] == ["location=roomA?", "value>25"]
    assert str(wanted) == "$share/kitchen/$where/location=roomA?&value>25/sensor/+/temp"
    assert parse_filter("$share") == Filter("$share")
    assert parse_filter("$shared/g/a") == Filter("$shared/g/a")


BAD_GROUP = "the group of a shared subscription is empty or holds a wildcard"
NO_TOPIC_FILTER = "there is no topic filter"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the text is empty"),
        ("a\0", "the text holds the character U+0000"),
        ("$where/x=\ud800/a", "the text holds half a surrogate pair"),
        ("a/#/b", "'#' stands before the last level"),
        ("a/b#", "'#' shares its level with other text"),
        ("##", "'#' shares its level with other text"),
        ("a+/b", "'+' shares its level with other text"),
        ("$share/g/++", "'+' shares its level with other text"),
        ("$where/a=1/", NO_TOPIC_FILTER),
        ("$share/g", NO_TOPIC_FILTER),
        ("$share/g/", NO_TOPIC_FILTER),
        ("$where/a=1", NO_TOPIC_FILTER),
        ("$share//a", BAD_GROUP),
        ("$share/+/a", BAD_GROUP),
        ("$share/g#/a", BAD_GROUP),
        ("$share/g/$share/h/a", "a shared subscription is shared again"),
        ("$where//a", "a clause is empty"),
        ("$where/x=1&/a", "a clause is empty"),
        ("$where/x=1&&y=2/a", "a clause is empty"),
        ("$where/x/a", "the clause 'x' has no operator"),
        ("$where/=1/a", "the clause '=1' names no attribute"),
        ("$where/x=/a", "the clause 'x=' has no value"),
        ("$where/x==1/a", "the clause 'x==1' has no value"),
        ("$where/x=>1/a", "the clause 'x=>1' has no value"),
        ("$where/x>roomA/a", "'roomA' in the clause 'x>roomA' is not a decimal number"),
        ("$where/x=1&x=2/a", "the clause 'x=2' doubles another"),
        ("$where/x=1&x=1/a", "the clause 'x=1' doubles another"),
        ("$where/x>1&x>=2/a", "the clause 'x>=2' doubles another"),
        ("$where/x!=1&x!=1/a", "the clause 'x!=1' doubles another"),
        ("$where/x^=a&x^=ab/a", "the clause 'x^=ab' doubles another"),
        ("$where/!=1/a", "the clause '!=1' names no attribute"),
        ("$where/x!=/a", "the clause 'x!=' has no value"),
        ("$where/x^==a/a", "the clause 'x^==a' has no value"),
        ("$where/x=1/$share/g/a", "$share or $where follows on $where"),
        ("$where/x=1/$where/y=1/a", "$share or $where follows on $where"),
        ("$where/x=5%/a", "'%' begins no escape of an ASCII character"),
        ("$where/x=%00/a", "'%' begins no escape of an ASCII character"),
        ("$where/x=%C3%A9/a", "'%' begins no escape of an ASCII character"),
    ],
)
def test_a_malformed_filter_is_refused_with_one_sentence(text: str, problem: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse_filter(text)
    error = refused.value
    assert error.problem == problem
    assert error.text in text
    assert error.remedy
    assert str(error) == f"{error.text!r}: {problem}; {error.remedy}."


@pytest.mark.parametrize("topic", ["what?", "a?b=c", "?", "a/b?x>1/c", "q?a=1&&b"])
def test_a_topic_with_a_question_mark_is_subscribed_to_by_its_name(topic: str) -> None:
    wanted = parse_filter(topic)
    assert wanted == Filter(topic)
    assert matches(wanted, topic)
    assert not matches(wanted, topic.partition("?")[0] or "x", [("b", "c")])
    assert matches(parse_filter(f"$where/v=1/{topic}"), topic, [("v", "1")])


ANY_TEXT = st.text("a%&=<>/+#?!^é", min_size=1)


@given(ANY_TEXT, st.sampled_from(["=", "^="]), ANY_TEXT)
def test_any_attribute_and_value_can_be_asked_for(
    attribute: str, operator: str, value: str
) -> None:
    wanted = Filter("a/+", (Clause(attribute, operator, value),))
    assert parse_filter(str(wanted)) == wanted
    *_, levels = str(wanted).partition("$where/")
    assert not {"+", "#"} & set(levels.removesuffix("a/+"))
    assert matches(wanted, "a/b", [(attribute, value)])


def test_a_filter_may_be_as_long_as_mqtt_allows_and_no_longer() -> None:
    assert parse_filter("é" * (TEXT_BYTES_MAX // 2)).clauses == ()
    with pytest.raises(FilterError, match="takes 65536 bytes; use at most 65535"):
        parse_filter("é" * (TEXT_BYTES_MAX // 2 + 1))
    with pytest.raises(FilterError, match="there are 33 clauses; use at most 32"):
        parse_filter("$where/" + "&".join(f"p{i}=x" for i in range(33)) + "/a")


@pytest.mark.parametrize("text", ["/", "a b", "a?b=c", "$SYS/load", "//", "é"])
def test_a_topic_name_may_hold_anything_but_wildcards(text: str) -> None:
    check_topic_name(text)


@pytest.mark.parametrize("text", ["", "+", "a/#", "a+", "a\0", "\udfff", "a" * 65_536])
def test_a_malformed_topic_name_is_refused(text: str) -> None:
    with pytest.raises(FilterError):
        check_topic_name(text)


@pytest.mark.parametrize("number", ["26", "+26", "25.01", "2.6e1", "260E-1", "0026", "1e999"])
def test_decimal_numbers_are_compared(number: str) -> None:
    assert matches(parse_filter("$where/v>25/a"), "a", [("v", number)])
    assert matches(parse_filter(f"$where/v<{number}/a"), "a", [("v", "25")])


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "-inf", "1e1000", "26.", ".5", "1_000", " 26", "26\n", "0x1A", "٢٦"]
)
def test_other_text_satisfies_no_bound_and_is_no_bound(text: str) -> None:
    assert not matches(parse_filter("$where/v>-9/a"), "a", [("v", text)])
    assert not matches(parse_filter("$where/v<99/a"), "a", [("v", text)])
    with pytest.raises(FilterError):
        parse_filter(f"$where/v>{text}/a")


def test_numbers_are_compared_exactly_however_long() -> None:
    assert not matches(
        parse_filter("$where/v>9007199254740992/a"), "a", [("v", "9007199254740992.0")]
    )
    assert matches(parse_filter("$where/v>9007199254740992/a"), "a", [("v", "9007199254740993")])
    assert matches(parse_filter("$where/v>0.1/a"), "a", [("v", "0.10000000000000000000000001")])


def test_equality_compares_text_and_not_numbers() -> None:
    assert matches(parse_filter("$where/v=25/a"), "a", [("v", "25")])
    assert not matches(parse_filter("$where/v=25/a"), "a", [("v", "25.0")])


def test_a_value_may_be_asked_to_differ_from_several_and_must_be_there() -> None:
    wanted = parse_filter("$where/room!=a&room!=b/t")
    assert str(wanted) == "$where/room!=a&room!=b/t"
    assert matches(wanted, "t", [("room", "c")])
    assert not matches(wanted, "t", [("room", "a")])
    assert not matches(wanted, "t")
    assert matches(wanted, "t", [("room", "a"), ("room", "b")])


def test_a_beginning_is_compared_as_text() -> None:
    wanted = parse_filter("$where/id^=10/t")
    assert [matches(wanted, "t", [("id", text)]) for text in ("10", "10x", "1e1", "010", "1")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_an_attribute_may_hold_the_signs_of_operators_if_they_are_escaped() -> None:
    assert parse_filter("$where/wow!x=1/t").clauses == (Clause("wow!x", "=", "1"),)
    assert parse_filter("$where/wow%21=1/t").clauses == (Clause("wow!", "=", "1"),)
    assert parse_filter("$where/wow=!1^/t").clauses == (Clause("wow", "=", "!1^"),)


def test_each_clause_may_be_satisfied_by_another_value_of_a_repeated_property() -> None:
    wanted = parse_filter("$where/v>20&v<10/a")
    assert matches(wanted, "a", [("v", "25"), ("w", "1"), ("v", "5")])
    assert not matches(wanted, "a", [("v", "25"), ("w", "5")])
