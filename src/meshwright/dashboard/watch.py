"""What pages read, over REST: asked when somebody looks, and once for all who look at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import msgspec

from meshwright.manager.circle.status import Status
from meshwright.manager.orders.saved_plans import PlanEntry, SavedPlan
from meshwright.manager.rest.rest_client import RestDesk
from meshwright.manager.views.figures import POINTS_MAX, Figures, Point
from meshwright.manager.views.network_state import NetworkState, TopicPage
from meshwright.manager.views.paths import PathView
from meshwright.manager.views.reports import ReportEntry
from meshwright.manager.views.whereabouts import ClientPage

FRESH_S = 1.5
# Answers to questions with words in them, such as a search, of which there are many.
KEPT_MAX = 100

T = TypeVar("T")


class Watch:
    """Asks a manager with the key of those who may only look; raises OperatorError as it does."""

    def __init__(self, url: str, key: str) -> None:
        self._desk = RestDesk(url, None, token=key)
        self._kept: dict[tuple[object, ...], tuple[float, object]] = {}
        self._locks: dict[tuple[object, ...], asyncio.Lock] = {}
        self._points: tuple[Point, ...] = ()

    async def network(self) -> NetworkState:
        return await self._asked(self._desk.network)

    async def status(self) -> Status:
        return await self._asked(self._desk.status)

    async def plans(self) -> tuple[PlanEntry, ...]:
        return await self._asked(self._desk.entries)

    async def plan(self, name: str) -> SavedPlan:
        return await self._asked(self._desk.plan, name)

    async def clients(self, search: str, broker: str | None, limit: int) -> ClientPage:
        return await self._asked(self._desk.clients, search, broker, limit)

    async def topics(self, search: str, broker: str | None, limit: int) -> TopicPage:
        return await self._asked(self._desk.topics, search, broker, limit)

    async def path(self, topic: str, source: str, plan: str | None) -> PathView:
        return await self._asked(self._desk.path, topic, source, plan)

    async def reports(self) -> tuple[ReportEntry, ...]:
        return await self._asked(self._desk.reports)

    async def report(self, name: str) -> str:
        return await asyncio.to_thread(self._desk.report, name)

    async def figures(self) -> Figures:
        """With all points of the last hour, though only new ones are asked for."""
        since_us = self._points[-1].time_us if self._points else 0
        found = await self._asked(self._desk.figures, since_us)
        later = tuple(one for one in found.points if one.time_us > since_us)
        if later and (not self._points or later[0].time_us > self._points[-1].time_us):
            self._points = (*self._points, *later)[-POINTS_MAX:]
        return msgspec.structs.replace(found, points=self._points)

    async def _asked(self, ask: Callable[..., T], *words: Any) -> T:
        key = (ask.__name__, *words)
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = self._kept.get(key)
            if kept is not None and time.monotonic() - kept[0] < FRESH_S:
                return cast("T", kept[1])
            answer = await asyncio.to_thread(ask, *words)
            self._kept.pop(key, None)
            self._kept[key] = (time.monotonic(), answer)
        while len(self._kept) > KEPT_MAX:
            oldest = next(iter(self._kept))
            del self._kept[oldest]
            self._locks.pop(oldest, None)
        return answer
