"""What a person may see of the network: brokers, clients, topics, ways of messages, the last hour.

Who asks for the network has its brokers asked; all else is of the last second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path

from meshwright.errors import OperatorError
from meshwright.live.operating.control import TrafficView
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.execution import Action
from meshwright.manager.orders.saved_plans import PlanState, PlanStore
from meshwright.manager.views.figures import Figures, FiguresKept
from meshwright.manager.views.losses import Change, Losses
from meshwright.manager.views.network_state import (
    NetworkState,
    TopicPage,
    network_state,
    topic_page,
)
from meshwright.manager.views.paths import PathView, path_of
from meshwright.manager.views.reports import ReportEntry, report_entries, report_page
from meshwright.manager.views.whereabouts import ClientPage, Whereabouts
from meshwright.protocol.inspection import BrokerView

FRESH_S = 1.0
# Plans of which an order moves clients, or has moved them.
MOVING = (PlanState.APPLYING, PlanState.APPLIED, PlanState.UNDOING, PlanState.UNDONE)


class Watching:
    """Answers from any thread; folder: of the manager."""

    def __init__(self, folder: Path, network: RunningNetwork, store: PlanStore) -> None:
        self._folder = folder
        self._network = network
        self._store = store
        self._figures = FiguresKept()
        self._whereabouts = Whereabouts()
        self._losses = Losses()
        self._lock = threading.Lock()
        self._views: tuple[float, dict[str, BrokerView]] | None = None
        # Of the last order that moved clients: what was ordered, and why each is where it went.
        self._ordered: tuple[str, Action] | None = None
        self._reasons: dict[tuple[str, str], str] = {}

    def see(self, now_us: int, traffic: Mapping[str, TrafficView]) -> Change:
        """One more look, and who is lost or back; traffic: what brokers have counted."""
        views = self._looked()
        self._figures.see(now_us, traffic, views)
        self._whereabouts.see(now_us, views, self._why_there())
        return self._losses.see(now_us, views)

    def network(self) -> NetworkState:
        """Brokers, and what is in force."""
        return network_state(self._looked(), self._figures.rates, self._losses.since_us)

    def figures(self, since_us: int = 0) -> Figures:
        """The last hour; since_us: of it, what came later."""
        return self._figures.figures(self._lately(), since_us)

    def clients(self, search: str, broker: str | None, limit: int) -> ClientPage:
        """Clients, by a part of their name or of what they want."""
        return self._whereabouts.page(self._lately(), search=search, broker=broker, limit=limit)

    def topics(self, search: str, broker: str | None, limit: int) -> TopicPage:
        """What clients want."""
        return topic_page(self._lately(), search=search, broker=broker, limit=limit)

    def path(self, topic: str, source: str, plan: str | None) -> PathView:
        """The way of a message now; plan: as it would be with this plan in force."""
        target = None if plan is None else self._store.plan(plan).whole().target
        return path_of(self._lately(), topic, source, target)

    def reports(self) -> tuple[ReportEntry, ...]:
        """Reports that commands left for the manager."""
        return report_entries(self._folder)

    def report(self, name: str) -> str:
        """One of them, a page."""
        return report_page(self._folder, name)

    def _looked(self) -> dict[str, BrokerView]:
        views = {name: view for name, (_, view) in self._network.views().items()}
        self._views = (time.monotonic(), views)
        return views

    def _lately(self) -> dict[str, BrokerView]:
        with self._lock:
            if self._views is not None and time.monotonic() - self._views[0] < FRESH_S:
                return self._views[1]
            return self._looked()

    def _why_there(self) -> dict[tuple[str, str], str]:
        orders = [
            (one.order.given_us, one.id, one.order.action)
            for one in self._store.entries()
            if one.order is not None and one.state in MOVING
        ]
        newest = max(orders)[1:] if orders else None
        if newest != self._ordered:
            self._ordered = newest
            self._reasons = {} if newest is None else self._reasons_of(*newest)
        return self._reasons

    def _reasons_of(self, name: str, action: Action) -> dict[tuple[str, str], str]:
        try:
            plan = self._store.plan(name).whole()
        except OperatorError:  # it has made room meanwhile
            return {}
        moves = [step for step in plan.steps if step.action == "move_client"]
        if action == "undo":
            back = f"plan {name}, which had moved it, was undone"
            return {(step.brokers[0], step.brokers[1]): back for step in moves}
        return {
            (step.brokers[0], step.brokers[2]): f"plan {name} put it here: {step.why}"
            for step in moves
        }
