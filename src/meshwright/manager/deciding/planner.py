"""Trace to plan: in a process of its own, which starts Spark and ends with it.

It is `meshwright plan create`, so that what a manager plans can be planned by hand from the same
files. The manager itself starts no Java, and loses nothing if the child is killed.
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.overlays import write_overlay
from meshwright.files.plans import read_plan
from meshwright.files.snapshots import write_snapshot
from meshwright.files.writing import make_folder, write_whole
from meshwright.manager.deciding.wanted import Wanted, snapshot_of
from meshwright.manager.orders.saved_plans import Cost
from meshwright.manager.settings import PlanningSettings
from meshwright.model.designs import founded_as
from meshwright.model.goals import HARD_GOALS, Goals
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan

WORK_NAME = "making"


class PlanRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan is to reach where that is not what the settings say; early: of too little.

    add_brokers, remove_brokers: what if these came or went? method: churn changes the links of
    these only, by what brokers want now, and an added one may have come already. goals: each that
    is given goes before the one of the settings; degree_max: the same as in them.
    """

    design: str | None = None
    objective: Literal["net", "cost"] | None = None
    placement: Literal["none", "static", "location", "similarity", "similarity-bounded"] | None = (
        None
    )
    k: int | None = None
    method: Literal["churn"] | None = None
    goals: Goals = Goals()
    degree_max: int | None = None
    add_brokers: tuple[str, ...] = ()
    remove_brokers: tuple[str, ...] = ()
    early: bool = False


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """A plan, and what it is expected to save; None if nothing would be delivered."""

    plan: Plan
    predicted: Cost | None


class NetworkView(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan is made of: a trace up to a time, and the overlay in force.

    The trace grows while it is read. slot_s: in slots of this length publications are counted.
    wanted: topics that brokers want now, of which joins and leaves are planned. staying: clients
    that cannot be sent to another broker.
    """

    trace: Path
    until_us: int
    source: Overlay
    slot_s: float
    wanted: Wanted = {}
    staying: tuple[str, ...] = ()


class _Answer(msgspec.Struct, frozen=True):
    """What is read of the command's own answer."""

    predicted: Cost | None = None


class Planner(Protocol):
    """Plans for a network that runs."""

    def make(self, view: NetworkView, request: PlanRequest) -> Made:
        """Raises OperatorError with the reason if no plan can be made."""

    def stop(self) -> None:
        """End what goes on."""


class SparkPlanner:
    """Runs the command; folder: for the files that go to it and come from it."""

    def __init__(self, folder: Path, settings: PlanningSettings, goals: Goals) -> None:
        self._folder = folder / WORK_NAME
        self._settings = settings
        self._goals = goals
        self._child: subprocess.Popen[str] | None = None
        self._is_stopped = False

    def make(self, view: NetworkView, request: PlanRequest) -> Made:
        shutil.rmtree(self._folder, ignore_errors=True)
        # Its own: a child that a killed manager left may still write what it was asked for.
        folder = make_folder(self._folder / secrets.token_hex(4))
        overlay_path, plan_path = folder / "overlay.json", folder / "plan.json"
        staying_path = folder / "staying.json"
        write_overlay(view.source, overlay_path)
        write_whole({staying_path: msgspec.json.encode(view.staying)})
        if request.method == "churn":
            return self._churned(view, request, overlay_path, plan_path)
        until = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=view.until_us)
        command = [
            sys.executable, "-m", "meshwright", "plan", "create", str(view.trace), "--json",
            "--predict", "--force", "--from", str(overlay_path), "--out", str(plan_path),
            "--slot", f"{view.slot_s:g}s", "--at", until.isoformat(),
            "--staying", str(staying_path),
            *self.options(view.source, request),
        ]  # fmt: skip
        answer = self._run(command)
        return Made(plan=read_plan(plan_path), predicted=answer.predicted)

    def _churned(
        self, view: NetworkView, request: PlanRequest, overlay_path: Path, plan_path: Path
    ) -> Made:
        """Of the overlay in force and what brokers want: no trace is read, and no Java starts."""
        if not any(view.wanted.values()):
            raise OperatorError("Nobody wants anything yet, so that any links will do; plan later.")
        snapshot = snapshot_of(view.wanted, view.source.brokers)
        interests_path, _ = write_snapshot(snapshot, self._folder)
        settings = self._settings
        command = [
            sys.executable, "-m", "meshwright", "plan", "create", "--method", "churn", "--json",
            "--from", str(overlay_path), "--interests", str(interests_path),
            "--out", str(plan_path), "--design", view.source.design,
            "--delay-weight", f"{settings.delay_weight:g}", "--seed", str(settings.seed),
            *self._named(request),
        ]  # fmt: skip
        self._run(command)
        return Made(plan=read_plan(plan_path), predicted=None)

    def stop(self) -> None:
        self._is_stopped = True
        child = self._child
        if child is not None:
            child.terminate()

    def options(self, source: Overlay, request: PlanRequest) -> list[str]:
        """What the command is asked, but for its files."""
        settings = self._settings
        placement = request.placement or settings.placement
        k = request.k or settings.k
        named = {
            "--design": request.design or settings.design or founded_as(source),
            "--objective": request.objective or settings.objective,
            "--t-free": f"{settings.horizon_s:g}s",
            "--delay-weight": f"{settings.delay_weight:g}",
            "--seed": str(settings.seed),
            "--placement": None if placement == "none" else placement,
            "--k": None if k is None else str(k),
            "--master": settings.master,
            "--remote": settings.remote,
        }
        given = [
            word for name, value in named.items() if value is not None for word in (name, value)
        ]
        return [*given, *self._named(request)]

    def _named(self, request: PlanRequest) -> list[str]:
        """Goals, and brokers that come and go."""
        return [
            *_repeated("--goal", _goal_words(goals_of(request, self._goals))),
            *_repeated("--add-broker", request.add_brokers),
            *_repeated("--remove-broker", request.remove_brokers),
        ]

    def _run(self, command: list[str]) -> _Answer:
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as child:
            self._child = child
            if self._is_stopped:  # before there was a child to be stopped
                child.terminate()
            try:
                stdout, stderr = child.communicate(timeout=self._settings.limit_s)
            except subprocess.TimeoutExpired:
                child.kill()
                raise OperatorError(
                    f"The plan was not made in planning.limit_s, {self._settings.limit_s:g} s; "
                    "see whether Spark works, or allow more."
                ) from None
            finally:
                self._child = None
        if child.returncode:
            raise OperatorError(_reason(child.returncode, stderr))
        return decoded(stdout, _Answer)


def goals_of(request: PlanRequest, settings: Goals) -> Goals:
    """What a plan must keep and is chosen by: as is asked for, else as is set."""
    asked, usual = request.goals, Goals()
    if request.degree_max is not None:
        asked = msgspec.structs.replace(asked, degree_max=request.degree_max)
    given = {
        name: getattr(asked, name)
        for name in Goals.__struct_fields__
        if getattr(asked, name) != getattr(usual, name)
    }
    return msgspec.structs.replace(settings, **given)


def _goal_words(goals: Goals) -> list[str]:
    """Goals as the command takes them."""
    hard = {name: getattr(goals, name) for name in HARD_GOALS}
    words = [f"{name}={value}" for name, value in hard.items() if value is not None]
    return [
        *words,
        *([] if goals.prefer == Goals().prefer else [f"prefer={','.join(goals.prefer)}"]),
    ]


def _repeated(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def _reason(code: int, stderr: str) -> str:
    """One sentence of what the command says in vain."""
    said = [line for line in stderr.splitlines() if line.startswith("error: ")]
    if said:
        return said[-1].removeprefix("error: ")
    how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    last = (stderr.strip().splitlines() or [""])[-1]
    return f"The process that plans has ended {how}{f' ({last})' if last else ''}; plan again."
