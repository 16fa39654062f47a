"""A broker joins a topic-connected network that is managed: it is placed at once, under traffic."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from background_brokers import Brokers, background_brokers
from typer.testing import CliRunner

from meshwright.cli.main import app
from meshwright.files.plans import read_plan
from meshwright.history.judgement import violations
from meshwright.lab.scripted import Deed, Script, playing
from meshwright.manager.managing import Manager
from meshwright.manager.running import RunningNetwork
from meshwright.manager.saved_plans import PlanState
from meshwright.manager.settings import (
    BrokerAccess,
    ManagerSettings,
    PolicySettings,
    WindowSettings,
)
from meshwright.model.plan import Plan

AUTOMATIC = PolicySettings(
    mode="automatic", every_s=10_000.0, benefit_min=1e9, confirmations=9, cool_down_s=9_999.0
)
WAIT_S = 150.0  # the process that plans may have to compile


@contextmanager
def managing(brokers: Brokers, folder: Path, policy: PolicySettings) -> Iterator[Manager]:
    settings = ManagerSettings(
        folder=folder,
        measure_s=1.0,
        brokers=BrokerAccess(data=brokers.folder),
        windows=WindowSettings(length_s=600.0, needed=5, kept=60, collect_every_s=0.3),
        policy=policy,
    )
    found = Manager(settings)
    found.open()
    try:
        yield found
    finally:
        found.close()


def until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


def neighbours(brokers: Brokers, name: str) -> set[str]:
    links = RunningNetwork(brokers.folder).in_force().links
    return {end for link in links if name in link for end in link} - {name}


def by_hand(brokers: Brokers, out: Path) -> Plan:
    words = ("--data", str(brokers.folder), "--add-broker", "north", "--out", str(out))
    found = CliRunner().invoke(app, ["plan", "create", "--method", "churn", *words])
    assert found.exit_code == 0, found.output
    return read_plan(out)


def chatter(brokers: Brokers) -> Script:
    """A client at each broker wants what all want and what its neighbour wants; all publish."""
    names = sorted(brokers.addresses)
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
        with playing(chatter(brokers), brokers.addresses) as play:
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
