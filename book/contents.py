"""The contents of the book: lists of links in docs/README.md, and in README.md of a folder there.

A heading of docs/README.md begins a part of the book, a link that begins a line of a list is a
chapter; the same of docs/papers/README.md is a section of that chapter.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIRST_PAGE = ROOT / "README.md"
CONTENTS = ROOT / "docs" / "README.md"
PART = re.compile(r"^## (.+)$")
CHAPTER = re.compile(r"^- \[.+?\]\((.+?\.md)\)")


@dataclass(frozen=True, slots=True)
class Part:
    """Some chapters under one title, which is empty where a page has no parts."""

    title: str
    chapters: tuple[Path, ...]


def parts(page: Path) -> list[Part]:
    """What a page leads to, in its order; a page without such lists leads nowhere."""
    found: list[tuple[str, list[Path]]] = [("", [])]
    for line in page.read_text(encoding="utf-8").splitlines():
        if title := PART.match(line):
            found.append((title[1], []))
        elif chapter := CHAPTER.match(line):
            found[-1][1].append(Path(os.path.normpath(page.parent / chapter[1])))
    return [Part(title, tuple(chapters)) for title, chapters in found if chapters]


def documents() -> list[Path]:
    """Every document of the project."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def chapters() -> list[Path]:
    """Every page of the book in the order of reading."""
    found = [FIRST_PAGE, CONTENTS]
    for part in parts(CONTENTS):
        for chapter in part.chapters:
            found.append(chapter)
            if chapter.name == CONTENTS.name:
                found += [one for below in parts(chapter) for one in below.chapters]
    return found
