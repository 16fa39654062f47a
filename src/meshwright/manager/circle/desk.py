"""Where saved plans are asked for and ordered: the folder of a network, or a manager over REST."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from meshwright.errors import OperatorError
from meshwright.files.writing import make_folder
from meshwright.live.operating.control_client import PlanBegun
from meshwright.manager.circle.status import Status
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.execution import Action, Tell
from meshwright.manager.orders.orders import Orders
from meshwright.manager.orders.saved_plans import Cost, PlanEntry, PlanState, PlanStore, SavedPlan
from meshwright.manager.settings import MANAGER_FOLDER
from meshwright.model.plan import Plan
from meshwright.planning.changes.differences import PlanDifference, plan_difference

PLANS_FOLDER = "plans"
LOCK_NAME = "lock"
LOOK_EVERY_S = 0.1


class HeldError(OperatorError):
    """Somebody else changes the plans of a folder."""


class Desk(Protocol):
    """Answers questions about plans, and takes orders."""

    def entries(self) -> tuple[PlanEntry, ...]:
        """All plans, oldest first."""

    def status(self) -> Status | None:
        """What a manager does and waits for, if there is one."""

    def plan(self, name: str) -> SavedPlan:
        """One plan."""

    def difference(self, first: str, second: str) -> PlanDifference:
        """How two plans differ."""

    def carry_out(self, action: Action, name: str, *, leader: str | None, tell: Tell) -> SavedPlan:
        """Have a plan applied or undone, and wait for its end."""

    def abort(self) -> PlanBegun:
        """End the plan under way."""


class FolderDesk:
    """The plans of a network's folder, and its brokers; refuses orders while a manager has it."""

    def __init__(self, data: Path) -> None:
        self._folder = data / MANAGER_FOLDER
        self._network = RunningNetwork(data)
        self._store = PlanStore(self._folder / PLANS_FOLDER)
        self._orders = Orders(self._store, self._network, now_us)

    def entries(self) -> tuple[PlanEntry, ...]:
        return self._store.entries()

    def status(self) -> None:
        return None

    def plan(self, name: str) -> SavedPlan:
        return self._store.plan(name)

    def difference(self, first: str, second: str) -> PlanDifference:
        return plan_difference(self.plan(first).whole(), self.plan(second).whole())

    def save(self, plan: Plan, predicted: Cost | None) -> SavedPlan:
        """Keep a plan that was made of a trace."""
        with only_one(self._folder):
            saved = self._store.add(now_us(), "trace")
            return self._store.write(made(saved, plan, predicted))

    def keep_measured(self, name: str, measured: Cost) -> SavedPlan:
        """Keep what became of a plan that is in force, as somebody else measured it."""
        with only_one(self._folder):
            saved = self._store.plan(name)
            return self._store.write(saved.become(saved.state, saved.detail, measured=measured))

    def carry_out(self, action: Action, name: str, *, leader: str | None, tell: Tell) -> SavedPlan:
        with only_one(self._folder):
            unfinished = self._store.under_way()
            if unfinished is not None:
                self._orders.finish(unfinished, tell)
                if unfinished.id == name:
                    return self._store.plan(name)
            return self._orders.finish(self._orders.begin(action, name, leader=leader), tell)

    def abort(self) -> PlanBegun:
        if self._store.under_way() is None:
            return self._orders.abort()
        try:
            with only_one(self._folder):
                return self._orders.abort_left()
        except HeldError:  # by who carries it out
            return self._orders.abort()


def made(saved: SavedPlan, plan: Plan, predicted: Cost | None) -> SavedPlan:
    """A plan that was being made, once it is; why it was made still stands in its detail."""
    state = PlanState.PROPOSED if plan.steps else PlanState.NOTHING_BETTER
    return saved.become(state, saved.detail, plan=plan, predicted=predicted)


def now_us() -> int:
    """The time of day."""
    return time.time_ns() // 1_000


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Be the only one who changes plans in a folder; the lock ends with its process."""
    make_folder(folder, is_private=True)
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(descriptor, folder)
        os.truncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()} {socket.gethostname()}\n".encode())
        yield
    finally:
        os.close(descriptor)


def holder(folder: Path) -> int | None:
    """The process of this machine that is the only one who changes plans in a folder, if any is."""
    path = folder / LOCK_NAME
    if not path.exists():
        return None
    with path.open() as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            process, _, machine = lock.read().strip().partition(" ")
            # Nothing yet: it has just begun. Machines that share a folder share no processes.
            return int(process) if machine == socket.gethostname() else None
    return None


def stop_holder(folder: Path, *, within_s: float) -> bool:
    """Have who changes plans in a folder end; False if nobody does."""
    process = holder(folder)
    if process is None:
        return False
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
    deadline_s = time.monotonic() + within_s
    while holder(folder) == process:
        if time.monotonic() > deadline_s:
            raise OperatorError(f"Process {process}, which works in {folder}, does not stop.")
        time.sleep(LOOK_EVERY_S)
    return True


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise HeldError(
            f"{folder}: a manager, or another command, works on the plans here; ask it with "
            "--manager URL, or wait for its end."
        ) from None
