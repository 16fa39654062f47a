"""docs/decisions/README.md: all decisions with their titles."""

from __future__ import annotations

from book.contents import ROOT
from book.markdown import item, page

FOLDER = ROOT / "docs" / "decisions"
HEAD = """# Decisions

Why things are as they are: a page for each decision that somebody might ask about, or make again.
"""


def decisions_page() -> str:
    """The page."""
    files = sorted(FOLDER.glob("[0-9]*.md"))
    titles = [file.read_text(encoding="utf-8").split("\n")[0].removeprefix("# ") for file in files]
    return page(
        HEAD.strip(),
        "\n".join(
            item(f"[{title.split('. ')[0]}]({file.name})", title.split(". ", 1)[1])
            for title, file in zip(titles, files, strict=True)
        ),
    )
