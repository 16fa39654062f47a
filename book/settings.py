"""Pages of settings: the annotated files in docs, each key with its type and default.

The comments are those of docs/broker.toml and docs/manager.toml, types and defaults those of the
structs that read them; a key that one of them has not is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec.structs import FieldInfo

from book.contents import ROOT
from book.markdown import block, code, item, page, paragraph
from meshwright.live.settings import LiveSettings
from meshwright.manager.settings import ManagerSettings

TABLE = re.compile(r"^(?:# )?\[+([a-z.]+)\]+(?:\s+# (.*))?$")
KEY = re.compile(r"^(# )?([a-z_]+) = (.+?)(?:\s+# (.*))?$")
GOES_ON = re.compile(r"^(?:\s{8,}# |#\s{8,}(?:# )?)(.*)$")
PROSE = re.compile(r"^#(?: (.*))?$")
TYPED = "  "
WORDS = {
    str: "text", int: "whole number", float: "number", bool: "true or false",
    Path: "path",
}  # fmt: skip


@dataclass(slots=True)
class Key:
    """One key as it is written; is_example: its value is none that it has if it is left out."""

    name: str
    value: str
    is_example: bool
    meaning: list[str]


@dataclass(slots=True)
class Table:
    """One table of a file, with its keys and the prose around them in their order."""

    name: str
    meaning: list[str]
    inside: list[Key | list[str]] = field(default_factory=list)


def broker_settings_page() -> str:
    """Every key of broker.toml."""
    return _settings_page("a broker", "broker.toml", LiveSettings)


def manager_settings_page() -> str:
    """Every key of manager.toml."""
    return _settings_page("a manager", "manager.toml", ManagerSettings)


def _settings_page(whose: str, name: str, kind: type[msgspec.Struct]) -> str:
    tables = _tables((ROOT / "docs" / name).read_text(encoding="utf-8").splitlines())
    fields = dict(_fields(kind, ""))
    written = {_path(table, one) for table in tables for one in table.inside if type(one) is Key}
    assert written == set(fields), f"docs/{name} and its struct differ: {written ^ set(fields)}"
    head = (
        f"This page is made of [docs/{name}](../{name}), a file to copy and change: in it every\n"
        "key stands with what it is if it is left out."
    )
    pieces = [piece for table in tables for piece in _told(table, fields)]
    return page(f"# Settings of {whose}", head, *pieces)


def _tables(lines: list[str]) -> list[Table]:
    """The tables of an annotated file; what stands before the first has no name."""
    tables, prose = [Table("", [])], list[str]()
    for line in [*lines, ""]:
        if table := TABLE.match(line):
            tables.append(Table(table[1], [table[2]] if table[2] else [], [prose] if prose else []))
            prose = []
        elif key := KEY.match(line):
            known = Key(key[2], key[3], bool(key[1]), [key[4]] if key[4] else [])
            tables[-1].inside += [prose, known] if prose else [known]
            prose = []
        elif not prose and (more := GOES_ON.match(line)):
            last = tables[-1].inside[-1] if tables[-1].inside else tables[-1]
            assert not isinstance(last, list), line
            last.meaning.append(more[1])
        elif said := PROSE.match(line):
            prose.append(said[1] or "")
        elif prose:
            tables[-1].inside.append(prose)
            prose = []
    return tables


def _fields(kind: type[msgspec.Struct], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    """Every key that may be set, with the field that takes it."""
    for one in msgspec.structs.fields(kind):
        below = [inner for inner in (one.type, *get_args(one.type)) if _is_struct(inner)]
        if below:
            yield from _fields(below[0], f"{prefix}{one.name}.")
        else:
            yield f"{prefix}{one.name}", one


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _path(table: Table, key: Key) -> str:
    return f"{table.name}.{key.name}".removeprefix(".")


def _told(table: Table, fields: dict[str, FieldInfo]) -> Iterator[str]:
    if table.name:
        yield f"## {table.name}"
    if table.meaning:
        meaning = " ".join(table.meaning)
        yield paragraph(f"{meaning[0].upper()}{meaning[1:]}.")
    keys: list[str] = []
    for one in table.inside:
        if isinstance(one, Key):
            keys.append(_item(one, fields[_path(table, one)]))
        else:
            yield "\n".join(keys)
            keys = []
            yield from _prose(one)
    yield "\n".join(keys)


def _item(key: Key, known: FieldInfo) -> str:
    """What a key is: of one that is commented out the value is an example."""
    value = f"for example {code(key.value)}"
    if not key.is_example:
        default = msgspec.json.encode(msgspec.to_builtins(known.default, enc_hook=str)).decode()
        value = f"default {code(default)}"
    return item(f"**{key.name}** ({_words(known.type)}; {value})", " ".join(key.meaning))


def _words(kind: Any) -> str:
    """A type as people say it."""
    if kind in WORDS:
        return WORDS[kind]
    if get_origin(kind) is Literal:
        return " or ".join(code(f'"{one}"') for one in get_args(kind))
    inner = [one for one in get_args(kind) if one not in (NoneType, Ellipsis)]
    if get_origin(kind) is Annotated:  # what follows the type says which values it may have
        return _words(inner[0])
    if get_origin(kind) is tuple:
        return f"list of {_words(inner[0])}"
    assert inner, f"no words are known for {kind}"
    return " or ".join(map(_words, inner))


def _prose(lines: list[str]) -> Iterator[str]:
    """Paragraphs, and lines that are to be typed, which stand two columns to the right."""
    told = list[str]()
    is_typed = False
    for line in [*lines, ""]:
        if told and (not line or line.startswith(TYPED) != is_typed):
            yield block("\n".join(told)) if is_typed else paragraph(" ".join(told))
            told = []
        if line:
            is_typed = line.startswith(TYPED)
            told.append(line.removeprefix(TYPED) if is_typed else line)
