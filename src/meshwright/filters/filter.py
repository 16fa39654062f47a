"""A filter: `$share/group/$where/clauses/topic filter`, of which only the last must be there.

"$share/" begins a shared subscription: the group says who of many receives a message, never which
messages match. "$where/" and clauses up to the next "/" ask for content. Topics that begin with "$"
are the server's, so every topic of a client can be subscribed to by its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from meshwright.errors import FilterError
from meshwright.filters.clauses import JOINT, Clauses, clauses_hold, parse_clauses
from meshwright.filters.topics import (
    ALL_LEVELS,
    ONE_LEVEL,
    SEPARATOR,
    Levels,
    check_text,
    check_topic_filter,
    levels_cover,
    levels_of,
)
from meshwright.filters.values import Properties, values_by_attribute

SHARE_PREFIX = "$share/"
WHERE_PREFIX = "$where/"


@dataclass(frozen=True, slots=True)
class Filter:
    """A valid filter, whatever the order of its clauses; parse_filter(str(f)) == f.

    Two filters are equal if their texts are; two that match the same messages may be written
    differently (`#` and `+/#`, `n>1` and `n>1.0`) and then cover one another.
    """

    topic_filter: str
    clauses: Clauses = ()
    group: str | None = None
    levels: Levels = field(init=False, repr=False, compare=False)
    _text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "clauses", tuple(sorted(self.clauses)))
        object.__setattr__(self, "levels", levels_of(self.topic_filter))
        share = "" if self.group is None else f"{SHARE_PREFIX}{self.group}{SEPARATOR}"
        clauses = JOINT.join(map(str, self.clauses))
        where = f"{WHERE_PREFIX}{clauses}{SEPARATOR}" if clauses else ""
        object.__setattr__(self, "_text", f"{share}{where}{self.topic_filter}")

    def __str__(self) -> str:
        return self._text

    def ungrouped(self) -> Filter:
        """The filter that matches the same messages for everybody: what other brokers are told."""
        return self if self.group is None else replace(self, group=None)


def parse_filter(text: str) -> Filter:
    """The filter that a client subscribes to; FilterError says what is wrong with the text."""
    check_text(text)
    group, rest = _without_share(text)
    clauses, topic_filter = _without_where(text, rest)
    if not topic_filter:
        raise FilterError(text, "there is no topic filter", remedy="write one, such as # for all")
    check_topic_filter(topic_filter)
    return Filter(topic_filter, clauses, group)


def matches(wanted: Filter, topic: str, properties: Properties = ()) -> bool:
    """True if a message to a valid topic name, with these user properties, is wanted."""
    if not levels_cover(wanted.levels, levels_of(topic)):
        return False
    return not wanted.clauses or clauses_hold(wanted.clauses, values_by_attribute(properties))


def _without_share(text: str) -> tuple[str | None, str]:
    """The group, if there is one, and the filter that it shares."""
    if not text.startswith(SHARE_PREFIX):
        return None, text
    group, _, shared = text.removeprefix(SHARE_PREFIX).partition(SEPARATOR)
    if not group or ONE_LEVEL in group or ALL_LEVELS in group:
        raise FilterError(
            text,
            "the group of a shared subscription is empty or holds a wildcard",
            remedy="write $share/group/filter",
        )
    if shared.startswith(SHARE_PREFIX):
        raise FilterError(
            text, "a shared subscription is shared again", remedy="name a single group"
        )
    return group, shared


def _without_where(text: str, rest: str) -> tuple[Clauses, str]:
    """The clauses, if there are any, and the topic filter."""
    if not rest.startswith(WHERE_PREFIX):
        return (), rest
    suffix, _, topic_filter = rest.removeprefix(WHERE_PREFIX).partition(SEPARATOR)
    if topic_filter.startswith((SHARE_PREFIX, WHERE_PREFIX)):
        raise FilterError(
            text,
            "$share or $where follows on $where",
            remedy="write $share/group/$where/clauses/filter, and join clauses by &",
        )
    return parse_clauses(text, suffix), topic_filter
