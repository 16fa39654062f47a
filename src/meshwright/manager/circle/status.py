"""What is to be seen of a manager, as whoever asks is told."""

from __future__ import annotations

import msgspec

from meshwright.manager.collecting.windows import Windows
from meshwright.manager.orders.execution import Sight
from meshwright.manager.orders.saved_plans import PlanState


class Adaptation(msgspec.Struct, frozen=True, kw_only=True):
    """Brokers that were told to hold the adaptation of their tree, or to go on with it."""

    is_held: bool
    brokers: tuple[str, ...]
    refused: dict[str, str]


class UnderWay(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that is being carried out, and what is to be seen of it."""

    id: str
    state: PlanState
    sight: Sight | None


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What the manager does and waits for, in sentences and figures.

    cost: messages between brokers for a delivery, as measured now. silent: brokers whose telemetry
    is not collected, and why. trouble: why nothing goes on, if so.
    """

    manager: str
    telemetry: str
    windows: Windows
    lease: str
    policy: str
    last: str
    trust: float
    cost: float | None
    under_way: UnderWay | None
    silent: dict[str, str]
    trouble: str
    notes: tuple[str, ...]
