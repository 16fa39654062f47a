"""Lines of Mosquitto's files, each with where it stands, and what is said of those left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from meshwright.errors import InputFileError
from meshwright.files.reading import read_text

INCLUDED_DEPTH_MAX = 8


class Line(NamedTuple):
    """A key and all that follows on it."""

    path: Path
    number: int
    key: str
    value: str


class LeftOut(NamedTuple):
    """A line that has no counterpart here, and why or what to do instead."""

    path: Path
    number: int
    text: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.number}: {self.text}: left out: {self.reason}"


def left_out(line: Line, reason: str) -> LeftOut:
    """Say of a whole line why it is left out."""
    return LeftOut(line.path, line.number, f"{line.key} {line.value}".strip(), reason)


def lines_of(path: Path) -> list[Line]:
    """The lines of a file, but for comments and empty ones."""
    found = []
    for number, text in enumerate(read_text(path).splitlines(), start=1):
        words = text.split(maxsplit=1)
        if words and not words[0].startswith("#"):
            value = words[1].strip() if len(words) > 1 else ""
            found.append(Line(path, number, words[0], value))
    return found


def conf_lines(path: Path, depth: int = 0) -> Iterator[Line]:
    """The lines of a mosquitto.conf, with those of folders that it includes in their place."""
    for line in lines_of(path):
        if line.key != "include_dir":
            yield line
            continue
        folder = beside(path, line.value)
        if not folder.is_dir() or depth >= INCLUDED_DEPTH_MAX:
            raise InputFileError(
                str(path),
                f"{line.value!r} is no folder that can be included",
                remedy="correct the line, or remove it",
                line=line.number,
            )
        for one in sorted(folder.glob("*.conf")):
            yield from conf_lines(one, depth + 1)


def beside(path: Path, name: str) -> Path:
    """A file that another one names."""
    return path.parent / name
