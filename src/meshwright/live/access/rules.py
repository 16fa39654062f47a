"""What clients may read and write, by a file of rules as Mosquitto's users know it.

    topic read news/#               for everybody, until a line "user NAME" or "anonymous"
    user alice                      what follows is for alice; after "anonymous", for no user
    topic readwrite alice/#
    topic deny alice/secret         goes before everything else
    pattern write devices/%c/state  for everybody: %c is the client id, %u the user name

A name that would widen a pattern makes it void, unless it is a denial: that only takes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from meshwright.errors import FilterError, InputFileError
from meshwright.files.reading import read_text
from meshwright.filters.filter import Filter, parse_filter
from meshwright.filters.topics import Levels, levels_cover, levels_intersect, levels_of

Action = Literal["read", "write"]
ACCESSES = ("read", "write", "readwrite", "deny")
TOPICS_KEPT_MAX = 1_024
_UNSAFE = frozenset("+#/")
_PLACEHOLDER = re.compile("%[cu]")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: which topics, and what may be done with them."""

    text: str
    access: str


@dataclass(slots=True)
class Rules:
    """Rules of everybody, of clients without a user, of each user, and patterns."""

    everybody: list[Rule] = field(default_factory=list)
    anonymous: list[Rule] = field(default_factory=list)
    users: dict[str, list[Rule]] = field(default_factory=dict)
    patterns: list[Rule] = field(default_factory=list)

    def of(self, client_id: str, user: str) -> ClientRules:
        """What one client may do; user is empty for one that has none."""
        own = self.users.get(user, ()) if user else self.anonymous
        names = {"%c": client_id, "%u": user}
        filled = [rule for one in self.patterns if (rule := _filled(one, names)) is not None]
        return ClientRules((*self.everybody, *own, *filled))


class ClientRules:
    """The rules of one client, ready to be asked."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._allowing: dict[Action, list[Levels]] = {"read": [], "write": []}
        self._denying: list[Levels] = []
        for rule in rules:
            levels = levels_of(rule.text)
            if rule.access == "deny":
                self._denying.append(levels)
            if rule.access in ("read", "readwrite"):
                self._allowing["read"].append(levels)
            if rule.access in ("write", "readwrite"):
                self._allowing["write"].append(levels)
        self.may = lru_cache(maxsize=TOPICS_KEPT_MAX)(self._may)

    def may_read_all(self, wanted: Filter) -> bool:
        """True if one rule lets all topics of a filter be read, and no denial touches it."""
        return any(levels_cover(one, wanted.levels) for one in self._allowing["read"]) and not any(
            levels_intersect(one, wanted.levels) for one in self._denying
        )

    def may_read_some(self, wanted: Filter) -> bool:
        """True if a topic of a filter may be read, as far as single rules tell."""
        return any(
            levels_intersect(one, wanted.levels) for one in self._allowing["read"]
        ) and not any(levels_cover(one, wanted.levels) for one in self._denying)

    def _may(self, action: Action, topic: str) -> bool:
        levels = levels_of(topic)
        return any(levels_cover(one, levels) for one in self._allowing[action]) and not any(
            levels_cover(one, levels) for one in self._denying
        )


def is_safe(name: str) -> bool:
    """True if a name stands for itself inside a topic filter."""
    return bool(name) and not _UNSAFE & set(name)


def read_rules(path: Path) -> Rules:
    """The rules of a file; a line that is none is pointed at."""
    rules = Rules()
    section = rules.everybody
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        words = line.split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        rest = words[1].strip() if len(words) > 1 else ""
        if words[0] == "user" and rest:
            section = rules.users.setdefault(rest, [])
        elif words[0] == "anonymous" and not rest:
            section = rules.anonymous
        elif words[0] in ("topic", "pattern") and rest:
            rule = _rule(path, number, rest)
            (section if words[0] == "topic" else rules.patterns).append(rule)
        else:
            raise InputFileError(
                str(path),
                f"{line.strip()!r} is no rule",
                remedy="begin with user, anonymous, topic or pattern",
                line=number,
            )
    return rules


def split_access(text: str) -> tuple[str, str]:
    """What a line for topics allows, and the filter; the first of two words must be an access.

    So a denial that is misspelt does not become a permission for another topic.
    """
    words = text.split(maxsplit=1)
    return (words[0], words[1]) if len(words) > 1 else ("readwrite", text)


def _filled(pattern: Rule, names: dict[str, str]) -> Rule | None:
    """A pattern with names in it, at once, so that no name is taken for a pattern."""
    used = _PLACEHOLDER.findall(pattern.text)
    if pattern.access != "deny" and not all(is_safe(names[one]) for one in used):
        return None
    text = _PLACEHOLDER.sub(lambda found: names[found[0]], pattern.text)
    return Rule(text, pattern.access)


def _rule(path: Path, line: int, text: str) -> Rule:
    access, filter_text = split_access(text)
    if access not in ACCESSES:
        raise InputFileError(
            str(path),
            f"{access!r} is no access",
            remedy="write read, write, readwrite or deny, which a topic with a blank needs, too",
            line=line,
        )
    try:
        parsed = parse_filter(filter_text)
    except FilterError as error:
        raise InputFileError(
            str(path), str(error).rstrip("."), remedy="see the rules", line=line
        ) from None
    if parsed.clauses or parsed.group is not None:
        raise InputFileError(
            str(path),
            f"{filter_text!r} asks for more than topics",
            remedy="write a plain topic filter",
            line=line,
        )
    return Rule(filter_text, access)
