"""A world small enough to try everything in, and dull twins of matching.

Topics and properties hold values that no filter names, so that two filters which differ at all
differ on some message of this world. A set of messages is the bits of an int.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
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
_TEXT_CLAUSES = (
    "p=1", "p=x", "p=xy", "p!=1", "p!=x", "p!=xy", "p!=-1", "p^=x", "p^=xy", "p^=1", "p^=-",
    "p^=-1", "p>0", "p>=0", "p>-1", "p<0", "p<=0", "p<1", "q!=x", "q^=x",
)  # fmt: skip
# What no clause above names is among these, too: no two clauses take the same of them.
_TEXT_VALUES = (
    "-1", "-1.0", "-1z", "-2", "-0.5", "-z", "-0", "0", "0.5", "1", "1.0", "1z", "2", "x", "xy",
    "xyz", "xz", "z",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Contents:
    """Suffixes of filters, and the messages' properties on which they are tried."""

    suffixes: tuple[str, ...]
    properties: tuple[list[tuple[str, str]], ...]


def _messages(p_values: tuple[str, ...], count_max: int) -> tuple[list[tuple[str, str]], ...]:
    """All properties p with so many values at most, each with and without some q."""
    return tuple(
        [*(("p", value) for value in values), *q]
        for values in chain.from_iterable(combinations(p_values, n) for n in range(count_max + 1))
        for q in ([], [("q", "x")], [("q", "y")], [("q", "xy")])
    )


def _is_doubled(one: str, other: str) -> bool:
    """Whether a filter may not have both: names and operators of one character, then "="."""
    return one[:2] == other[:2] and one[1] != "!"


NUMBERS = Contents(
    tuple(
        "&".join(filter(None, clauses)) for clauses in product(_EQUALS, _LOWER, _UPPER, ("", "q=x"))
    ),
    _messages(P_VALUES, 3),
)
TEXT_PAIRS = Contents(
    (
        "",
        *_TEXT_CLAUSES,
        *("&".join(two) for two in combinations(_TEXT_CLAUSES, 2) if not _is_doubled(*two)),
    ),
    _messages(_TEXT_VALUES, 2),
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


TEXT_OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "=": lambda value, operand: value == operand,
    "!=": lambda value, operand: value != operand,
    "^=": lambda value, operand: value[: len(operand)] == operand,
}


def _compare(value: str, operator: str, operand: str) -> bool:
    if operator in TEXT_OPERATORS:
        return TEXT_OPERATORS[operator](value, operand)
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
def properties_matched(suffix: str, contents: Contents) -> int:
    """Bit i: the i-th set of properties matches."""
    wanted = with_suffix("#", suffix)
    return sum(content_matches(wanted, p) << i for i, p in enumerate(contents.properties))


@st.composite
def _suffixes(draw: st.DrawFn) -> str:
    """Clauses of either kind; some of three and more."""
    if draw(st.booleans()):
        return draw(st.sampled_from(NUMBERS.suffixes))
    chosen: list[str] = []
    for clause in draw(st.lists(st.sampled_from(_TEXT_CLAUSES), unique=True, max_size=5)):
        if not any(_is_doubled(clause, other) for other in chosen):
            chosen.append(clause)
    return "&".join(chosen)


FILTERS = st.builds(with_suffix, st.sampled_from(TOPIC_FILTERS), _suffixes())
SOME_TOPICS = st.sampled_from(TOPICS)
SOME_PROPERTIES = st.lists(
    st.tuples(st.sampled_from("pq"), st.sampled_from((*P_VALUES, *_TEXT_VALUES))), max_size=5
)
