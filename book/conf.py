"""How Sphinx makes the book: `make docs` calls it with the root of the project as its source.

Documents lead to each other as they do in the repository, so that each can be read there, too.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from book.contents import CONTENTS, FIRST_PAGE, ROOT, Part, parts
from meshwright import __version__
from meshwright.files.page_style import DARK, LIGHT

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Meshwright"
author = "The Meshwright developers"
project_copyright = author
version = release = __version__
extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md"]
# Folders are named here so that they are not searched.
exclude_patterns = [
    ".*", "benchmarks", "book", "build", "deploy", "dist", "release", "requirements", "src",
    "tests",
]  # fmt: skip
myst_heading_anchors = 4
nitpicky = True
# Pygments has no colours for CSV and JSON lines.
suppress_warnings = ["misc.highlighting_failure"]
html_theme = "furo"
html_title = f"Meshwright {version}"
html_static_path = ["static"]
html_css_files = ["book.css"]
html_copy_source = False
# The book is opened as files, of which a browser lets no page read others.
html_show_search_summary = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": LIGHT["accent"],
        "color-brand-content": LIGHT["accent"],
        "font-stack": "system-ui, sans-serif",
        "font-stack--monospace": "ui-monospace, 'DejaVu Sans Mono', monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": DARK["accent"],
        "color-brand-content": DARK["accent"],
    },
}


def setup(app: Sphinx) -> None:
    """Have Sphinx find the contents, and browsers the first page."""
    app.connect("source-read", _add_contents)
    app.connect("build-finished", _name_the_first_page)


def _add_contents(_app: Sphinx, name: str, source: list[str]) -> None:
    """Tell Sphinx in its own words what a page leads to."""
    page = ROOT / f"{name}.md"
    if page.name != CONTENTS.name or page == CONTENTS:
        return
    is_first = page == FIRST_PAGE
    for part in [Part("", (CONTENTS,)), *parts(CONTENTS)] if is_first else parts(page):
        options = ":hidden:\n" + (f":caption: {part.title}\n" if part.title else "")
        named = "\n".join(f"/{chapter.relative_to(ROOT)}" for chapter in part.chapters)
        source[0] += f"\n```{{toctree}}\n{options}\n{named}\n```\n"


def _name_the_first_page(app: Sphinx, fault: Exception | None) -> None:
    """Browsers ask a folder for index.html."""
    if fault is None:
        shutil.copyfile(app.outdir / "README.html", app.outdir / "index.html")
