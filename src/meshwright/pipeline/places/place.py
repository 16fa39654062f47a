"""Where something is: a path of this machine, or an address that only Spark's file systems know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/", re.IGNORECASE)
OF_THIS_MACHINE = re.compile(r"file:(?://(?:localhost)?(?=/))?", re.IGNORECASE)
GLOB_CHARACTERS = "\\*?[]{}"


@dataclass(frozen=True, slots=True)
class Address:
    """A place on a file system of Hadoop: hdfs://namenode/traces/city, s3a://bucket/city, ..."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __truediv__(self, name: str) -> Address:
        return Address(f"{self.text.rstrip('/')}/{name}")

    @property
    def scheme(self) -> str:
        """What says which file system it is."""
        return self.text.partition(":")[0]

    @property
    def name(self) -> str:
        """The last part."""
        return self.text.rstrip("/").rpartition("/")[2]

    @property
    def parent(self) -> Address:
        """The folder that it is in."""
        return Address(self.text.rstrip("/").rpartition("/")[0])


Place: TypeAlias = Path | Address


def place_of(text: str, beside: Path = Path()) -> Place:
    """The place that a person names; one without a scheme is relative to a folder."""
    if (own := OF_THIS_MACHINE.match(text)) is not None and text[own.end() :].startswith("/"):
        return Path(unquote(text[own.end() :]))
    return Address(text) if SCHEME.match(text) is not None else beside / text


def spark_path(place: Place) -> str:
    """A place as Spark reads it: no character of it means a pattern."""
    text = place.text if isinstance(place, Address) else str(place.resolve())
    escaped = "".join(f"\\{c}" if c in GLOB_CHARACTERS else c for c in text)
    return escaped if isinstance(place, Address) else f"file://{escaped}"


def spark_target(place: Place) -> str:
    """A place as Spark writes to it, where no character can mean a pattern."""
    return place.text if isinstance(place, Address) else f"file://{place.resolve()}"
