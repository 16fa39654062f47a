"""TOML files of settings: decoded once, a misspelt key refused with the nearest right one."""

from __future__ import annotations

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from meshwright.errors import InputFileError
from meshwright.files.reading import read_text

T = TypeVar("T", bound=msgspec.Struct)

_PLACE = re.compile(r"^(.*) - at `\$(.*)`$")
_LINE = re.compile(r"line (\d+)")
_INDEX = re.compile(r"\[[^\]]*\]")


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
        return msgspec.convert(raw, kind, dec_hook=beside)
    except msgspec.ValidationError as error:
        message, place = str(error), ""
        if match := _PLACE.match(message):
            message, place = match.group(1), _INDEX.sub("", match.group(2)).lstrip(".")
        where = f"{place}: " if place else ""
        raise InputFileError(
            str(path),
            f"{where}{message[:1].lower()}{message[1:]}",
            remedy=f"see {documented_in}",
            line=_line_of(text, tuple(place.split("."))),
        ) from None


def _refuse_unknown_keys(
    path: Path, text: str, raw: dict[str, Any], kind: Any, within: tuple[str, ...] = ()
) -> None:
    known = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in raw.items():
        place = (*within, key)
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
            raise InputFileError(
                str(path),
                f"there is no setting {'.'.join(place)!r}",
                remedy=f"did you mean {'.'.join((*within, *near))!r}",
                line=_line_of(text, place),
            )
        inner = _struct_in(known[key])
        if inner is not None:
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, dict):
                    _refuse_unknown_keys(path, text, one, inner, place)


def _struct_in(kind: Any) -> Any:
    """The struct that a field holds, maybe optional or in a list, or None."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((inner for inner in map(_struct_in, get_args(kind)) if inner is not None), None)


def _line_of(text: str, place: tuple[str, ...]) -> int:
    """The line of a key, or of the last table on the way to it that has a line of its own."""
    found, table = 1, ""
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if stripped.startswith("["):
            table = stripped.strip("[] \t")
            names = tuple(table.split("."))
            if place[: len(names)] == names:
                found = number
        key = stripped.partition("=")[0].strip().strip('"')
        if ".".join(filter(None, (table, key))) == ".".join(place):
            return number
    return found
