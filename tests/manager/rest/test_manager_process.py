"""A manager as a process: asked over REST, killed in between, beside another, under traffic."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import msgspec
import pytest
from background_brokers import Brokers, background_brokers, swapped
from changing_networks import plan_of
from typer.testing import CliRunner, Result
from waiting import until

from meshwright.cli.main import app
from meshwright.errors import OperatorError
from meshwright.history.judgement import violations
from meshwright.lab.scripted import Deed, Script, playing
from meshwright.manager.deciding.planner import PlanRequest
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.execution import Sight
from meshwright.manager.orders.saved_plans import PlanState, PlanStore, SavedPlan
from meshwright.manager.rest.rest_client import RestDesk
from meshwright.model.goals import Goals
from meshwright.model.overlay import Overlay

LEASE_S = 4.0
SETTINGS = """
folder = "{name}"
measure_s = 1.0
[brokers]
data = {data}
[rest]
listen = "127.0.0.1:0"
[windows]
length_s = 1.0
needed = 3
collect_every_s = 0.4
[lease]
seconds = {lease_s}
"""


class Running:
    """A manager's process, and where it answers."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.said: list[str] = []
        assert process.stdout is not None
        for line in process.stdout:
            self.said.append(line)
            if "answers at" in line:
                break
        else:
            raise AssertionError("".join(self.said))
        self.url = line.split("answers at ")[1].split(";")[0]
        self.token_file = folder / "token"
        self.desk = RestDesk(self.url, self.token_file)

    def kill(self) -> None:
        """With no chance to say or save anything."""
        self.process.kill()
        self.process.wait()


class Misspelt(msgspec.Struct):
    """No goals."""

    kmin: int


@contextmanager
def manager(brokers: Brokers, folder: Path, name: str) -> Iterator[Running]:
    settings = folder / f"{name}.toml"
    data = json.dumps(str(brokers.folder))
    settings.write_text(SETTINGS.format(name=name, data=data, lease_s=LEASE_S))
    command = [sys.executable, "-m", "meshwright", "manager", "--config", str(settings)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield Running(folder / name, process)
        finally:
            process.terminate()
            process.wait(20)


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    with background_brokers("chord", tmp_path_factory.mktemp("network")) as found:
        yield found


def saved_plan(brokers: Brokers, folder: Path) -> str:
    """A plan among those of a manager that is not there yet."""
    source = RunningNetwork(brokers.folder).in_force()
    store = PlanStore(folder / "plans")
    saved = store.add(1, "running")
    plan = plan_of(source, swapped(source), ("nobody", "b0", "b1"))
    return store.write(saved.become(PlanState.PROPOSED, plan=plan)).id


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, words)])


def silent(_sight: Sight) -> None:
    """What is to be seen is not looked at."""


def chatter(brokers: Brokers, every_s: float = 0.1) -> Script:
    """A client at each broker wants a topic of its own and one of all, and publishes both."""
    homes = {f"c{name}": name for name in brokers.addresses}
    wants = [Deed(0.0, client, "want", topic) for client in homes for topic in ("all", client)]
    published = [
        Deed(every_s * number, client, "publish", topic)
        for number in range(1, 10)
        for client in homes
        for topic in ("all", f"c{min(brokers.addresses)}")
    ]
    return Script(homes, (*wants, *sorted(published)), 9 * every_s)


def test_a_manager_watches_applies_measures_and_undoes_while_messages_flow(
    brokers: Brokers, tmp_path: Path
) -> None:
    source = RunningNetwork(brokers.folder).in_force()
    name = saved_plan(brokers, tmp_path / "north")
    with playing(chatter(brokers), brokers.addresses) as play:
        play.wait_begun()
        with manager(brokers, tmp_path, "north") as north:
            desk = north.desk
            until(lambda: desk.status().lease == "held, with number 1")
            assert "was empty, so manager-" in desk.status().notes[0]
            with pytest.raises(OperatorError, match=r"collecting: \d of 3 windows, ready in about"):
                desk.make(PlanRequest(), print)
            until(lambda: desk.status().windows.is_enough and desk.status().cost is not None)
            state = desk.network()
            assert [one.broker for one in state.brokers] == ["b0", "b1", "b2"]
            assert [one.clients for one in state.brokers] == [1, 1, 1]

            asked = ("--manager", north.url, "--token-file", north.token_file)
            applied = call("apply", name, *asked, "--json")
            assert applied.exit_code == 0, applied.output
            assert json.loads(applied.stdout)["outcome"]["end"] == "done"
            listed = call("list", *asked)
            assert "Telemetry: ready: " in listed.stdout
            assert "Lease: held, with number 1. Policy: manual; " in listed.stdout
            assert f"{name} " in listed.stdout
            assert "applied" in listed.stdout
            until(lambda: desk.plan(name).measured is not None)
            measured = desk.plan(name).measured
            assert measured is not None
            assert 0 < measured.before < 4
            assert 0 < measured.after < 4
            north.kill()
        with manager(brokers, tmp_path, "north") as north:
            until(lambda: north.desk.status().lease.startswith("held"))
            assert north.desk.status().notes == ()
            undone = north.desk.carry_out("undo", name, leader="b1", tell=silent)
            assert undone.state is PlanState.UNDONE
            history = play.end()
            with playing(chatter(brokers, every_s=1.0), brokers.addresses) as quiet:
                quiet.wait_begun()
                until(lambda: len(quiet.seen().deliveries) > 20)
                plans_on_spark(north, source, measured.before)
    assert list(violations(history)) == []
    assert len(history.deliveries) > 100
    in_force = RunningNetwork(brokers.folder).in_force()
    assert msgspec.json.encode(in_force) == msgspec.json.encode(source)
    trace = tmp_path / "north" / "trace"
    assert {one.name for one in trace.iterdir()} >= {"brokers", "connections", "publications"}


def test_of_two_managers_one_waits_and_says_so_until_the_other_is_gone(
    brokers: Brokers, tmp_path: Path
) -> None:
    with ExitStack() as opened:
        north = opened.enter_context(manager(brokers, tmp_path, "north"))
        until(lambda: north.desk.status().lease.startswith("held"))
        south = opened.enter_context(manager(brokers, tmp_path, "south"))
        first = north.desk.status().manager
        until(lambda: first in south.desk.status().lease)
        waiting = south.desk.status().lease
        assert waiting.startswith(f"waiting: {first} manages this network, for ")
        name = saved_plan(brokers, tmp_path / "south")
        with pytest.raises(OperatorError, match="This manager gives no orders now: waiting"):
            south.desk.carry_out("apply", name, leader=None, tell=silent)
        assert south.desk.plan(name).state is PlanState.PROPOSED
        refuses_bad_input(north, tmp_path)
        north.kill()
        until(lambda: south.desk.status().lease.startswith("held"))
        assert south.desk.carry_out("apply", name, leader=None, tell=silent).outcome is not None
    silence = call("list", "--manager", north.url, "--token-file", north.token_file)
    assert silence.exit_code == 2
    assert "No manager answers at http://127.0.0.1:" in silence.stderr


def plans_on_spark(north: Running, source: Overlay, cost: float) -> None:
    """For the network as it runs, of the telemetry that was collected, in a real process."""
    asked = ("--manager", north.url, "--token-file", north.token_file)
    refused = call("create", "--seed", "3", *asked)
    assert "A manager takes no 'seed' with a plan" in refused.stderr
    made = call("create", "--objective", "cost", "--early", *asked, "--json")
    assert made.exit_code == 0, made.output
    saved = msgspec.convert(json.loads(made.stdout)["saved"], SavedPlan)
    assert saved.state in (PlanState.PROPOSED, PlanState.NOTHING_BETTER)
    assert saved.whole().source == source
    assert saved.predicted is not None
    # The same overlay and the same kind of traffic, as brokers counted it and in closed form.
    assert saved.predicted.before == pytest.approx(cost, rel=0.1)


def refuses_bad_input(north: Running, folder: Path) -> None:
    """One sentence at the door, and the same from the command."""
    wrong = folder / "wrong"
    wrong.write_text("not the token at all\n")
    for token_file in (None, wrong):
        with pytest.raises(OperatorError, match="The token is wrong or missing"):
            RestDesk(north.url, token_file).entries()
    refused = call("list", "--manager", north.url, "--token-file", wrong)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: The token is wrong or missing; ")
    misspelt = PlanRequest(goals=cast("Goals", Misspelt(kmin=2)))
    with pytest.raises(OperatorError, match=r"no key 'goals.kmin'; did you mean 'goals.k_min'"):
        north.desk.make(misspelt, print)
    with pytest.raises(OperatorError, match=r"There is no plan 'p7' in .*; there are none"):
        north.desk.plan("p7")
    with pytest.raises(OperatorError, match="There is no plan 'p7'"):
        north.desk.carry_out("apply", "p7", leader=None, tell=silent)
    with pytest.raises(OperatorError, match="no plan is under way that could be aborted"):
        north.desk.abort()
    for order in ("hold", "release"):
        with pytest.raises(OperatorError, match="it does not fit its tree to its traffic"):
            north.desk._ask("POST", f"/adaptation/{order}", dict)
    with pytest.raises(OperatorError, match=r"k: input should be greater .*; see /docs"):
        north.desk.make(PlanRequest(k=0), print)
    with pytest.raises(OperatorError, match=r"There is no key 'desing'; did you mean 'design'\?"):
        north.desk._ask("POST", "/plans", dict, {"desing": "tree"})
    with pytest.raises(OperatorError, match="There is no GET /plan; /docs has all"):
        north.desk._ask("GET", "/plan", dict)
    second = call("apply", "plan.json", "--manager", north.url, "--token-file", wrong)
    assert "plan.json is a file; a manager knows plans by their ids" in second.stderr


def test_a_manager_without_brokers_is_refused(tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["manager", "--data", str(tmp_path)])
    assert found.exit_code == 2
    assert "No broker runs in" in found.stderr


def test_a_plan_is_aborted_and_one_is_finished_after_a_kill_while_it_is_followed(
    brokers: Brokers, tmp_path: Path
) -> None:
    name = saved_plan(brokers, tmp_path / "north")
    store = PlanStore(tmp_path / "north" / "plans")
    with manager(brokers, tmp_path, "north") as north:
        until(lambda: north.desk.status().lease.startswith("held"))

        def begin() -> None:
            north.desk._ask("POST", f"/plans/{name}/apply", SavedPlan, {"leader": "b0"})
            until(lambda: (order := store.plan(name).order) is not None and bool(order.epoch))

        # Nobody has noticed yet that this one is gone, so the plan waits for it.
        brokers.stop("b2")
        begin()
        north.desk.abort()
        until(lambda: store.plan(name).state is PlanState.ABORTED)
        assert RunningNetwork(brokers.folder).in_force() == store.plan(name).whole().source
        begin()
        north.kill()
    assert store.plan(name).state is PlanState.APPLYING
    with manager(brokers, tmp_path, "north") as north:
        until(lambda: north.desk.plan(name).state is PlanState.APPLIED)
        outcome = north.desk.plan(name).outcome
        assert outcome is not None
        assert outcome.brokers == 2
    assert RunningNetwork(brokers.folder).in_force() == store.plan(name).whole().target
