"""Topic names and topic filters, as MQTT 3.1.1 and 5 define them in section 4.7.

Filters are compared as levels. "#" matches its parent too, but no topic is empty: "#" and "/#",
whose parents would be, are written as the levels of "+/#" and "/+/#", which match the same topics.
A topic name is a filter that matches only itself, so matching a topic is covering it.
"""

from __future__ import annotations

from meshwright.errors import FilterError

Levels = tuple[str, ...]

SEPARATOR = "/"
ONE_LEVEL = "+"
ALL_LEVELS = "#"
RESERVED = "$"  # first wildcards match no topic that starts with it
TEXT_BYTES_MAX = 65_535

_PARENTLESS: dict[str, Levels] = {"#": ("+", "#"), "/#": ("", "+", "#")}


def check_topic_name(text: str) -> None:
    """Refuse a text that nobody may publish to."""
    check_text(text)
    if ONE_LEVEL in text or ALL_LEVELS in text:
        raise FilterError(
            text,
            "a topic name holds no '+' or '#'",
            remedy="publish to one topic without wildcards",
        )


def check_topic_filter(text: str) -> None:
    """Refuse a text that is no topic filter."""
    check_text(text)
    if ONE_LEVEL not in text and ALL_LEVELS not in text:
        return
    *front, last = text.split(SEPARATOR)
    if any(ONE_LEVEL in level and level != ONE_LEVEL for level in (*front, last)):
        raise FilterError(
            text, "'+' shares its level with other text", remedy="let '+' fill a whole level"
        )
    if any(ALL_LEVELS in level for level in front):
        raise FilterError(
            text,
            "'#' stands before the last level",
            remedy="end with '#', or use '+' for one level",
        )
    if ALL_LEVELS in last and last != ALL_LEVELS:
        raise FilterError(
            text, "'#' shares its level with other text", remedy="let '#' fill the last level"
        )


def check_text(text: str) -> None:
    """Refuse what neither a topic nor a filter may be: empty, too long or not UTF-8."""
    if not text:
        raise FilterError(text, "the text is empty", remedy="give at least one character")
    if "\0" in text:
        raise FilterError(text, "the text holds the character U+0000", remedy="remove it")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise FilterError(
            text, "the text holds half a surrogate pair", remedy="send well-formed UTF-8"
        ) from error
    if size > TEXT_BYTES_MAX:
        raise FilterError(
            text, f"the text takes {size} bytes", remedy=f"use at most {TEXT_BYTES_MAX}"
        )


def levels_of(topic_filter: str) -> Levels:
    """Levels of a valid topic filter or topic name; the parent of a "#" in them is a topic."""
    return _PARENTLESS.get(topic_filter) or tuple(topic_filter.split(SEPARATOR))


def has_wildcard(levels: Levels) -> bool:
    """True if more than one topic matches."""
    return ONE_LEVEL in levels or levels[-1] == ALL_LEVELS


def plus_takes(level: str, depth: int) -> bool:
    """True if "+" covers this level: always, but for the first level of a reserved topic."""
    return level != ALL_LEVELS and not (depth == 0 and level.startswith(RESERVED))


def levels_cover(wide: Levels, narrow: Levels) -> bool:
    """True if every topic that matches `narrow` matches `wide`; exact."""
    for depth, (taken, level) in enumerate(zip(wide, narrow, strict=False)):
        if taken == ALL_LEVELS:
            return True
        if taken != level and not (taken == ONE_LEVEL and plus_takes(level, depth)):
            return False
    # "a/#" also matches its parent "a".
    return len(wide) == len(narrow) or wide[len(narrow) :] == (ALL_LEVELS,)


def levels_intersect(one: Levels, other: Levels) -> bool:
    """True if some topic matches both; exact."""
    for depth, (first, second) in enumerate(zip(one, other, strict=False)):
        if ALL_LEVELS in (first, second):
            return True
        fits = (
            first == second
            or (first == ONE_LEVEL and plus_takes(second, depth))
            or (second == ONE_LEVEL and plus_takes(first, depth))
        )
        if not fits:
            return False
    shared = min(len(one), len(other))
    return one[shared:] in ((), (ALL_LEVELS,)) and other[shared:] in ((), (ALL_LEVELS,))


def levels_union(one: Levels, other: Levels) -> Levels | None:
    """Levels that match what either matches and nothing else, for two that are incomparable.

    None but for one pair: "a" and "a/+/#" make "a/#". Of a union's topics of one depth, one of the
    two must match those whose levels nobody names, and so all; only this pair parts the depths.
    """
    short, long = sorted((one, other), key=len)
    return (*short, ALL_LEVELS) if long == (*short, ONE_LEVEL, ALL_LEVELS) else None
