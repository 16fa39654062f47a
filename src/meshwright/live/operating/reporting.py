"""What a broker tells of itself from time to time: files of its trace, and $SYS topics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from meshwright.errors import OperatorError
from meshwright.live.host.host import Host
from meshwright.live.settings import TelemetrySettings
from meshwright.live.telemetry.metrics import Readings
from meshwright.live.telemetry.reports import Reports, ReportsDropped
from meshwright.live.telemetry.system_topics import SystemTopics
from meshwright.live.telemetry.trace import Place, TraceRecorder, standing_sessions
from meshwright.model.publication import Publication
from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.events import SystemPublished


class TraceFailed(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the trace was not written, and why; the broker goes on."""

    reason: str


class Reporting:
    """Two tasks beside the broker; recorded gets records, with their times."""

    def __init__(
        self,
        host: Host,
        settings: TelemetrySettings,
        topics: SystemTopics,
        *,
        place: Place,
        readings: Callable[[], Readings],
        recorded: Callable[[int, TraceFailed | ReportsDropped], None],
    ) -> None:
        self._host = host
        self._settings = settings
        self._place = place
        self._readings = readings
        self._topics = topics
        self._recorded = recorded
        self._sequence = 0
        self._stated_us = -(1 << 62)
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, incarnation: int) -> None:
        """Begin, once the broker has started."""
        loop = asyncio.get_running_loop()
        settings = self._settings
        if settings.trace is not None:
            self._host.count_carried()
            self._host.reports = Reports(
                settings.trace,
                self._host.name,
                settings.trace_bytes_max,
                settings.trace_age_max_s,
                settings.trace_apart_s,
            )
            self._host.meter.trace = TraceRecorder(
                settings.trace, self._host.name, incarnation, self._place
            )
            self._tasks.append(loop.create_task(self._flush_always(settings.trace_every_s)))
        if settings.sys_every_s > 0:
            self._tasks.append(loop.create_task(self._tell_always(settings.sys_every_s)))

    async def stop(self) -> None:
        """Write the rest of the trace, once all clients are gone."""
        for task in self._tasks:
            task.cancel()
        await self._flush()

    async def _flush_always(self, every_s: float) -> None:
        while True:
            await asyncio.sleep(every_s)
            await self._flush()

    async def _flush(self) -> None:
        trace, reports = self._host.meter.trace, self._host.reports
        if trace is None or reports is None:
            return
        trace.round_trips(self._host.round_trips_ms())
        self._state(trace)
        now_us = self._host.clock.now_us()
        try:
            await asyncio.to_thread(trace.write, trace.gathered())
            groups = reports.to_put_together(now_us * 1_000)
            reports.were_put_together(await asyncio.to_thread(reports.put_together, groups))
            told: TraceFailed | ReportsDropped | None = reports.hold(
                trace.finished(), now_us * 1_000
            )
        except OperatorError as error:
            reports.were_put_together(())
            told = TraceFailed(reason=str(error))
        if told is not None:
            self._recorded(now_us, told)

    def _state(self, trace: TraceRecorder) -> None:
        """Say of all sessions how they are, when it is time to."""
        now_us, every_s = self._host.clock.now_us(), self._settings.statement_every_s
        if not every_s or 0 <= now_us - self._stated_us < every_s * SECOND_US:
            return
        self._stated_us = now_us
        trace.statement(now_us, standing_sessions(self._host.view()))

    async def _tell_always(self, every_s: float) -> None:
        while True:
            self._tell()
            await asyncio.sleep(every_s)

    def _tell(self) -> None:
        readings, now_us = self._readings(), self._host.clock.now_us()
        for is_local, values in (
            (True, self._topics.own(readings, now_us)),
            (False, self._topics.news(readings, now_us)),
        ):
            for topic, value in values.items():
                # No two publications of a publisher have the same number, in any of its lives.
                self._sequence = max(self._sequence + 1, now_us)
                publication = Publication(
                    f"$SYS@{self._host.name}",
                    self._sequence,
                    topic,
                    value.encode(),
                    retain=not is_local,
                )
                self._host.tell(SystemPublished(publication, is_local))
