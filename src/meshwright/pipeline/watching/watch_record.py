"""What a watch has to say of each broker's clock and rows: watch.json in the folder of plans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from meshwright.files.decoding import decoded
from meshwright.files.documents import document_bytes
from meshwright.files.reading import read_if_there
from meshwright.files.writing import write_whole
from meshwright.model.wording import counted
from meshwright.pipeline.watching.clockwork import Clockwork, as_time

RECORD_NAME = "watch.json"
UNNAMED = "(no broker)"


class BrokerRecord(msgspec.Struct, kw_only=True):
    """One broker: its newest time, how far that is ahead of the network's clock, and its rows.

    late: rows that came after their period was judged and correct those to come. forgotten: rows
    that came too late for that. quarantined: rows of a time that had not come when their file was
    written; farthest_s: how far the worst was ahead, file: where it stands. waiting: rows that wait
    for a time far ahead of the network's clock; waiting_s: how far the last of them was ahead.
    """

    newest: str = ""
    ahead_s: float = 0.0
    is_waited_for: bool = True
    late: int = 0
    forgotten: int = 0
    quarantined: int = 0
    farthest_s: float = 0.0
    file: str | None = None
    waiting: int = 0
    waiting_s: float = 0.0


class WatchRecord(msgspec.Struct, kw_only=True):
    """All brokers that were heard of, up to a batch."""

    batch: int = -1
    brokers: dict[str, BrokerRecord] = {}

    def total(self, what: str) -> int:
        """Rows of all brokers: late, forgotten, quarantined or waiting."""
        return sum(int(getattr(one, what)) for one in self.brokers.values())


def read_record(plans: Path) -> WatchRecord:
    """What was said last; nothing if there is no record."""
    content = read_if_there(plans / RECORD_NAME)
    return WatchRecord() if content is None else decoded(content, WatchRecord)


def record_batch(plans: Path, rows: list[dict[str, Any]], batch: int) -> None:
    """Add what a batch found; one that Spark repeats is not added again."""
    record = read_record(plans)
    if batch <= record.batch:
        return
    for row in rows:
        one = record.brokers.setdefault(row["broker"] or UNNAMED, BrokerRecord())
        kind = row["kind"]
        if kind in {"clock", "silent"}:
            one.newest = as_time(row["amount"])
            one.ahead_s = row["rate"]
            one.is_waited_for = kind == "clock"
        elif kind == "ahead":
            one.quarantined += row["amount"]
            if row["rate"] > one.farthest_s:
                one.farthest_s, one.file = row["rate"], row["topic"]
        elif kind == "far":
            one.waiting += row["amount"]
            one.waiting_s = max(one.waiting_s, row["rate"]) if one.waiting else 0.0
        elif kind == "late":
            one.late += row["amount"]
        else:
            one.forgotten += row["amount"]
    record.batch = batch
    write_whole({plans / RECORD_NAME: document_bytes(record)})


def sentences(record: WatchRecord, clockwork: Clockwork) -> list[str]:
    """What whoever reads the answer must know, a sentence for each broker and fault."""
    told = []
    for name, one in sorted(record.brokers.items()):
        if one.quarantined:
            told.append(
                f"{name}: {counted(one.quarantined, 'row')} quarantined, up to "
                f"{as_span(one.farthest_s)} ahead of when the file was written ({one.file})."
            )
        if one.ahead_s > clockwork.late_us / 1e6:
            told.append(
                f"{name}: its clock is {as_span(one.ahead_s)} ahead of the network's; what it "
                "tells counts when that time has come."
            )
        if one.waiting:
            told.append(
                f"{name}: {counted(one.waiting, 'row')} not counted yet, of a time up to "
                f"{as_span(one.waiting_s)} ahead of the network's clock."
            )
        if not one.is_waited_for:
            told.append(f"{name}: nothing since {one.newest}; it is not waited for.")
        if one.late:
            told.append(
                f"{name}: {counted(one.late, 'row')} came late and count from the next period on."
            )
        if one.forgotten:
            told.append(f"{name}: {counted(one.forgotten, 'row')} came too late to count.")
    return told


def as_span(seconds: float) -> str:
    """A time span as people say it."""
    for unit, length in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length or (unit != "days" and seconds >= length):
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"
