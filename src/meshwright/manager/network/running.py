"""A network that runs: its brokers, the overlay in force, and how plans fare at each of them."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from meshwright.errors import OperatorError
from meshwright.live.operating.control_client import (
    BrokerControl,
    Finder,
    PlanBegun,
    Views,
    running_brokers,
)
from meshwright.live.operating.leases import LeaseView
from meshwright.live.system.addresses import Address
from meshwright.live.telemetry.plan_log import PlanProgress
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan

T = TypeVar("T")


class RunningNetwork:
    """The brokers that run in a folder, or at addresses, found anew with each look.

    lease: the number of the manager's lease that orders carry, if a manager gives them.
    """

    def __init__(self, folder: Path) -> None:
        finder = Finder()
        self.views: Callable[[], Views] = lambda: running_brokers(folder, finder)
        self.lease: int | None = None

    @classmethod
    def at(
        cls, addresses: tuple[Address, ...], token: bytes, tls: ssl.SSLContext | None = None
    ) -> RunningNetwork:
        """Brokers that take orders at addresses, from whoever shows the token."""
        network, finder = cls(Path()), Finder()
        network.views = lambda: _brokers_at(finder, addresses, token, tls)
        return network

    def staying(self) -> tuple[str, ...]:
        """Connected clients that cannot be sent to another broker, sorted."""
        views = (view for _, view in self.views().values())
        return tuple(sorted(one.client for view in views for one in view.sessions if one.stays))

    def controls(self) -> dict[str, BrokerControl]:
        """Brokers that answer, by name; refused if there is none."""
        return {name: control for name, (control, _) in self.views().items()}

    def control(self, name: str) -> BrokerControl:
        """A broker that answers; refused with those that do if it does not."""
        controls = self.controls()
        if name not in controls:
            raise OperatorError(
                f"No broker {name!r} runs here; those that do: {', '.join(sorted(controls))}."
            )
        return controls[name]

    def leader(self) -> str:
        """Who leads a plan if nobody is named: the first by name."""
        return min(self.controls())

    def decide(self, leader: str, action: str, plan: Plan | None = None) -> PlanBegun:
        """Have a broker apply, undo or abort a plan; refused with its reason if it will not."""
        return self.control(leader).decide(action, plan, lease=self.lease)

    def order(self, control: BrokerControl, path: str, **options: str) -> None:
        """Have a broker do something, if no other manager has followed the one that asks."""
        lease = {} if self.lease is None else {"lease": str(self.lease)}
        control.order(path, **options, **lease)

    def progress(self) -> dict[str, PlanProgress]:
        """How far plans are at each broker that answers; refused if none does."""
        return self._asked("/plan", PlanProgress)

    def leases(self) -> dict[str, LeaseView]:
        """What each broker that answers knows of managers."""
        return self._asked("/lease", LeaseView)

    def in_force(self) -> Overlay:
        """The overlay of the highest epoch that any broker has."""
        return max((view for _, view in self.views().values()), key=lambda view: view.epoch).overlay

    def _asked(self, path: str, kind: type[T]) -> dict[str, T]:
        found = {}
        for name, control in self.controls().items():
            try:
                found[name] = control.get(path, kind)
            except OSError:  # it has ended since it was found
                continue
        if not found:
            raise OperatorError("No broker answers any more; see their logs.")
        return found


def _brokers_at(
    finder: Finder, addresses: tuple[Address, ...], token: bytes, tls: ssl.SSLContext | None
) -> Views:
    found = finder.answering(BrokerControl.at(address, token, tls) for address in addresses)
    if not found:
        raise OperatorError(
            f"No broker answers at {', '.join(map(str, addresses))}; start them, or name where "
            "they take orders in brokers.addresses."
        )
    return found
