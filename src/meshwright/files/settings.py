"""TOML files of settings: decoded once, a misspelt key refused with the nearest right one."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

from meshwright.errors import InputFileError, MeshwrightError, SettingError
from meshwright.files.decoding import converted
from meshwright.files.reading import read_text

T = TypeVar("T", bound=msgspec.Struct)

_PLACE = re.compile(r"^(.*) - at `\$(.*)`$")
_LINE = re.compile(r"line (\d+)")
_STEP = re.compile(r"\.([\w-]+)|\[(\d+)\]")

# How the decoder begins what it says of a word that is none of those a setting may be.
NO_CHOICE = "Invalid enum value"

# The keys on the way to a setting, and numbers of tables among their like.
Place = tuple[str | int, ...]


def read_settings(path: Path, kind: type[T], *, documented_in: str) -> T:
    """The settings of a file as a value; documented_in is where its keys are explained.

    File names in it are relative to its own folder.
    """

    def beside(wanted: type, value: Any) -> Any:
        if wanted is Path and isinstance(value, str):
            return path.parent / value
        raise ValueError(f"expected a file name, got {value!r}")

    text = read_text(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _LINE.search(str(error))
        line = int(match.group(1)) if match else text.count("\n") + 1
        problem = f"this is not TOML ({str(error)[:1].lower()}{str(error)[1:]})"
        raise InputFileError(str(path), problem, remedy=f"see {documented_in}", line=line) from None
    _refuse_unknown_keys(path, text, raw, kind)
    try:
        return converted(raw, kind, hook=beside)
    except msgspec.ValidationError as error:
        message, place = str(error), Place()
        if match := _PLACE.match(message):
            message, place = match.group(1), _place(match.group(2))
        where = f"{_shown(place)}: " if place else ""
        choices = _choices(_kind_at(kind, place)) if message.startswith(NO_CHOICE) else ""
        raise InputFileError(
            str(path),
            f"{where}{message[:1].lower()}{message[1:]}",
            remedy=f"choose {choices}" if choices else f"see {documented_in}",
            line=_line_of(text, place),
        ) from None


@contextmanager
def blaming_settings(path: Path | None, options: frozenset[Place]) -> Iterator[None]:
    """Name the file and the line of a setting that cannot work, unless it was given as an option.

    options: the places of those that were.
    """
    try:
        yield
    except SettingError as error:
        is_option = any(error.place[: len(place)] == place for place in options)
        if path is None or is_option:
            raise
        raise InputFileError(
            str(path),
            error.problem,
            remedy=error.remedy,
            line=_line_of(read_text(path), error.place),
        ) from None


@contextmanager
def of_setting(place: Place) -> Iterator[None]:
    """Say of which setting it is that a value of it is refused."""
    try:
        yield
    except MeshwrightError as error:
        problem, _, remedy = str(error).rstrip(".").partition("; ")
        raise SettingError(place, problem, remedy=remedy or "choose another") from None


def _refuse_unknown_keys(
    path: Path, text: str, raw: dict[str, Any], kind: Any, within: Place = ()
) -> None:
    known = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in raw.items():
        place = (*within, key)
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
            raise InputFileError(
                str(path),
                f"there is no setting {_shown(place)!r}",
                remedy=f"did you mean {_shown((*within, *near))!r}",
                line=_line_of(text, place),
            )
        inner = _struct_in(known[key])
        if inner is not None:
            for number, one in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(one, dict):
                    inside = (*place, number) if isinstance(value, list) else place
                    _refuse_unknown_keys(path, text, one, inner, inside)


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


def _shown(place: Place) -> str:
    return ".".join(step for step in place if isinstance(step, str))


def _line_of(text: str, place: Place) -> int:
    """The line of a key, or of the last table on the way to it that has a line of its own."""
    found, table = 1, Place()
    counts: Counter[Place] = Counter()
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.partition("#")[0].strip()
        if stripped.startswith("["):
            names = _keys(stripped.strip("[] \t"))
            if stripped.startswith("[["):
                counts[names] += 1
            table = _counted(names, counts)
            if place[: len(table)] == table:
                found = number
        elif place == (*table, *_keys(stripped.partition("=")[0])):
            return number
    return found


def _keys(text: str) -> Place:
    return tuple(key.strip().strip("\"'") for key in text.split("."))


def _counted(names: Place, counts: Counter[Place]) -> Place:
    """Names of tables, with the number of the last one where there are many of a name."""
    place = Place()
    for length in range(1, len(names) + 1):
        count = counts[names[:length]]
        place += (names[length - 1], count - 1) if count else (names[length - 1],)
    return place
