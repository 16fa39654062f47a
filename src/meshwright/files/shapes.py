"""What keeps plain values from being a value of a type, told as people can mend it.

A misspelt key comes with the nearest right one, a wrong word with those that it may be.
"""

from __future__ import annotations

import difflib
import re
from typing import Any, Literal, NamedTuple, get_args, get_origin

import msgspec

_PLACE = re.compile(r"^(.*) - at `\$(.*)`$")
_STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]")

# How the decoder begins what it says of a word that is none of those a setting may be.
NO_CHOICE = "Invalid enum value"

# The keys on the way to a setting, and numbers of tables among their like.
Place = tuple[str | int, ...]


class Misfit(NamedTuple):
    """What is wrong, where, and what to do; remedy "": nothing is known to do."""

    place: Place
    problem: str
    remedy: str


def unknown_key(
    raw: dict[str, Any], kind: Any, within: Place = (), *, what: str = "setting"
) -> Misfit | None:
    """The first key that a struct of this kind has not, at any depth; what: a key is called."""
    known = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in raw.items():
        place = (*within, key)
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
            remedy = f"did you mean {shown((*within, *near))!r}"
            return Misfit(place, f"there is no {what} {shown(place)!r}", remedy)
        inner = _struct_in(known[key])
        if inner is None:
            continue
        for number, one in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(one, dict):
                inside = (*place, number) if isinstance(value, list) else place
                if (found := unknown_key(one, inner, inside, what=what)) is not None:
                    return found
    return None


def misfit_of(error: msgspec.ValidationError, kind: Any) -> Misfit:
    """What the decoder has against a value that was to be of this kind."""
    message, place = str(error), Place()
    if match := _PLACE.match(message):
        message, place = match.group(1), _place(match.group(2))
    where = f"{shown(place)}: " if place else ""
    choices = _choices(_kind_at(kind, place)) if message.startswith(NO_CHOICE) else ""
    problem = f"{where}{message[:1].lower()}{message[1:]}"
    return Misfit(place, problem, f"choose {choices}" if choices else "")


def shown(place: Place) -> str:
    """A place as people write it."""
    return ".".join(step for step in place if isinstance(step, str))


def _struct_in(kind: Any) -> Any:
    """The struct that a field holds, maybe optional or in a list, or None."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((inner for inner in map(_struct_in, get_args(kind)) if inner is not None), None)


def _kind_at(kind: Any, place: Place) -> Any:
    """What the setting at a place may be."""
    for step in place:
        if isinstance(step, str):
            fields = msgspec.structs.fields(_struct_in(kind))
            kind = next(one.type for one in fields if one.encode_name == step)
    return kind


def _choices(kind: Any) -> str:
    """The words among which a setting is one, maybe optional or in a list."""
    if get_origin(kind) is Literal:
        *others, last = map(repr, get_args(kind))
        return f"{', '.join(others)} or {last}" if others else last
    return next((found for found in map(_choices, get_args(kind)) if found), "")


def _place(path: str) -> Place:
    return tuple(key or int(number) for key, number in _STEP.findall(path))
