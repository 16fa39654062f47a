"""A world small enough to try everything in, and dull twins of matching.

Topics and properties hold values that no filter names, so that two filters which differ at all
differ on some message of this world. A set of messages is the bits of an int.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from itertools import chain, combinations, product

from hypothesis import strategies as st

from meshwright.filters.filter import Filter, parse_filter

NAMED_LEVELS = ("", "a", "$")
FRESH_LEVELS = ("z", "$z")
BOUNDS = ("1", "2")
TEXTS = ("1", "2", "x")
P_VALUES = ("0", "1", "1.0", "1.5", "2", "2e0", "3", "x", "y")


def _paths(levels: tuple[str, ...], depths: range) -> list[str]:
    return ["/".join(path) for depth in depths for path in product(levels, repeat=depth)]


TOPICS = tuple(topic for topic in _paths(NAMED_LEVELS + FRESH_LEVELS, range(1, 6)) if topic)
_OPEN = _paths((*NAMED_LEVELS, "+"), range(1, 4))
TOPIC_FILTERS = (*(path for path in _OPEN if path), "#", *(f"{path}/#" for path in _OPEN))

_EQUALS = ("", *(f"p={text}" for text in TEXTS))
_LOWER = ("", *(f"p{sign}{bound}" for sign in (">", ">=") for bound in BOUNDS))
_UPPER = ("", *(f"p{sign}{bound}" for sign in ("<", "<=") for bound in BOUNDS))
SUFFIXES = tuple(
    "&".join(filter(None, clauses)) for clauses in product(_EQUALS, _LOWER, _UPPER, ("", "q=x"))
)
PROPERTIES = tuple(
    [*(("p", value) for value in values), *q]
    for values in chain.from_iterable(combinations(P_VALUES, n) for n in range(4))
    for q in ([], [("q", "x")], [("q", "y")])
)


def with_suffix(topic_filter: str, suffix: str) -> Filter:
    return parse_filter(f"$where/{suffix}/{topic_filter}" if suffix else topic_filter)


def topic_matches(topic_filter: str, topic: str) -> bool:
    """MQTT's rules as a regular expression."""
    if topic.startswith("$") and topic_filter[0] in "+#":
        return False
    return _pattern(topic_filter).fullmatch(topic) is not None


@cache
def _pattern(topic_filter: str) -> re.Pattern[str]:
    pattern = re.escape(topic_filter).replace(r"\+", "[^/]*")
    if pattern.endswith(r"/\#"):
        pattern = pattern.removesuffix(r"/\#") + "(/.*)?"
    return re.compile(".*" if pattern == r"\#" else pattern, re.DOTALL)


def content_matches(wanted: Filter, properties: list[tuple[str, str]]) -> bool:
    return all(
        any(
            name == clause.attribute and _compare(value, clause.operator, clause.operand)
            for name, value in properties
        )
        for clause in wanted.clauses
    )


def _compare(value: str, operator: str, operand: str) -> bool:
    if operator == "=":
        return value == operand
    try:
        left, right = Fraction(value), Fraction(operand)
    except ValueError:
        return False
    return {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
    }[operator]


def message_matches(wanted: Filter, topic: str, properties: list[tuple[str, str]]) -> bool:
    return topic_matches(wanted.topic_filter, topic) and content_matches(wanted, properties)


@cache
def topics_matched(topic_filter: str) -> int:
    """Bit i: the i-th topic of this world matches."""
    return sum(topic_matches(topic_filter, topic) << i for i, topic in enumerate(TOPICS))


@cache
def properties_matched(suffix: str) -> int:
    """Bit i: the i-th set of properties of this world matches."""
    wanted = with_suffix("#", suffix)
    return sum(content_matches(wanted, p) << i for i, p in enumerate(PROPERTIES))


FILTERS = st.builds(with_suffix, st.sampled_from(TOPIC_FILTERS), st.sampled_from(SUFFIXES))
SOME_TOPICS = st.sampled_from(TOPICS)
SOME_PROPERTIES = st.lists(st.tuples(st.sampled_from("pq"), st.sampled_from(P_VALUES)), max_size=4)
