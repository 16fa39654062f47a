"""Mosquitto's acl_file as rules, and its password_file as passwords; hashes stay as they are."""

from __future__ import annotations

from pathlib import Path

from meshwright.errors import FilterError
from meshwright.files.reading import read_text
from meshwright.filters.filter import parse_filter
from meshwright.live.access.passwords import hash_fault
from meshwright.live.access.rules import ACCESSES, split_access
from meshwright.live.mosquitto.lines import LeftOut, Line, left_out, lines_of

# Mosquitto has these for clients without a user only; here, lines before a name are everybody's.
ANONYMOUS = "anonymous"


def rules_of(path: Path) -> tuple[str, list[LeftOut]]:
    """The rules of an acl_file as text."""
    rules: list[str] = []
    kept_out: list[LeftOut] = []
    is_named = False
    for line in lines_of(path):
        if line.key == "user" and line.value:
            is_named = True
            rules.append(f"user {line.value}")
        elif line.key not in ("topic", "pattern"):
            kept_out.append(left_out(line, "rules begin with user, topic or pattern"))
        elif (fault := _fault(line)) is not None:
            kept_out.append(left_out(line, fault))
        else:
            if line.key == "topic" and not is_named:
                is_named = True
                rules.append(ANONYMOUS)
            rules.append(f"{line.key} {line.value}")
    return "".join(f"{rule}\n" for rule in rules), kept_out


def passwords_of(path: Path) -> tuple[str, list[LeftOut]]:
    """The users of a password_file as text."""
    users: dict[str, str] = {}
    kept_out: list[LeftOut] = []
    for number, text in enumerate(read_text(path).splitlines(), start=1):
        if not text.strip() or text.startswith("#"):
            continue
        user, colon, found = text.partition(":")
        found = found.strip()
        fault = hash_fault(found) if user and colon else "there is no user with a colon after it"
        if user in users:
            fault = "the user stands here before"
        if fault is not None:
            # The rest may be a password.
            kept_out.append(LeftOut(path, number, user, f"{fault}; use meshwright passwd"))
        else:
            users[user] = found
    return "".join(f"{user}:{found}\n" for user, found in users.items()), kept_out


def _fault(line: Line) -> str | None:
    """What is wrong with a rule for topics, if anything."""
    access, text = split_access(line.value)
    if access not in ACCESSES:
        return f"{access!r} is no access; write read, write, readwrite or deny"
    try:
        wanted = parse_filter(text)
    except FilterError as error:
        return f"{error.problem}; {error.remedy}"
    if wanted.clauses or wanted.group is not None:
        return "a rule is for topics, not for subscriptions"
    return None
