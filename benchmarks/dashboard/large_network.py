"""The manager's REST service and dashboard, over 500 brokers and 10,000 clients that are made up.

What brokers answer is made up; all that is done with it is what the manager does. Run it with a
design, whether there is a dashboard, and a folder; it prints the address that lets a browser in.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from meshwright.dashboard.application import with_dashboard
from meshwright.live.operating.control import TrafficView
from meshwright.live.operating.control_client import BrokerControl, Views
from meshwright.live.telemetry.carried import CarriedCounts
from meshwright.manager.circle.desk import PLANS_FOLDER, now_us
from meshwright.manager.circle.managing import Manager
from meshwright.manager.circle.status import Status
from meshwright.manager.collecting.windows import Windows
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.saved_plans import PlanEntry, PlanStore
from meshwright.manager.rest.service import serve
from meshwright.manager.settings import ManagerSettings, RestSettings
from meshwright.manager.views.watching import Watching
from meshwright.model.overlay import Overlay
from meshwright.planning.founding import founding_overlay
from meshwright.protocol.inspection import (
    BrokerView,
    InterestView,
    SessionView,
    SubscriptionView,
)

BROKERS, CLIENTS, TOPICS = 500, 10_000, 400
LOOK_EVERY_S = 5.0


class MadeUp:
    """A manager of brokers that do not run; some of its clients move with every look."""

    def __init__(self, folder: Path, design: str) -> None:
        self._rng = np.random.default_rng(1)
        names = tuple(f"broker{number:03d}" for number in range(BROKERS))
        self._overlay = founding_overlay(design, names)
        self._homes = self._rng.integers(BROKERS, size=CLIENTS)
        self._tastes = self._rng.zipf(1.4, size=(CLIENTS, 3)) % TOPICS
        self._neighbours = _neighbours(self._overlay)
        self._counts = {name: self._traffic(name) for name in names}
        network = RunningNetwork(folder)
        network.views = self._views
        self._store = PlanStore(folder / PLANS_FOLDER)
        self.watching = Watching(folder, network, self._store)
        self._controls = {name: BrokerControl(folder / name) for name in names}
        self._seen = self._made_views()

    def begin(self) -> None:
        """Look from now on, as a manager does."""
        threading.Thread(target=self._look_on, daemon=True).start()

    def _look_on(self) -> None:
        while True:
            self._counts = {name: self._grown(one) for name, one in self._counts.items()}
            self._homes[self._rng.integers(CLIENTS, size=20)] = self._rng.integers(BROKERS, size=20)
            self._seen = self._made_views()
            self.watching.see(now_us(), self._counts)
            time.sleep(LOOK_EVERY_S)

    def entries(self) -> tuple[PlanEntry, ...]:
        return self._store.entries()

    def status(self) -> Status:
        windows = Windows(have=1, needed=1, ready_in_s=0.0)
        return Status(
            manager="made up", telemetry="made up", windows=windows, lease="held", policy="manual",
            last="none", trust=1.0, cost=None, under_way=None, silent={}, trouble="", notes=(),
        )  # fmt: skip

    def _views(self) -> Views:
        return {name: (self._controls[name], view) for name, view in self._seen.items()}

    def _made_views(self) -> dict[str, BrokerView]:
        sessions: dict[int, list[SessionView]] = {at: [] for at in range(BROKERS)}
        for client, home in enumerate(self._homes.tolist()):
            wanted = tuple(SubscriptionView(f"news/{one}", 1) for one in self._tastes[client])
            one = SessionView(
                client=f"client-{client:05d}",
                is_connected=True,
                expiry_s=600,
                subscriptions=wanted,
                queued=0,
                in_flight=0,
            )
            sessions[home].append(one)
        return {
            name: self._view(name, tuple(sessions[at]))
            for at, name in enumerate(self._overlay.brokers)
        }

    def _view(self, name: str, sessions: tuple[SessionView, ...]) -> BrokerView:
        counts: dict[str, int] = {}
        for one in sessions:
            for each in one.subscriptions:
                counts[each.filter] = counts.get(each.filter, 0) + 1
        near = self._neighbours[name]
        return BrokerView(
            broker=name, epoch=1, overlay=self._overlay, alive=self._overlay.brokers, removed=(),
            neighbours=near, sessions=sessions, queues=(), plan=None, star=None,
            interests=tuple(InterestView(text, count) for text, count in counts.items()),
            is_emptying=False, retained=0, kept=0, round_trips_ms=dict.fromkeys(near, 2.0),
        )  # fmt: skip

    def _traffic(self, name: str) -> TrafficView:
        return TrafficView(broker=name, sent={}, carried=CarriedCounts())

    def _grown(self, former: TrafficView) -> TrafficView:
        more = self._rng.integers(1, 400, size=len(self._neighbours[former.broker])).tolist()
        came = zip(self._neighbours[former.broker], more, strict=True)
        return msgspec.structs.replace(
            former,
            published=former.published + int(self._rng.integers(100)),
            delivered=former.delivered + int(self._rng.integers(2_000)),
            by_peer={peer: former.by_peer.get(peer, 0) + count for peer, count in came},
            by_hops={hops: former.by_hops.get(hops, 0) + 50 for hops in range(1, 6)},
        )


def _neighbours(overlay: Overlay) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {name: [] for name in overlay.brokers}
    for one, other in overlay.links:
        found[one].append(other)
        found[other].append(one)
    return {name: tuple(sorted(near)) for name, near in found.items()}


def main(design: str, is_shown: str, folder: str) -> None:
    """Answer until the process is ended."""
    made_up = MadeUp(Path(folder), design)
    settings = ManagerSettings(folder=Path(folder), rest=RestSettings(listen="127.0.0.1:0"))
    front = with_dashboard if is_shown == "yes" else None
    manager = cast("Manager", cast("Any", made_up))
    serve(manager, settings, lambda text: print(text, flush=True), front)


if __name__ == "__main__":
    main(*sys.argv[1:])
