"""Reports to trace: finished files of the brokers' telemetry, taken into one folder.

A file is taken once it is safely here, so whatever is killed in between, nothing is lost or there
twice. A trace that begins anew, or has grown too long, starts with what brokers say of their
sessions now: events alone tell nothing of who has wanted something all along.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.reading import read_if_there
from meshwright.files.trace_files import Retention, compact, retire
from meshwright.files.writing import make_folder, write_whole
from meshwright.live.operating.control_client import BrokerControl
from meshwright.live.telemetry.reports import FILES_MIN, ReportFile
from meshwright.live.telemetry.trace import TraceRecorder, standing_sessions
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.settings import WindowSettings
from meshwright.model.schema import (
    CONNECTIONS,
    PUBLICATIONS,
    STATEMENTS,
    SUBSCRIPTIONS,
    TRACE_TABLES,
)
from meshwright.model.times import SECOND_US
from meshwright.protocol.inspection import BrokerView

SPAN_NAME = "collected.json"
TRACE_NAME = "trace"
EVENTS = (SUBSCRIPTIONS, CONNECTIONS, STATEMENTS, PUBLICATIONS)


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """From when on the trace knows everything, until when, and of which brokers' sessions."""

    since_us: int
    until_us: int
    brokers: tuple[str, ...] = ()


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """What a round of collecting brought; silent: brokers that gave nothing, and why."""

    files: int
    silent: dict[str, str]


class Collection:
    """The trace in a manager's folder."""

    def __init__(self, folder: Path, network: RunningNetwork, settings: WindowSettings) -> None:
        self.trace = folder / TRACE_NAME
        self._span_path = folder / SPAN_NAME
        self._network = network
        self._settings = settings
        # How long publications are kept.
        self._kept_us = round(settings.kept * settings.length_s * SECOND_US)

    def span(self) -> Span | None:
        """What the trace spans; None before the first round."""
        content = read_if_there(self._span_path)
        return None if content is None else decoded(content, Span)

    def collect(self, now_us: int, *, is_read: bool = False) -> Collected:
        """Take what brokers have finished.

        is_read: somebody reads the trace, so that nothing is deleted; it has grown longer then.
        """
        span = self.span()
        if span is None or (not is_read and now_us - span.since_us > 2 * self._kept_us):
            span = self._begun(now_us, None if span is None else now_us - self._kept_us)
        files, silent, known = 0, {}, set(span.brokers)
        for name, (control, view) in self._network.views().items():
            if name not in known:  # it did not answer when the trace began, or came later
                self._write_sessions(name, view, now_us)
                known.add(name)
            try:
                files += self._take(control)
            except (OperatorError, OSError) as error:
                silent[name] = str(error)
        self._write(Span(since_us=span.since_us, until_us=now_us, brokers=tuple(sorted(known))))
        if not is_read:
            self._tidy(now_us)
        return Collected(files=files, silent=silent)

    def _take(self, control: BrokerControl) -> int:
        reports = control.get("/reports", tuple[ReportFile, ...])
        for one in reports:
            if one.table not in TRACE_TABLES or "/" in one.name or one.name.startswith("."):
                raise OperatorError(f"{control.name} names no report {one.table}/{one.name}.")
            content = control.report(one.table, one.name)
            write_whole({make_folder(self.trace / one.table) / one.name: content})
            self._network.order(control, "/reports/taken", table=one.table, name=one.name)
        return len(reports)

    def _tidy(self, now_us: int) -> None:
        """Few files, and not too much in them."""
        settings = self._settings
        if settings.apart_s:
            before_ns = round((now_us - settings.apart_s * SECOND_US) * 1_000)
            compact(self.trace, before_ns=before_ns, files_min=FILES_MIN)
        retire(self.trace, Retention(bytes_max=settings.bytes_max), now_us * 1_000)

    def _begun(self, now_us: int, kept_since_us: int | None) -> Span:
        """Begin with sessions as they are now; of a former trace, the last publications stay.

        The sessions are written first, and the oldest goes first: what is left by whoever is killed
        here says of no client that it wants what it does not.
        """
        since_us = kept_since_us or now_us
        older = sorted(self._older(since_us), key=lambda path: path.stat().st_mtime_ns)
        views = {name: view for name, (_, view) in self._network.views().items()}
        for name, view in views.items():
            self._write_sessions(name, view, now_us)
        for path in older:
            path.unlink(missing_ok=True)
        span = Span(since_us=since_us, until_us=now_us, brokers=tuple(views))
        self._write(span)
        return span

    def _older(self, since_us: int) -> Iterator[Path]:
        """What stands in the trace already, but for publications since a time."""
        for table in EVENTS:
            for path in (self.trace / table.name).glob("*.parquet"):
                with suppress(FileNotFoundError):
                    is_old = path.stat().st_mtime_ns < since_us * 1_000
                    if table is not PUBLICATIONS or is_old:
                        yield path

    def _write_sessions(self, name: str, view: BrokerView, now_us: int) -> None:
        recorder = TraceRecorder(self.trace, name, now_us)
        recorder.statement(now_us, standing_sessions(view))
        recorder.flush()

    def _write(self, span: Span) -> None:
        write_whole({make_folder(self.trace).parent / SPAN_NAME: msgspec.json.encode(span)})
