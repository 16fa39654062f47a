"""Brokers join a topic-connected network that is managed, are drained or lost, under traffic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from background_brokers import Brokers, background_brokers
from typer.testing import CliRunner
from waiting import until

from meshwright.cli.main import app
from meshwright.errors import OperatorError
from meshwright.files.plans import read_plan
from meshwright.history.judgement import violations
from meshwright.lab.scripted import Deed, Script, playing
from meshwright.manager.circle.managing import Manager
from meshwright.manager.deciding.planner import SparkPlanner
from meshwright.manager.deciding.wanted import snapshot_of
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.saved_plans import PlanState
from meshwright.manager.settings import (
    BrokerAccess,
    ManagerSettings,
    PolicySettings,
    WindowSettings,
)
from meshwright.model.plan import Plan
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.topic_connected.validation import is_topic_connected

AUTOMATIC = PolicySettings(
    mode="automatic", every_s=10_000.0, benefit_min=1e9, confirmations=9, cool_down_s=9_999.0
)
# Who does not answer is lost, and soon.
LOST_SOON = msgspec.structs.replace(AUTOMATIC, lost_after_s=0.5)


class NearPlanner(SparkPlanner):
    """Runs the command in this process, where its kernels are compiled already."""

    def _run(self, command: list[str]) -> dict[str, Any]:
        words = command[command.index("meshwright") + 1 :]
        found = CliRunner().invoke(app, words)
        if found.exit_code:
            raise OperatorError(found.stderr.strip())
        return msgspec.json.decode(found.stdout, type=dict[str, Any])


@contextmanager
def managing(brokers: Brokers, folder: Path, policy: PolicySettings) -> Iterator[Manager]:
    settings = ManagerSettings(
        folder=folder,
        measure_s=1.0,
        brokers=BrokerAccess(data=brokers.folder),
        windows=WindowSettings(length_s=600.0, needed=5, kept=60, collect_every_s=0.3),
        policy=policy,
    )
    planner = NearPlanner(folder, settings.planning, settings.goals)
    found = Manager(settings, planner=planner)
    found.open()
    try:
        yield found
    finally:
        found.close()


def neighbours(brokers: Brokers, name: str) -> set[str]:
    links = RunningNetwork(brokers.folder).in_force().links
    return {end for link in links if name in link for end in link} - {name}


def by_hand(brokers: Brokers, out: Path) -> Plan:
    words = ("--data", str(brokers.folder), "--add-broker", "north", "--out", str(out))
    found = CliRunner().invoke(app, ["plan", "create", "--method", "churn", *words])
    assert found.exit_code == 0, found.output
    return read_plan(out)


def chatter(names: Sequence[str]) -> Script:
    """A client at each broker wants what all want and what its neighbour wants; all publish."""
    homes = {f"c{name}": name for name in names}
    wants = [
        Deed(0.0, f"c{name}", "want", topic)
        for number, name in enumerate(names)
        for topic in ("all", f"pair{number // 2}")
    ]
    published = [
        Deed(0.1 * number, f"c{name}", "publish", ("all", "pair0")[number % 2])
        for number, name in enumerate(names, start=1)
    ]
    return Script(homes, (*wants, *sorted(published)), 1.0)


def test_a_newcomer_is_placed_at_once_and_no_message_is_lost_doubled_or_reordered(
    tmp_path: Path,
) -> None:
    others = {f"b{number}" for number in range(5)}
    with background_brokers("gm2", tmp_path / "network", 5) as brokers:
        with managing(brokers, tmp_path / "north", PolicySettings()) as manager:
            until((tmp_path / "north" / "brokers.json").exists)
            assert manager.entries() == ()
        brokers.join("north")
        until(lambda: neighbours(brokers, "north") == others)
        with playing(chatter(sorted(brokers.addresses)), brokers.addresses) as play:
            play.wait_begun()
            with managing(brokers, tmp_path / "north", PolicySettings()) as manager:
                until(lambda: any(one.state is PlanState.PROPOSED for one in manager.entries()))
                first = manager.plan("p1")
                assert (first.origin, manager.windows().have) == ("churn", 0)
                until(lambda: "an operator decides" in manager.plan("p1").detail)
                assert manager.plan("p1").detail.startswith("north joined; ")
                assert "Plan p1 is made now: north joined." in manager.status().notes
                plan = first.whole()
                assert {step.action for step in plan.steps} == {"remove_link"}
                assert all("north" in step.brokers for step in plan.steps)
                assert neighbours(brokers, "north") == others
                assert by_hand(brokers, tmp_path / "plan.json").target == plan.target
            with managing(brokers, tmp_path / "north", AUTOMATIC) as manager:
                until(lambda: any(one.state is PlanState.APPLIED for one in manager.entries()))
            history = play.end()
        assert neighbours(brokers, "north") < others
        assert len(neighbours(brokers, "north")) >= 2
    assert violations(history) == []
    assert len(history.deliveries) > 10


def is_whole_without(brokers: Brokers, name: str) -> bool:
    """Whether all others are joined without it, and each topic of all of them by two ways."""
    overlay = RunningNetwork(brokers.folder).in_force()
    if name in overlay.brokers:
        return False
    snapshot = snapshot_of(dict.fromkeys(overlay.brokers, ("all",)), overlay.brokers)
    assert is_topic_connected(link_indexes(overlay, snapshot), snapshot.interests, 2)
    return True


def test_a_drained_broker_is_done_without_and_its_clients_miss_nothing(tmp_path: Path) -> None:
    with background_brokers("gm2", tmp_path / "network", 5) as brokers:
        leaving = RunningNetwork(brokers.folder).control("b4")
        with (
            playing(chatter(sorted(brokers.addresses)), brokers.addresses) as play,
            managing(brokers, tmp_path / "north", AUTOMATIC) as manager,
        ):
            play.wait_begun()
            leaving.order("/drain")
            until(lambda: any("b4 was drained" in note for note in manager.status().notes))
            brokers.stop("b4")
            until(lambda: is_whole_without(brokers, "b4"))
            until(lambda: manager.entries()[-1].state is PlanState.APPLIED)
            assert manager.plan(manager.entries()[-1].id).detail.startswith("b4 left; ")
            history = play.end()
    assert violations(history) == []
    assert {own[-1].broker for own in history.connections.values()} == {"b0", "b1", "b2", "b3"}


def test_a_gap_that_a_lost_broker_leaves_is_closed_and_no_message_is_lost(tmp_path: Path) -> None:
    with background_brokers("gm2", tmp_path / "network", 5) as brokers:
        others = sorted(brokers.addresses)[:4]
        with (
            playing(chatter(others), brokers.addresses) as play,
            managing(brokers, tmp_path / "north", LOST_SOON) as manager,
        ):
            play.wait_begun()
            until((tmp_path / "north" / "brokers.json").exists)
            brokers.stop("b4")
            until(lambda: is_whole_without(brokers, "b4"))
            assert any("is made now: b4 left." in note for note in manager.status().notes)
            history = play.end()
    assert violations(history) == []
    assert len(history.deliveries) > 10
