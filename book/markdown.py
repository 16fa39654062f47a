"""Sentences of the code as Markdown of 100 columns."""

from __future__ import annotations

import re
import textwrap

WIDTH = 100
# What begins a line so would be a list or a heading.
MARK = re.compile(r"^(\s*)([-+#>]|\d+\.)(?=\s)", re.MULTILINE)
DOCUMENT = re.compile(r"\bdocs/((?:\w+/)*[\w-]+\.(?:md|toml))")


def paragraph(text: str) -> str:
    """One paragraph, its words as they are."""
    return _filled(_plain(text), "")


def item(head: str, text: str) -> str:
    """One line of a list; head is Markdown, text is not."""
    told = f"{head}: {_plain(text)}" if text else head
    return "- " + _filled(told, "  ")[2:]


def code(text: str) -> str:
    """Words that are typed as they are."""
    return f"`{text}`"


def block(text: str, language: str = "") -> str:
    """Lines that are typed as they are."""
    return f"```{language}\n{text}\n```"


def page(*pieces: str) -> str:
    """Pieces with a blank line between them."""
    return "\n\n".join(piece for piece in pieces if piece) + "\n"


def _plain(text: str) -> str:
    """Nothing in it is taken for a mark, and documents are links, seen from docs/reference."""
    marked = re.sub(r"([*`]|<(?=[a-zA-Z/!]))", r"\\\1", " ".join(text.split()))
    return DOCUMENT.sub(lambda found: f"[{found[0]}](../{found[1]})", marked)


def _filled(text: str, indent: str) -> str:
    lines = textwrap.wrap(
        " ".join(text.split()),
        WIDTH - 1,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    first, *others = lines
    return "\n".join([first, *(MARK.sub(r"\1\\\2", line) for line in others)])
