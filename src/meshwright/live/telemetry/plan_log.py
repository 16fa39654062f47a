"""How plans fare at one broker: their latest steps, and what became of the clients they move."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.protocol.inspection import BrokerView, PlanView
from meshwright.protocol.mobility.redirects import ClientMoveRecord
from meshwright.protocol.reconfiguration.messages import PlanRecord

STEPS_MAX = 200


class PlanStepView(msgspec.Struct, frozen=True, kw_only=True):
    """A step of a plan at a broker, and when it was taken there."""

    time_us: int
    plan: str
    epoch: int
    step: str
    detail: str


class PlanProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far plans are at a broker.

    under_way: the plan in which it takes part. steps: the latest, oldest first. moved: clients that
    the plan in force has moved from here. staying: clients that it could not move, by the reason.
    """

    broker: str
    epoch: int
    overlay: Overlay
    under_way: PlanView | None
    steps: tuple[PlanStepView, ...]
    moved: int
    staying: dict[str, int]


class PlanLog:
    """Hears the records of one broker, and keeps those of plans; moves are of the last epoch."""

    def __init__(self) -> None:
        self._steps: deque[PlanStepView] = deque(maxlen=STEPS_MAX)
        self._moves: dict[str, ClientMoveRecord] = {}
        self._moves_epoch = 0

    def hear(self, time_us: int, record: Any) -> None:
        """Something is reported, of plans or not."""
        if isinstance(record, PlanRecord):
            self._steps.append(
                PlanStepView(
                    time_us=time_us,
                    plan=record.plan,
                    epoch=record.epoch,
                    step=record.step,
                    detail=record.detail,
                )
            )
        elif isinstance(record, ClientMoveRecord) and record.epoch:
            self._move(record)

    def progress(self, view: BrokerView) -> PlanProgress:
        """Where plans stand at a broker that looks like this."""
        is_current = self._moves_epoch == view.epoch
        moves = list(self._moves.values()) if is_current else []
        staying = Counter(one.detail for one in moves if one.step == "stays")
        return PlanProgress(
            broker=view.broker,
            epoch=view.epoch,
            overlay=view.overlay,
            under_way=view.plan,
            steps=tuple(self._steps),
            moved=sum(one.step == "moved" for one in moves),
            staying=dict(sorted(staying.items())),
        )

    def _move(self, record: ClientMoveRecord) -> None:
        if record.epoch > self._moves_epoch:
            self._moves_epoch = record.epoch
            self._moves.clear()
        if record.epoch == self._moves_epoch:
            self._moves[record.client] = record
