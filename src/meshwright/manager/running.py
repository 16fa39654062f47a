"""A network that runs: its brokers, the overlay in force, and how plans fare at each of them."""

from __future__ import annotations

from pathlib import Path

from meshwright.live.operating.control_client import BrokerControl, running_brokers
from meshwright.live.telemetry.plan_log import PlanProgress
from meshwright.model.overlay import Overlay


class RunningNetwork:
    """The brokers that run in a folder, found anew with each look."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def controls(self) -> dict[str, BrokerControl]:
        """Brokers that answer, by name; refused if there is none."""
        return {name: control for name, (control, _) in running_brokers(self._folder).items()}

    def progress(self) -> dict[str, PlanProgress]:
        """How far plans are at each broker that answers; refused if none does."""
        found = {}
        for name, control in self.controls().items():
            try:
                found[name] = control.get("/plan", PlanProgress)
            except OSError:  # it has ended since it was found
                continue
        return found

    def in_force(self) -> Overlay:
        """The overlay of the highest epoch that any broker has."""
        found = running_brokers(self._folder)
        return max((view for _, view in found.values()), key=lambda view: view.epoch).overlay
