"""What clients may read and write, by a file of rules as Mosquitto's users know it.

    topic read news/#               for everybody, until the first user line
    user alice                      what follows is for alice
    topic readwrite alice/#
    topic deny alice/secret
    pattern write devices/%c/state  for everybody: %c is the client id, %u the user name

A filter may be subscribed to if one rule lets all of it be read and no denial touches it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from meshwright.errors import FilterError, InputFileError
from meshwright.files.reading import read_text
from meshwright.filters.covering import covers, intersects
from meshwright.filters.filter import Filter, parse_filter
from meshwright.filters.topics import levels_cover, levels_of

Action = Literal["read", "write"]
ACCESSES = ("read", "write", "readwrite", "deny")
_UNSAFE = frozenset("+#/")


@dataclass(frozen=True, slots=True)
class Rule:
    """One line: which topics, and what may be done with them."""

    text: str
    access: str


@dataclass(slots=True)
class Rules:
    """Everybody's rules, those of each user, and patterns."""

    everybody: list[Rule] = field(default_factory=list)
    users: dict[str, list[Rule]] = field(default_factory=dict)
    patterns: list[Rule] = field(default_factory=list)

    def of(self, client: str, user: str) -> ClientRules:
        """What one client may do; a pattern is void for a name that would widen it."""
        rules = [*self.everybody, *self.users.get(user, ())]
        for rule in self.patterns:
            if ("%c" in rule.text and not is_safe(client)) or (
                "%u" in rule.text and not is_safe(user)
            ):
                continue
            text = rule.text.replace("%c", client).replace("%u", user)
            rules.append(Rule(text, rule.access))
        return ClientRules(tuple(rules))


class ClientRules:
    """The rules of one client, ready to be asked."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._allowing: dict[Action, list[Filter]] = {"read": [], "write": []}
        self._denying: list[Filter] = []
        for rule in rules:
            wanted = parse_filter(rule.text)
            if rule.access == "deny":
                self._denying.append(wanted)
            if rule.access in ("read", "readwrite"):
                self._allowing["read"].append(wanted)
            if rule.access in ("write", "readwrite"):
                self._allowing["write"].append(wanted)
        self.may_write = lru_cache(maxsize=1_024)(self._may_write)

    def may_subscribe(self, wanted: Filter) -> bool:
        """True if everything that a filter takes may be read."""
        plain = wanted.ungrouped()
        return any(covers(rule, plain) for rule in self._allowing["read"]) and not any(
            intersects(rule, plain) for rule in self._denying
        )

    def _may_write(self, topic: str) -> bool:
        levels = levels_of(topic)
        return any(levels_cover(rule.levels, levels) for rule in self._allowing["write"]) and not (
            any(levels_cover(rule.levels, levels) for rule in self._denying)
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
        elif words[0] in ("topic", "pattern") and rest:
            rule = _rule(path, number, rest)
            (section if words[0] == "topic" else rules.patterns).append(rule)
        else:
            raise InputFileError(
                str(path),
                f"{line.strip()!r} is no rule",
                remedy="begin with user, topic or pattern",
                line=number,
            )
    return rules


def _rule(path: Path, line: int, text: str) -> Rule:
    access, blank, rest = text.partition(" ")
    if not blank or access not in ACCESSES:
        access, rest = "readwrite", text
    filter_text = rest.strip()
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
