"""Writes the pages that are made of the code: `make reference`."""

from __future__ import annotations

from book.contents import ROOT
from book.pages import PAGES
from meshwright.files.writing import write_whole

write_whole({ROOT / path: make().encode() for path, make in PAGES.items()})
