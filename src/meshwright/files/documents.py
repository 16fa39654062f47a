"""JSON documents with a version: decoded strictly, faults pointed at by line, written readably."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from meshwright.errors import InputFileError
from meshwright.files.decoding import converted
from meshwright.files.reading import read_text

T = TypeVar("T", bound=msgspec.Struct)
Place = tuple[str | int, ...]

_VALUE = json.JSONDecoder()
_BLANK = re.compile(r"[ \t\r\n]*")
_PLACE_PART = re.compile(r"\.([^.\[\]`]+)|\[(\d+)\]")
_BYTE = re.compile(r" \(byte (\d+)\)$")
_UNKNOWN_FIELD = re.compile(r"unknown field `([^`]*)`")
_PLACE = re.compile(r" - at `\$(.*)`$")


class Document:
    """A JSON file: its plain values, and the line where each of them stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = read_text(path)
        if not self.text.strip():
            raise InputFileError(
                str(path), "the file is empty", remedy="write the file again", line=1
            )
        try:
            self.raw: Any = msgspec.json.decode(self.text)
        except (msgspec.DecodeError, RecursionError) as error:
            self._refuse_malformed(str(error))

    def decoded(self, kind: type[T], versions: Mapping[Place, int]) -> T:
        """The document as a value; unknown fields and another version at a place are refused."""
        for place, version in versions.items():
            self._check_version(kind, place, version)
        try:
            return converted(self.raw, kind)
        except msgspec.ValidationError as error:
            message = str(error)
            place_text = match.group(1) if (match := _PLACE.search(message)) else ""
            parts = [int(i) if i else name for name, i in _PLACE_PART.findall(place_text)]
            parts += _UNKNOWN_FIELD.findall(message)
            where = f" at {place_text.lstrip('.')}" if place_text else ""
            raise self.fault(
                tuple(parts),
                f"this is not {_article(kind)} ({_lowered(_PLACE.sub(where, message))})",
                "see docs/FILES.md for its fields",
            ) from None

    def fault(self, place: Place, problem: str, remedy: str) -> InputFileError:
        """The error that points at the line of one value."""
        line = _line_of(self.text, place)
        return InputFileError(str(self.path), problem, remedy=remedy, line=line)

    def _check_version(self, kind: type[msgspec.Struct], place: Place, version: int) -> None:
        value = self.raw
        for part in place:
            value = value.get(part) if isinstance(value, dict) else None
        found = value.get("version", version) if isinstance(value, dict) else version
        if found != version or isinstance(found, bool):
            where = f" ({'.'.join(map(str, place))})" if place else ""
            raise self.fault(
                (*place, "version"),
                f"this {kind.__name__.lower()}{where} has version {json.dumps(found)}",
                f"this program reads version {version}, so write it again with this program",
            )

    def _refuse_malformed(self, message: str) -> NoReturn:
        match = _BYTE.search(message)
        read = self.text.encode("utf-8")[: int(match.group(1)) if match else None]
        raise InputFileError(
            str(self.path),
            f"this is not JSON ({_lowered(_BYTE.sub('', message))})",
            remedy="write the file again",
            line=read.count(b"\n") + 1,
        ) from None


def document_bytes(value: msgspec.Struct) -> bytes:
    """A document that people can read and compare line by line: lists of plain values on one."""
    return (_laid_out(msgspec.to_builtins(value), "") + "\n").encode("utf-8")


def _laid_out(value: Any, indent: str) -> str:
    inner = indent + "  "
    if isinstance(value, dict) and value:
        items = [f"{_plain(key)}: {_laid_out(item, inner)}" for key, item in value.items()]
        return "{\n" + ",\n".join(inner + item for item in items) + f"\n{indent}}}"
    if isinstance(value, list | tuple) and any(isinstance(v, list | tuple | dict) for v in value):
        items = [_laid_out(item, inner) for item in value]
        return "[\n" + ",\n".join(inner + item for item in items) + f"\n{indent}]"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_plain(item) for item in value) + "]"
    return _plain(value)


def _plain(value: Any) -> str:
    return msgspec.json.encode(value).decode("utf-8")


def _line_of(text: str, place: Place) -> int:
    """Line of the value at a place in a JSON text, or of what is nearest around it."""
    at = _skip_blank(text, 0)
    for part in place:
        inside = _member_at(text, at, part) if text[at] == "{" else _item_at(text, at, part)
        if inside is None:
            break
        at = inside
    return text.count("\n", 0, at) + 1


def _member_at(text: str, at: int, name: str | int) -> int | None:
    """Where the value of a member begins; the last one counts, as it does in decoding."""
    found, at = None, _skip_blank(text, at + 1)
    while text[at] == '"':
        key, after_key = _VALUE.raw_decode(text, at)
        value_at = _skip_blank(text, _skip_blank(text, after_key) + 1)
        if key == name:
            found = value_at
        at = _next_entry(text, value_at)
    return found


def _item_at(text: str, at: int, index: str | int) -> int | None:
    if text[at] != "[" or not isinstance(index, int):
        return None
    at = _skip_blank(text, at + 1)
    for _ in range(index):
        if text[at] == "]":
            return None
        at = _next_entry(text, at)
    return None if text[at] == "]" else at


def _next_entry(text: str, value_at: int) -> int:
    """Where the next entry of a list or object begins, or its closing bracket stands."""
    _, end = _VALUE.raw_decode(text, value_at)
    at = _skip_blank(text, end)
    return _skip_blank(text, at + 1) if text[at] == "," else at


def _skip_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _article(kind: type[msgspec.Struct]) -> str:
    name = kind.__name__.lower()
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


def _lowered(message: str) -> str:
    """A message of the decoder, to stand inside a sentence."""
    return message if message.startswith("JSON") else message[:1].lower() + message[1:]
