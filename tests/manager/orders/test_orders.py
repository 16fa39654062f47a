"""Orders about saved plans: given once, whenever who gave them is killed, and ended or undone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from background_brokers import Brokers, background_brokers, swapped
from changing_networks import plan_of
from waiting import until

from meshwright.errors import OperatorError
from meshwright.live.operating.control_client import NoAnswerError, PlanBegun
from meshwright.live.telemetry.plan_log import PlanProgress
from meshwright.manager.circle.desk import PLANS_FOLDER, FolderDesk, now_us
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.execution import Action, Sight
from meshwright.manager.orders.orders import Orders
from meshwright.manager.orders.saved_plans import PlanState, PlanStore, SavedPlan
from meshwright.manager.settings import MANAGER_FOLDER
from meshwright.model.plan import Plan

Phase = Literal["before the order", "after the order", "while following", "before the outcome"]
PHASES: tuple[Phase, ...] = (
    "before the order",
    "after the order",
    "while following",
    "before the outcome",
)


class Killed(BaseException):
    """The process ends here, and nothing after this happens."""


class MortalNetwork(RunningNetwork):
    """Whoever uses it is killed in a phase of an order."""

    def __init__(self, folder: Path, phase: Phase) -> None:
        super().__init__(folder)
        self._phase = phase
        self._is_given = False

    def decide(self, leader: str, action: str, plan: Plan | None = None) -> PlanBegun:
        if self._phase == "before the order":
            raise Killed
        begun = super().decide(leader, action, plan)
        self._is_given = True
        if self._phase == "after the order":
            raise Killed
        return begun

    def progress(self) -> dict[str, PlanProgress]:
        if self._phase == "while following" and self._is_given:
            raise Killed
        return super().progress()


class MortalStore(PlanStore):
    """Whoever uses it is killed when an outcome is to be written."""

    def write(self, saved: SavedPlan) -> SavedPlan:
        if saved.state in (PlanState.APPLIED, PlanState.UNDONE):
            raise Killed
        return super().write(saved)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with background_brokers("chord", tmp_path_factory.mktemp("network")) as found:
        yield found


@pytest.fixture
def orders(brokers: Brokers, tmp_path: Path) -> Orders:
    return Orders(PlanStore(tmp_path), RunningNetwork(brokers.folder), now_us)


def silent(_sight: Sight) -> None:
    """What is to be seen is not looked at."""


def proposed(brokers: Brokers, folder: Path) -> SavedPlan:
    """A plan from the overlay in force to another."""
    source = RunningNetwork(brokers.folder).in_force()
    store = PlanStore(folder)
    saved = store.add(now_us(), "running")
    return store.write(saved.become(PlanState.PROPOSED, plan=plan_of(source, swapped(source))))


def times_done(brokers: Brokers, name: str) -> int:
    """How often brokers brought a plan to its end."""
    found = RunningNetwork(brokers.folder).progress().values()
    return sum(step.plan == name and step.step == "done" for one in found for step in one.steps)


@pytest.mark.parametrize("phase", PHASES)
def test_who_is_killed_in_any_phase_is_followed_by_one_who_finishes(
    phase: Phase, brokers: Brokers, tmp_path: Path, orders: Orders
) -> None:
    saved = proposed(brokers, tmp_path)
    plan = saved.whole()
    for action, end in (("apply", PlanState.APPLIED), ("undo", PlanState.UNDONE)):
        is_last = phase == "before the outcome"
        first = Orders(
            MortalStore(tmp_path) if is_last else PlanStore(tmp_path),
            MortalNetwork(brokers.folder, phase),
            now_us,
        )
        begun = first.begin(action, saved.id)
        before = times_done(brokers, begun.order.plan if begun.order else "")
        with pytest.raises(Killed):
            first.finish(begun, silent)

        unfinished = PlanStore(tmp_path).under_way()
        assert unfinished is not None
        ended = orders.finish(unfinished, silent)
        assert ended.state is end
        assert ended.outcome is not None
        assert (ended.outcome.end, ended.outcome.brokers) == ("done", 3)
        assert PlanStore(tmp_path).plan(saved.id) == ended
        assert times_done(brokers, ended.outcome.plan) == before + 1  # and not twice
        in_force = RunningNetwork(brokers.folder).in_force()
        expected = plan.target if action == "apply" else plan.source
        assert msgspec.json.encode(in_force) == msgspec.json.encode(expected)


def test_one_order_is_carried_out_at_a_time(
    brokers: Brokers, tmp_path: Path, orders: Orders
) -> None:
    one, other = proposed(brokers, tmp_path), proposed(brokers, tmp_path)
    begun = orders.begin("apply", one.id)
    with pytest.raises(OperatorError, match=f"Plan {one.id} is applying, and one is carried out"):
        orders.begin("apply", other.id)
    orders.finish(begun, silent)
    with pytest.raises(OperatorError, match="made for another overlay than the one in force"):
        orders.begin("apply", other.id)
    with pytest.raises(OperatorError, match=f"Plan {other.id} is proposed, so it cannot be undone"):
        orders.begin("undo", other.id)
    orders.finish(orders.begin("undo", one.id), silent)


def test_a_plan_that_brokers_refuse_is_kept_with_the_reason(
    brokers: Brokers, tmp_path: Path, orders: Orders
) -> None:
    saved = proposed(brokers, tmp_path)
    plan = saved.whole()
    strange = msgspec.structs.replace(
        plan, target=msgspec.structs.replace(plan.target, design="nothing")
    )
    PlanStore(tmp_path).write(msgspec.structs.replace(saved, plan=strange))
    begun = orders.begin("apply", saved.id)
    PlanStore(tmp_path).ask_abort(begun)
    assert orders.finish(begun, silent).state is PlanState.ABORTED
    with pytest.raises(OperatorError, match="there is no design 'nothing'"):
        orders.finish(orders.begin("apply", saved.id), silent)
    kept = PlanStore(tmp_path).plan(saved.id)
    assert kept.state is PlanState.REFUSED
    assert kept.outcome is None  # that of an earlier order is not taken for its own
    assert "there is no design 'nothing'" in kept.detail
    with pytest.raises(OperatorError, match="No broker 'b9' runs here"):
        orders.begin("apply", saved.id, leader="b9")


class HangingNetwork(RunningNetwork):
    """Who is asked to lead a plan does not answer, once; took_it: it has heard it all the same."""

    def __init__(self, folder: Path, *, took_it: bool) -> None:
        super().__init__(folder)
        self._took_it = took_it
        self._is_hanging = True

    def decide(self, leader: str, action: str, plan: Plan | None = None) -> PlanBegun:
        if self._is_hanging:
            self._is_hanging = False
            if self._took_it:
                super().decide(leader, action, plan)
                self._hidden = 1
            raise NoAnswerError(f"{leader} does not answer (timed out); see its log.")
        return super().decide(leader, action, plan)

    _hidden = 0

    def progress(self) -> dict[str, PlanProgress]:
        if self._hidden:  # it hangs still
            self._hidden -= 1
            found = super().progress()
            return {
                name: msgspec.structs.replace(one, steps=(), under_way=None, epoch=-1)
                for name, one in found.items()
            }
        return super().progress()


@pytest.mark.parametrize("took_it", [False, True])
def test_an_order_that_was_not_answered_is_not_refused_and_is_given_once(
    took_it: bool, brokers: Brokers, tmp_path: Path
) -> None:
    orders = Orders(PlanStore(tmp_path), HangingNetwork(brokers.folder, took_it=took_it), now_us)
    saved = proposed(brokers, tmp_path)
    begun = orders.begin("apply", saved.id)
    before = times_done(brokers, begun.order.plan if begun.order else "")
    with pytest.raises(OperatorError, match="does not answer"):
        orders.finish(begun, silent)
    unfinished = PlanStore(tmp_path).under_way()
    assert unfinished is not None
    ended = orders.finish(unfinished, silent)
    assert ended.state is PlanState.APPLIED
    assert ended.order is not None
    assert times_done(brokers, ended.order.plan) == before + 1
    orders.finish(orders.begin("undo", saved.id), silent)


class PausedNetwork(RunningNetwork):
    """Whoever asks it something for an order waits until that may go on.

    when: before brokers are asked whether they have the order, or when it is given to them.
    """

    def __init__(self, folder: Path, when: Literal["asked", "given"]) -> None:
        super().__init__(folder)
        self._when = when
        self.is_waiting, self.may_go_on = threading.Event(), threading.Event()

    def progress(self) -> dict[str, PlanProgress]:
        self._wait("asked")
        return super().progress()

    def decide(self, leader: str, action: str, plan: Plan | None = None) -> PlanBegun:
        if action != "abort":
            self._wait("given")
        return super().decide(leader, action, plan)

    def _wait(self, when: Literal["asked", "given"]) -> None:
        if self._when == when:
            self.is_waiting.set()
            assert self.may_go_on.wait(30)


def aborted(folder: Path, network: PausedNetwork, orders: Orders, begun: SavedPlan) -> SavedPlan:
    """An order that is aborted by somebody else while brokers are asked, once it is at its end."""
    store = PlanStore(folder)
    with ThreadPoolExecutor(2) as threads:
        ended = threads.submit(Orders(store, network, now_us).finish, begun, silent)
        assert network.is_waiting.wait(30)
        asked = threads.submit(orders.abort)
        until(lambda: store.is_abort_asked(begun))
        network.may_go_on.set()
        told = asked.result(30)
        assert begun.order is not None
        assert told.plan == begun.order.plan
        return ended.result(30)


@pytest.mark.parametrize("action", ["apply", "undo"])
def test_an_order_that_no_broker_has_yet_is_aborted_and_never_given(
    action: Action, brokers: Brokers, tmp_path: Path, orders: Orders
) -> None:
    saved = proposed(brokers, tmp_path)
    if action == "undo":
        orders.finish(orders.begin("apply", saved.id), silent)
    before = RunningNetwork(brokers.folder).progress()
    begun = orders.begin(action, saved.id)
    ended = aborted(tmp_path, PausedNetwork(brokers.folder, "asked"), orders, begun)
    assert ended.state is (PlanState.ABORTED if action == "apply" else PlanState.APPLIED)
    assert ended.outcome is not None
    assert (ended.outcome.action, ended.outcome.end) == (action, "aborted")
    assert RunningNetwork(brokers.folder).progress() == before
    # What was asked of this order is not asked of the next.
    orders.finish(orders.begin(action, saved.id), silent)
    if action == "apply":
        orders.finish(orders.begin("undo", saved.id), silent)
    assert PlanStore(tmp_path).plan(saved.id).state is PlanState.UNDONE


def test_an_order_that_is_being_given_is_aborted_at_the_brokers(tmp_path: Path) -> None:
    with background_brokers("chord", tmp_path / "network") as brokers:
        network = PausedNetwork(brokers.folder, "given")
        orders = Orders(PlanStore(tmp_path), RunningNetwork(brokers.folder), now_us)
        saved = proposed(brokers, tmp_path)
        # Nobody has noticed yet that this one is gone, so the plan waits for it.
        brokers.stop("b2")
        ended = aborted(tmp_path, network, orders, orders.begin("apply", saved.id))
        assert ended.state is PlanState.ABORTED
        assert ended.order is not None
        assert ended.order.epoch is not None
        assert RunningNetwork(brokers.folder).in_force() == saved.whole().source


class LateStore(PlanStore):
    """Who asks for the end of an order does that once brokers are known to have it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.is_waiting, self.may_go_on = threading.Event(), threading.Event()

    def ask_abort(self, saved: SavedPlan) -> None:
        self.is_waiting.set()
        assert self.may_go_on.wait(30)
        super().ask_abort(saved)


def test_an_abort_that_comes_just_as_the_order_was_given_goes_to_the_brokers(
    tmp_path: Path,
) -> None:
    with background_brokers("chord", tmp_path / "network") as brokers:
        network, store = RunningNetwork(brokers.folder), LateStore(tmp_path)
        orders = Orders(store, network, now_us)
        saved = proposed(brokers, tmp_path)
        brokers.stop("b2")  # nobody has noticed yet, so the plan waits for it
        begun = orders.begin("apply", saved.id)
        with ThreadPoolExecutor(2) as threads:
            asked = threads.submit(orders.abort)
            assert store.is_waiting.wait(30)
            ended = threads.submit(orders.finish, begun, lambda _: store.may_go_on.set())
            assert begun.order is not None
            assert asked.result(30).plan == begun.order.plan
            assert ended.result(30).state is PlanState.ABORTED


class QuickNetwork(RunningNetwork):
    """Somebody else has asked brokers to end the plan just before."""

    def decide(self, leader: str, action: str, plan: Plan | None = None) -> PlanBegun:
        if action == "abort":
            super().decide(leader, action)
        return super().decide(leader, action, plan)


def test_who_aborts_what_was_just_aborted_is_not_refused(tmp_path: Path) -> None:
    with background_brokers("chord", tmp_path / "network") as brokers:
        store, is_followed = PlanStore(tmp_path), threading.Event()
        orders = Orders(store, RunningNetwork(brokers.folder), now_us)
        saved = proposed(brokers, tmp_path)
        brokers.stop("b2")  # nobody has noticed yet, so the plan waits for it
        begun = orders.begin("apply", saved.id)
        with ThreadPoolExecutor(1) as threads:
            ended = threads.submit(orders.finish, begun, lambda _: is_followed.set())
            assert is_followed.wait(30)
            told = Orders(store, QuickNetwork(brokers.folder), now_us).abort()
            assert begun.order is not None
            assert (told.plan, told.epoch) == (begun.order.plan, begun.order.after_epoch)
            assert ended.result(30).state is PlanState.ABORTED


def test_an_order_that_nobody_finishes_any_more_is_ended_by_who_aborts_it(
    brokers: Brokers,
) -> None:
    desk, folder = FolderDesk(brokers.folder), brokers.folder / MANAGER_FOLDER / PLANS_FOLDER
    orders = Orders(PlanStore(folder), RunningNetwork(brokers.folder), now_us)
    begun = orders.begin("apply", proposed(brokers, folder).id)
    assert begun.order is not None
    assert desk.abort().plan == begun.order.plan
    assert desk.plan(begun.id).state is PlanState.ABORTED
    with pytest.raises(OperatorError, match="no plan is under way that could be aborted"):
        desk.abort()


def test_an_abort_outlives_who_was_about_to_give_the_order(
    brokers: Brokers, tmp_path: Path, orders: Orders
) -> None:
    saved = proposed(brokers, tmp_path)
    begun = orders.begin("apply", saved.id)
    with pytest.raises(OperatorError, match=f"Plan {saved.id} is to be aborted, and is applying"):
        orders.abort(within_s=0.0)
    assert orders.finish(begun, silent).state is PlanState.ABORTED
    assert RunningNetwork(brokers.folder).in_force() == saved.whole().source
    with pytest.raises(OperatorError, match="no plan is under way that could be aborted"):
        orders.abort()
