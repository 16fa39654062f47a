"""Reports that commands left in a manager's folder, for people who look at the network."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from meshwright.errors import OperatorError

REPORTS_FOLDER = "reports"
REPORT_NAME = "report.html"
_NAME = re.compile(r"\w[\w.-]*")


class ReportEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A report; made_us: when it was written."""

    name: str
    made_us: int


def report_entries(folder: Path) -> tuple[ReportEntry, ...]:
    """Folders with a report.html in them, as compare and lab run leave them; the newest first."""
    found = [
        ReportEntry(name=path.parent.name, made_us=path.stat().st_mtime_ns // 1_000)
        for path in (folder / REPORTS_FOLDER).glob(f"*/{REPORT_NAME}")
        if _NAME.fullmatch(path.parent.name)
    ]
    return tuple(sorted(found, key=lambda one: (-one.made_us, one.name)))


def report_page(folder: Path, name: str) -> str:
    """One report as the page that it is."""
    path = folder / REPORTS_FOLDER / name / REPORT_NAME
    if not _NAME.fullmatch(name) or not path.is_file():
        raise OperatorError(f"There is no report {name!r} in {folder / REPORTS_FOLDER}.")
    return path.read_text(encoding="utf-8")
