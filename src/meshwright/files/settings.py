"""TOML files of settings: decoded once, a misspelt key refused with the nearest right one."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from meshwright.errors import InputFileError, MeshwrightError, SettingError
from meshwright.files.decoding import converted
from meshwright.files.reading import read_text
from meshwright.files.shapes import Place, misfit_of, unknown_key

T = TypeVar("T", bound=msgspec.Struct)

_LINE = re.compile(r"line (\d+)")


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
    found = unknown_key(raw, kind)
    if found is None:
        try:
            return converted(raw, kind, hook=beside)
        except msgspec.ValidationError as error:
            found = misfit_of(error, kind)
    remedy = found.remedy or f"see {documented_in}"
    raise InputFileError(str(path), found.problem, remedy=remedy, line=_line_of(text, found.place))


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
