"""Plans that are kept: one file for each, with what has become of it, written whole.

The file of a plan is also the journal of its orders: what is about to be asked of brokers is
written before it is asked, so that a manager that was killed knows where it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Literal

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.documents import Document, Place, document_bytes
from meshwright.files.writing import make_folder, write_whole
from meshwright.manager.orders.execution import Action, Outcome
from meshwright.model.overlay import OVERLAY_VERSION
from meshwright.model.plan import PLAN_VERSION, Plan
from meshwright.protocol.foundation.transitions import Transitions

SAVED_VERSION = 1
# Of plans that are over, the oldest make room for new ones.
KEPT_MAX = 100

# "lost": the network that runs, without brokers that are lost. "churn": with the links changed of
# those that came or went.
Origin = Literal["trace", "running", "policy", "lost", "churn"]


class PlanState(Enum):
    """What has become of a plan."""

    MAKING = "making"
    FAILED = "failed"  # no plan was made, and the detail says why
    NOTHING_BETTER = "nothing better"
    PROPOSED = "proposed"
    APPLYING = "applying"
    REFUSED = "refused"
    ABORTED = "aborted"
    SUPERSEDED = "superseded"  # it gave way to a newer overlay
    APPLIED = "applied"
    UNDOING = "undoing"
    UNDONE = "undone"


S = PlanState
STATES = Transitions(
    {
        S.MAKING: (S.FAILED, S.NOTHING_BETTER, S.PROPOSED),
        S.FAILED: (),
        S.NOTHING_BETTER: (),
        S.PROPOSED: (S.APPLYING,),
        S.APPLYING: (S.APPLYING, S.REFUSED, S.ABORTED, S.SUPERSEDED, S.APPLIED),
        S.REFUSED: (S.APPLYING,),
        S.ABORTED: (S.APPLYING,),
        S.SUPERSEDED: (S.APPLYING,),
        S.APPLIED: (S.APPLIED, S.UNDOING),
        S.UNDOING: (S.UNDOING, S.UNDONE, S.APPLIED, S.SUPERSEDED),
        S.UNDONE: (S.APPLYING,),
    }
)
UNDER_WAY = (S.APPLYING, S.UNDOING)
OVER = (S.FAILED, S.NOTHING_BETTER, S.REFUSED, S.ABORTED, S.SUPERSEDED, S.UNDONE)


class Cost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Messages between brokers for a message that a client gets, before a change and after it."""

    before: float
    after: float


class Order(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What brokers were asked, or were about to be; epoch None: whether they were is not known.

    after_epoch: the highest epoch that was known before. cost_before: messages for a delivery, as
    measured before the order.
    """

    action: Action
    leader: str
    plan: str
    after_epoch: int
    given_us: int
    epoch: int | None = None
    cost_before: float | None = None


class SavedPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A plan under its id; detail: how its making goes on, or why it is in its state."""

    id: str
    created_us: int
    origin: Origin
    state: PlanState
    detail: str = ""
    predicted: Cost | None = None
    measured: Cost | None = None
    order: Order | None = None
    outcome: Outcome | None = None
    plan: Plan | None = None
    version: int = SAVED_VERSION

    def become(self, state: PlanState, detail: str = "", **changes: object) -> SavedPlan:
        """The same plan in another state."""
        STATES.checked(self.state, state)
        return msgspec.structs.replace(self, state=state, detail=detail, **changes)

    def whole(self) -> Plan:
        """The plan itself; refused where none was made."""
        if self.plan is None:
            why = f" ({self.detail})" if self.detail else ""
            raise OperatorError(f"Plan {self.id} is {self.state.value}{why}; there is no plan yet.")
        return self.plan


class PlanEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the list of plans."""

    id: str
    created_us: int
    origin: Origin
    state: PlanState
    detail: str = ""
    predicted: Cost | None = None
    measured: Cost | None = None
    order: Order | None = None
    outcome: Outcome | None = None


VERSIONS: dict[Place, int] = {
    (): SAVED_VERSION,
    ("plan",): PLAN_VERSION,
    ("plan", "from"): OVERLAY_VERSION,
    ("plan", "to"): OVERLAY_VERSION,
}
_FILE = re.compile(r"p(\d+)\.json")


class PlanStore:
    """The plans of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def entries(self) -> tuple[PlanEntry, ...]:
        """All plans, oldest first, without what they would change."""
        found = (self._entry(number) for number in self._numbers())
        return tuple(one for one in found if one is not None)

    def plan(self, name: str) -> SavedPlan:
        """One plan; refused with what there is, if there is none of this id."""
        path = self._folder / f"{name}.json"
        if not _FILE.fullmatch(f"{name}.json") or not path.exists():
            numbers = self._numbers()
            known = f"the newest is p{numbers[-1]}" if numbers else "there are none"
            raise OperatorError(f"There is no plan {name!r} in {self._folder}; {known}.")
        return Document(path).decoded(SavedPlan, VERSIONS)

    def under_way(self) -> SavedPlan | None:
        """The plan of which an order is not at its end, if there is one."""
        for entry in reversed(self.entries()):
            if entry.state in UNDER_WAY:
                return self.plan(entry.id)
        return None

    def add(self, created_us: int, origin: Origin) -> SavedPlan:
        """A new plan, to be made; the oldest of those that are over makes room."""
        numbers = self._numbers()
        saved = SavedPlan(
            id=f"p{numbers[-1] + 1 if numbers else 1}",
            created_us=created_us,
            origin=origin,
            state=PlanState.MAKING,
        )
        make_folder(self._folder)
        for entry in self._too_many():
            for ending in ("json", "abort"):
                (self._folder / f"{entry.id}.{ending}").unlink(missing_ok=True)
        self.write(saved)
        return saved

    def write(self, saved: SavedPlan) -> SavedPlan:
        """Keep what has become of a plan."""
        write_whole({self._folder / f"{saved.id}.json": document_bytes(saved)})
        return saved

    def ask_abort(self, saved: SavedPlan) -> None:
        """Have whoever carries out the order of a plan end it; anybody may ask, at any time."""
        write_whole({self._abort_path(saved): _order_mark(saved)})

    def is_abort_asked(self, saved: SavedPlan) -> bool:
        """Whether the order of a plan is to be ended; what was asked of an earlier one is not."""
        try:
            return self._abort_path(saved).read_bytes() == _order_mark(saved)
        except FileNotFoundError:
            return False

    def _abort_path(self, saved: SavedPlan) -> Path:
        """A file of its own, as only who carries out the order writes that of the plan."""
        return self._folder / f"{saved.id}.abort"

    def _too_many(self) -> Iterator[PlanEntry]:
        """What makes room; the newest stays, whatever became of it, as ids count on from it."""
        entries = self.entries()
        surplus = len(entries) + 1 - KEPT_MAX
        over = [one for one in entries[:-1] if one.state in (*OVER, S.PROPOSED, S.APPLIED)]
        yield from over[: max(0, surplus)]

    def _numbers(self) -> list[int]:
        found = (_FILE.fullmatch(path.name) for path in self._folder.glob("p*.json"))
        return sorted(int(match.group(1)) for match in found if match)

    def _entry(self, number: int) -> PlanEntry | None:
        """A line of the list; None if it has made room meanwhile."""
        path = self._folder / f"p{number}.json"
        try:
            return decoded(path.read_bytes(), PlanEntry)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError:
            Document(path).decoded(SavedPlan, VERSIONS)  # says what is wrong, and in which line
            raise


def _order_mark(saved: SavedPlan) -> bytes:
    """Tells the order of a plan from an earlier one of the same plan."""
    assert saved.order is not None
    return b"%d\n" % saved.order.given_us
