"""One manager in this process: it decides by itself, and begins anew when its disk is lost."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from background_brokers import Brokers, background_brokers, swapped
from certificates import Papers
from changing_networks import plan_of
from live_network import ANY_PORT
from pyarrow import parquet
from waiting import until

from meshwright.errors import MeshwrightError, OperatorError
from meshwright.lab.scripted import Deed, Script, playing
from meshwright.live.operating import control_client
from meshwright.live.operating.control import TrafficView
from meshwright.live.operating.unix_sockets import listening_socket
from meshwright.live.settings import ControlSettings, PeerLinkSettings
from meshwright.live.telemetry.log import Log
from meshwright.live.telemetry.reports import ReportFile
from meshwright.manager.circle import managing as managing_module
from meshwright.manager.circle.desk import now_us
from meshwright.manager.circle.managing import Manager, network_of
from meshwright.manager.collecting.collection import Collection
from meshwright.manager.deciding.planner import Made, NetworkView, Planner, PlanRequest
from meshwright.manager.network.leasing import Leasing
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.saved_plans import Cost, PlanState, SavedPlan
from meshwright.manager.settings import (
    BrokerAccess,
    LeaseSettings,
    ManagerSettings,
    PolicySettings,
    WindowSettings,
    check_settings,
)
from meshwright.model.goals import Goals
from meshwright.model.identifiers import BrokerName
from meshwright.overlays.growth import without_broker

ReportFiles = tuple[ReportFile, ...]


class SwapPlanner:
    """Always has two brokers change places, and promises a tenth."""

    def make(self, view: NetworkView, request: PlanRequest) -> Made:
        assert not request.early
        plan = plan_of(view.source, swapped(view.source), ("nobody", "b0", "b1"))
        return Made(plan=plan, predicted=Cost(before=1.0, after=0.9))

    def stop(self) -> None:
        """Nothing goes on."""


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with background_brokers("chord", tmp_path_factory.mktemp("network")) as found:
        yield found


@contextmanager
def managing(
    brokers: Brokers,
    folder: Path,
    policy: PolicySettings,
    planner: Planner | None = None,
    lease_s: float = 10.0,
    say: Callable[[str], None] = print,
    log: Log | None = None,
) -> Iterator[Manager]:
    settings = ManagerSettings(
        folder=folder,
        measure_s=1.0,
        brokers=BrokerAccess(data=brokers.folder),
        windows=WindowSettings(length_s=0.5, needed=2, collect_every_s=0.2),
        policy=policy,
        lease=LeaseSettings(seconds=lease_s),
    )
    found = Manager(settings, planner=planner or SwapPlanner(), say=say, log=log)
    found.open()
    try:
        yield found
    finally:
        found.close()


def test_an_automatic_policy_applies_what_several_plannings_agree_on_and_rests(
    brokers: Brokers, tmp_path: Path
) -> None:
    before = RunningNetwork(brokers.folder).in_force()
    policy = PolicySettings(
        mode="automatic", every_s=0.2, benefit_min=0.0, confirmations=3, cool_down_s=1_000.0
    )
    with managing(brokers, tmp_path / "north", policy) as manager:
        until(lambda: any(one.state is PlanState.APPLIED for one in manager.entries()))
        until(lambda: "the network rests for" in manager.status().last)
        states = [one.state for one in manager.entries()]
        assert states[:3] == [PlanState.PROPOSED, PlanState.PROPOSED, PlanState.APPLIED]
        assert states.count(PlanState.APPLIED) == 1
        assert manager.plan("p1").origin == "policy"
        assert manager.plan("p1").detail.startswith("1 of 3 plannings in a row")
    assert RunningNetwork(brokers.folder).in_force() == swapped(before)


def test_lists_tell_how_far_a_plan_is_that_is_being_made(brokers: Brokers, tmp_path: Path) -> None:
    may_end = threading.Event()

    class Slow(SwapPlanner):
        def make(self, view: NetworkView, request: PlanRequest) -> Made:
            may_end.wait(30)
            return super().make(view, request)

    with managing(brokers, tmp_path / "north", PolicySettings(), Slow()) as manager:
        until(lambda: manager.windows().is_enough)
        manager.make(PlanRequest())
        try:
            assert manager.entries()[0].detail.startswith("Spark reads the trace and plans, ")
        finally:
            may_end.set()
        until(lambda: manager.entries()[0].state is PlanState.PROPOSED)
        assert manager.entries()[0].detail == ""


def test_the_log_tells_what_a_manager_did_and_found(tmp_path: Path) -> None:
    path = tmp_path / "manager.log"

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in path.read_text().splitlines()]

    def told(event: str, *names: str) -> list[tuple[Any, ...]]:
        return [tuple(map(one.get, names)) for one in lines() if one["event"] == event]

    with (
        background_brokers("chord", tmp_path / "network") as brokers,
        closing(Log(None, path)) as log,
        managing(brokers, tmp_path / "north", PolicySettings(), log=log) as manager,
    ):
        until(lambda: manager.windows().is_enough)
        name = manager.make(PlanRequest()).id
        until(lambda: manager.plan(name).state is PlanState.PROPOSED)
        with pytest.raises(OperatorError, match="cannot be undone"):
            manager.carry_out("undo", name)
        manager.carry_out("apply", name)
        until(lambda: told("order_ended", "plan", "state") == [(name, "applied")])
        brokers.stop("b2")
        until(lambda: told("broker_lost", "broker") == [("b2",)])
        until(lambda: manager.watching.network().brokers[2].lost_since_us > 0)
        who = manager.status().manager
    assert told("plan_begun", "plan", "origin", "manager") == [(name, "running", who)]
    assert told("plan_made", "plan", "state") == [(name, "proposed")]
    assert told("order_given", "action", "by", "plan") == [("apply", "operator", name)]
    assert told("order_refused", "action", "plan") == [("undo", name)]


def test_a_plan_that_cannot_be_made_is_not_in_the_making_for_ever(
    brokers: Brokers, tmp_path: Path
) -> None:
    with managing(brokers, tmp_path / "north", PolicySettings()) as manager:
        until(lambda: manager.windows().is_enough)
        name = manager.make(PlanRequest(early=True)).id  # of which this planner knows nothing
        until(lambda: manager.plan(name).state is PlanState.FAILED)
        assert manager.plan(name).detail.startswith("the manager made a mistake (AssertionError")


def test_a_manager_that_lost_its_disk_says_so_and_knows_who_wants_what_all_the_same(
    brokers: Brokers, tmp_path: Path
) -> None:
    folder, manual = tmp_path / "north", PolicySettings()
    wants = Script(
        {"reader": "b1"},
        (
            Deed(0.0, "reader", "want", "t"),
            *(Deed(0.1 * number, "reader", "publish", "t") for number in range(1, 10)),
        ),
        1.0,
    )
    with playing(wants, brokers.addresses) as play:
        play.wait_begun()
        with managing(brokers, folder, manual) as manager:
            until(lambda: manager.windows().is_enough)
        former = manager.status().manager
        shutil.rmtree(folder)
        with managing(brokers, folder, manual) as manager:
            until(lambda: manager.windows().is_enough)
            status = manager.status()
        assert status.manager != former
        assert "was empty, so manager-" in status.notes[0]
        rows = [
            row
            for path in (folder / "trace" / "subscriptions").glob("*.parquet")
            for row in parquet.read_table(path).to_pylist()
        ]
    assert {(row["client"], row["topic"], row["is_on"]) for row in rows} == {("reader", "t", True)}


def test_a_manager_elsewhere_comes_by_addresses_with_a_token_and_a_certificate(
    tmp_path: Path,
) -> None:
    papers = Papers(tmp_path / "papers")
    token = tmp_path / "token"
    token.write_text("sixteen letters and more\n")
    tls = papers.settings(asks=True)
    control = ControlSettings(listen="127.0.0.1:0", token_file=token, tls=tls)
    with background_brokers("chord", tmp_path / "network", 2, control=control) as brokers:
        addresses = tuple(str(one.control.address) for one in brokers.live.values())
        access = BrokerAccess(addresses=addresses, token_file=token, tls=tls)
        settings = check_settings(ManagerSettings(folder=tmp_path / "south", brokers=access))
        manager = Manager(settings, planner=SwapPlanner())
        manager.open()
        try:
            until(lambda: manager.status().lease == "held, with number 1")
            assert [one.is_alive for one in manager.watching.network().brokers] == [True, True]
        finally:
            manager.close()
        token.write_text("sixteen letters and mare\n")
        with pytest.raises(OperatorError, match="the token is wrong or missing"):
            network_of(settings).controls()
    with pytest.raises(OperatorError, match=r"No broker answers at 127\.0\.0\.1:"):
        network_of(settings).controls()


def test_what_no_plan_can_reach_is_refused_at_once(brokers: Brokers, tmp_path: Path) -> None:
    with managing(brokers, tmp_path / "north", PolicySettings()) as manager:
        until(lambda: manager.windows().is_enough)
        for request, sentence in (
            (PlanRequest(remove_brokers=("nobody",)), "There is no broker 'nobody' to remove"),
            (PlanRequest(add_brokers=("b1",)), "Broker 'b1' is in the network already"),
            (PlanRequest(design="treee"), "There is no design 'treee'"),
            (PlanRequest(design="tree", k=3), "The design tree cannot be built for k = 3"),
            (PlanRequest(goals=Goals(k_min=3), degree_max=2), "degree_max = 2 allows fewer"),
        ):
            with pytest.raises(MeshwrightError, match=sentence):
                manager.make(request)
        assert manager.entries() == ()


class WithoutPlanner:
    """Leaves out who is to be left out, and changes nothing else."""

    def make(self, view: NetworkView, request: PlanRequest) -> Made:
        (lost,) = request.remove_brokers
        target = without_broker(view.source, BrokerName(lost))
        plan = plan_of(view.source, target, ("nobody", lost, target.brokers[0]))
        return Made(plan=plan, predicted=None)

    def stop(self) -> None:
        """Nothing goes on."""


def test_a_plan_is_proposed_without_a_broker_that_is_lost_and_can_be_applied(
    tmp_path: Path,
) -> None:
    peers = PeerLinkSettings(listen=ANY_PORT, heartbeat_s=0.1)
    policy = PolicySettings(lost_after_s=0.5)
    with (
        background_brokers("chord", tmp_path / "network", peers=peers) as brokers,
        managing(brokers, tmp_path / "north", policy, WithoutPlanner()) as manager,
    ):
        until(lambda: manager.windows().is_enough)
        assert manager.entries() == ()
        brokers.stop("b1")
        until(lambda: any(one.state is PlanState.PROPOSED for one in manager.entries()))
        assert manager.plan("p1").origin == "lost"
        assert manager.status().notes[-1] == "Lost: b1. Plan p1 is made without."
        manager.carry_out("apply", "p1")
        until(lambda: manager.plan("p1").state is PlanState.APPLIED)
        assert [one.broker for one in manager.watching.network().brokers] == ["b0", "b2"]
        assert [one.id for one in manager.entries()] == ["p1"]


def test_a_manager_goes_on_though_a_broker_hangs(
    brokers: Brokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lease is shorter than what it waits for a broker that takes calls and never answers."""
    monkeypatch.setattr(control_client, "FIND_S", 1.0)
    hanging = brokers.folder / "hanging"
    hanging.mkdir()
    listening = listening_socket(hanging / "control.sock")
    try:
        with managing(brokers, tmp_path / "north", PolicySettings(), lease_s=2.5) as manager:
            until(lambda: manager.windows().is_enough)
            state = manager.watching.network()
            assert [one.is_alive for one in state.brokers] == [True, True, True]
    finally:
        listening.close()
        shutil.rmtree(hanging)


def test_rates_are_right_though_a_look_waits_for_a_broker_that_hangs(
    brokers: Brokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What brokers count by the end of such a look is not of the moment at which it began."""
    waits, begun_us = iter((0.0, 0.0, 1.5)), now_us()

    def waiting(_network: RunningNetwork) -> dict[str, TrafficView]:
        time.sleep(next(waits, 0.0))
        delivered = (now_us() - begun_us) // 1_000
        return {"b0": TrafficView(broker="b0", sent={}, carried=None, delivered=delivered)}

    monkeypatch.setattr(managing_module, "traffic_of", waiting)
    with managing(brokers, tmp_path / "north", PolicySettings()) as manager:
        until(lambda: len(manager.watching.figures().points) > 3)
        rates = [one.delivered_per_s for one in manager.watching.figures().points]
    assert 500 < max(rates) < 2_000


def test_trouble_with_one_thing_is_said_once_though_others_go_well(
    brokers: Brokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, renewals, said = [], [], []
    renew = Leasing.renew

    def blind(_network: RunningNetwork) -> dict[str, TrafficView]:
        looks.append(now_us())
        raise OperatorError("Nobody counts.")

    def counted(leasing: Leasing, now: int) -> bool:
        renewals.append(now)
        return renew(leasing, now)

    monkeypatch.setattr(managing_module, "traffic_of", blind)
    monkeypatch.setattr(Leasing, "renew", counted)
    manual = PolicySettings()
    with managing(brokers, tmp_path / "north", manual, lease_s=0.6, say=said.append) as manager:
        until(lambda: len(looks) > 5 and len(renewals) > 5)
        assert manager.status().trouble == "Nobody counts."
    assert said.count("Nobody counts.") == 1


def test_a_plan_that_cannot_be_kept_is_not_in_the_making_for_ever(
    brokers: Brokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with managing(brokers, tmp_path / "north", PolicySettings()) as manager:
        until(lambda: manager.windows().is_enough)
        store = manager._store
        write, failed = store.write, []

        def full(saved: SavedPlan) -> SavedPlan:
            if saved.state is PlanState.PROPOSED and not failed:
                failed.append(saved.id)
                raise OperatorError("This cannot be written (no space left on device).")
            return write(saved)

        monkeypatch.setattr(store, "write", full)
        name = manager.make(PlanRequest()).id
        until(lambda: manager.plan(name).state is PlanState.FAILED)
        assert failed == [name]
        again = manager.make(PlanRequest()).id
        until(lambda: manager.plan(again).state is PlanState.PROPOSED)


def test_an_order_that_somebody_else_has_finished_is_not_finished_again(
    brokers: Brokers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks while an order begins takes it for one that a former life left."""
    with managing(brokers, tmp_path / "north", PolicySettings()) as manager:
        until(lambda: manager.windows().is_enough)
        name = manager.make(PlanRequest()).id
        until(lambda: manager.plan(name).state is PlanState.PROPOSED)
        submitted = manager._threads["order"].submit
        waiting: list[tuple[Any, ...]] = []
        with monkeypatch.context() as patched:
            order_thread = manager._threads["order"]
            patched.setattr(order_thread, "submit", lambda *deed: waiting.append(deed))
            manager.carry_out("apply", name)
            until(lambda: len(waiting) > 1)
        (first, *words), again = waiting[:2]
        submitted(*again)
        until(lambda: manager.plan(name).state is PlanState.APPLIED)
        manager._orders.begin("undo", name)
        submitted(first, *words).result(60)
        assert manager.plan(name).state is PlanState.UNDONE


class LateNetwork(RunningNetwork):
    """A broker answers only when it is told to."""

    def __init__(self, folder: Path, late: str) -> None:
        super().__init__(folder)
        self.is_late = True
        all_views = self.views
        self.views = lambda: {
            name: found for name, found in all_views().items() if name != late or not self.is_late
        }


def test_what_clients_want_of_a_broker_that_did_not_answer_at_first_is_collected_later(
    brokers: Brokers, tmp_path: Path
) -> None:
    network = LateNetwork(brokers.folder, "b1")
    collection = Collection(tmp_path / "north", network, WindowSettings(length_s=1.0))
    deeds = (Deed(0.0, "late-reader", "want", "s"), Deed(0.1, "late-reader", "publish", "s"))
    wants = Script({"late-reader": "b1"}, deeds, 1.0)
    with playing(wants, brokers.addresses) as play:
        play.wait_begun()
        until(lambda: "late-reader" in sessions_of(brokers, "b1"))
        collection.collect(now_us())
        taken_by_another(brokers, "b1")
        network.is_late = False
        collection.collect(now_us())
        found = [
            row["client"]
            for path in (tmp_path / "north" / "trace" / "subscriptions").glob("*.parquet")
            for row in parquet.read_table(path).to_pylist()
        ]
    assert "late-reader" in found


def sessions_of(brokers: Brokers, name: str) -> list[str]:
    _, view = RunningNetwork(brokers.folder).views()[name]
    return [one.client for one in view.sessions if one.subscriptions]


def taken_by_another(brokers: Brokers, name: str) -> None:
    """What a broker has reported so far is gone, once its client is in it."""
    control = RunningNetwork(brokers.folder).control(name)

    def is_told() -> bool:
        return any(one.table == "subscriptions" for one in control.get("/reports", ReportFiles))

    until(is_told)
    for one in control.get("/reports", ReportFiles):
        control.order("/reports/taken", table=one.table, name=one.name)
