"""The book is whole: links and anchors hold, every document is in it, made pages are current."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from sources import ROOT, short

from book.contents import chapters, documents
from book.pages import PAGES
from book.settings import broker_settings_page, manager_settings_page

FENCED = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
IN_CODE = re.compile(r"`[^`]+`")
LINK = re.compile(r"\]\(\s*([^)\s]+)\s*\)|^\[[^\]]+\]: (\S+)$", re.MULTILINE)
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
FAR = ("http://", "https://", "mailto:")
# Scripts, styles and fonts that a page would fetch.
FETCHED = re.compile(
    r"""(?:<script[^>]*\ssrc|<link[^>]*rel="stylesheet"[^>]*\shref)="(https?:[^"]+)"""
)


@cache
def prose(document: Path) -> str:
    """A document without what is typed as it is."""
    return FENCED.sub("", document.read_text(encoding="utf-8"))


@cache
def anchors(document: Path) -> frozenset[str]:
    """Where a link may lead in a document, as GitHub and MyST name headings."""
    names = [re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(prose(document))]
    return frozenset(name.strip().replace(" ", "-") for name in names)


def faults(document: Path) -> list[str]:
    """Links of a document that lead nowhere."""
    found = []
    for inline, defined in LINK.findall(IN_CODE.sub("``", prose(document))):
        link = inline or defined
        if link.startswith(FAR):
            continue
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("document", documents(), ids=short)
def test_links_lead_to_documents_and_headings_that_are_there(document: Path) -> None:
    assert not faults(document)


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "there.md").write_text("# It is there\n")
    links = "[a](there.md) [b](there.md#it-is-there) [c](there.md#it-was) [d](gone.md) [e](#here)"
    (tmp_path / "page.md").write_text(f"# Here\n\n{links} `[f](code.md)`\n\n[g]: gone.md\n")
    assert faults(tmp_path / "page.md") == ["there.md#it-was", "gone.md", "gone.md"]


def test_every_document_is_in_the_contents_once() -> None:
    assert sorted(chapters()) == documents()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_that_is_made_of_the_code_is_current(page: str) -> None:
    written = (ROOT / page).read_text(encoding="utf-8")
    assert written == PAGES[page](), f"{page} is stale: run make reference"


@pytest.mark.parametrize("made", [broker_settings_page, manager_settings_page])
def test_every_setting_has_its_type_in_words(made: Callable[[], str]) -> None:
    assert not re.findall(r"\(;.*|.* or ;.*|.* or or .*", made())


def test_the_book_is_made_without_a_warning_and_fetches_nothing(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-c",
         "book", "-d", str(tmp_path / "doctrees"), ".", str(tmp_path / "pages")],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    pages = sorted((tmp_path / "pages").rglob("*.html"))
    assert (tmp_path / "pages" / "index.html") in pages
    assert not {found for page in pages for found in FETCHED.findall(page.read_text())}
