"""The demonstration: a poor network under load, a plan for it, the change, and what it was worth.

Everything is done for real: the brokers are processes, the clients speak MQTT to them, the plan is
made on Spark of the brokers' own telemetry and given to them under full traffic, a broker is killed
and comes back, and what the clients saw is judged by the checkers of every simulation.
"""

from __future__ import annotations

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from meshwright.errors import OperatorError, ProblemError
from meshwright.files.plans import write_plan
from meshwright.files.writing import make_folder, write_whole
from meshwright.history.history import History
from meshwright.lab.live_measures import (
    Measures,
    Window,
    delays_ms,
    due,
    measured,
    publications_per_s,
    subscription_changes,
)
from meshwright.lab.scripted import Deed, Play, Script
from meshwright.live.operating.control_client import answering_brokers, running_brokers
from meshwright.live.processes.local_network import HOST, LocalNetwork, free_ports
from meshwright.live.system.addresses import Address
from meshwright.manager.circle.desk import FolderDesk
from meshwright.manager.collecting.measuring import Traffic, look, traffic_between
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.execution import Tell
from meshwright.manager.orders.saved_plans import Cost, SavedPlan
from meshwright.manager.rest.child import SETTINGS_NAME as MANAGER_SETTINGS_NAME
from meshwright.manager.rest.child import ManagerChild
from meshwright.model.designs import DEFAULT_DESIGN
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.times import SECOND_US
from meshwright.pipeline.generators.parameters import LocationParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.replays.snapshots import Moment, TraceMoment
from meshwright.pipeline.spark.session import Session
from meshwright.pipeline.trace_deeds import located_deeds
from meshwright.planning.changes.clients import plan_with_clients
from meshwright.planning.changes.network import PlanWish
from meshwright.planning.founding import founding_overlay
from meshwright.planning.placement.strategies import DEFAULT_PLACEMENT, PlacementRules

DAY_S, HOUR_S = 86_400, 3_600
GRID = 6
# A second of the demonstration stands for so many of the trace that clients follow. They follow it
# again and again, and whatever is measured lasts as long as it does, so that two times compare.
PACE = 960.0
# Cells differ less in their people than in a whole country: none has half of them.
POPULATION_EXPONENT = 0.5
# A plan is made once, so any gain is worth a move; a broker may have three tenths more than others.
RULES = PlacementRules(gain_min=0.0, load_slack=0.3)
SETTINGS_NAME = "broker.toml"
# Brokers write their telemetry so often; a plan sees all but the last of it.
TRACE_EVERY_S = 1.0
LOOK_EVERY_S = 1.0
# What a plan is to pay for itself in.
HORIZON_S = 3_600.0
# So long a broker is gone, and so long it is watched after it came back.
DOWN_S = 2.0
BACK_S = 4.0
# Clients that were sent elsewhere are there by then; who is not stays where it is.
MOVED_WITHIN_S = 20.0
MOVED_LOOK_S = 0.2
MANAGED_WITHIN_S = 60.0
PERCENTILES = {"p50": 50, "p99": 99}


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoParameters:
    """What is to be shown. seconds: how long it is measured before the change, and after it."""

    brokers: int = 12
    clients: int = 300
    design: str = DEFAULT_DESIGN
    k: int | None = None
    seconds: float = 15.0
    publications_per_second: float = 60.0
    seed: int = 1

    @property
    def days(self) -> float:
        """How much of the trace passes while the network is measured."""
        return self.seconds * PACE / DAY_S

    def overlay(self) -> Overlay:
        """How the live brokers are joined at first: nobody knows yet who wants what."""
        names = tuple(f"broker{number}" for number in range(1, self.brokers + 1))
        return founding_overlay(self.design, names, k=self.k, seed=self.seed)

    def location(self) -> LocationParameters:
        """The trace that clients follow."""
        found = LocationParameters(
            users=self.clients,
            rows=GRID,
            columns=GRID,
            days=self.days,
            friends=0,
            population_exponent=POPULATION_EXPONENT,
            publications_per_hour=self.publications_per_second / PACE / GRID**2 * HOUR_S,
            seed=self.seed,
        )
        found.refuse_impossible()
        return found


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """Where everything is: the trace to follow, disks, what clients saw, telemetry, the plan."""

    root: Path

    @property
    def wanderings(self) -> Path:
        return self.root / "wanderings"

    @property
    def network(self) -> Path:
        return self.root / "network"

    @property
    def telemetry(self) -> Path:
        return self.root / "telemetry"

    @property
    def history(self) -> Path:
        return self.root / "history.jsonl"

    @property
    def plan(self) -> Path:
        return self.root / "plan.json"

    @property
    def report(self) -> Path:
        return self.root / "report.html"

    def prepare(self) -> None:
        """Begin anew: what a former demonstration left is removed, and nothing else."""
        make_folder(self.root)
        if self.network.exists() and not self._is_of_a_demonstration():
            raise OperatorError(f"{self.network}: this is not of a demonstration; name another.")
        if answering_brokers(self.network):
            raise OperatorError(
                f"{self.network}: the brokers of a demonstration that was kept run here; stop them "
                f"with meshwright down --data {self.network}, or name another folder with --out."
            )
        for former in (self.network, self.telemetry):
            shutil.rmtree(former, ignore_errors=True)
        make_folder(self.network)

    def _is_of_a_demonstration(self) -> bool:
        """True also for one that was stopped before its brokers had started."""
        names = {one.name for one in self.network.iterdir()}
        return "overlay.json" in names or names <= {SETTINGS_NAME}


@dataclass(frozen=True, slots=True)
class Sight:
    """What is to be seen of a network in a second."""

    deliveries_per_s: float
    relays_per_s: float


@dataclass(frozen=True, slots=True)
class Act:
    """A time in which a network was measured: what clients got and what each broker carried.

    publications_per_s: by clients. fullest: clients at the broker that has most.
    """

    window: Window
    publications_per_s: float
    traffic: Traffic
    measures: Measures
    delays_ms: dict[str, float]
    changes_per_minute: float
    fullest: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the closed form says of the publications of a window with the plan in force.

    today: the same without the plan. unmoved: if only the overlay changed, and every client stayed
    where it is.
    """

    measures: Measures
    today: Measures
    unmoved: Measures
    changes_per_minute: float
    fullest: int


@dataclass(frozen=True, slots=True)
class Managed:
    """Where the manager of a network that is kept answers, and where people look at it."""

    url: str
    token_file: Path
    seen_at: str


def follow_trace(session: Session, parameters: DemoParameters, folder: DemoFolder) -> Script:
    """Generate the trace that clients follow; each begins at any broker, as chance has it."""
    location = parameters.location()
    generate_trace(session, location, folder.wanderings)
    found = located_deeds(session, folder.wanderings, location.cell_degrees)
    names = parameters.overlay().brokers
    chance = np.random.default_rng(parameters.seed)
    places = chance.integers(len(names), size=len(found.homes))
    homes = {client: names[place] for client, place in zip(found.homes, places, strict=True)}
    begin_us = location.begin_us()

    def at_s(time_us: int) -> float:
        return (time_us - begin_us) / (PACE * SECOND_US)

    wants = [
        Deed(at_s(time_us), client, "want" if is_on else "unwant", topic)
        for time_us, client, topic, is_on in found.interests
    ]
    published = [
        Deed(at_s(time_us), client, "publish", topic)
        for time_us, client, topic in found.publications
        if client in homes
    ]
    return Script(homes, tuple(sorted([*wants, *published])), parameters.seconds)


@contextmanager
def live_network(
    parameters: DemoParameters, folder: DemoFolder, *, is_kept: bool
) -> Iterator[LocalNetwork]:
    """Brokers that record their telemetry as a trace; stopped in the end unless they are kept."""
    settings = folder.network / SETTINGS_NAME
    write_whole(
        {
            settings: (
                f"[telemetry]\ntrace = {json.dumps(str(folder.telemetry.resolve()))}\n"
                f"trace_every_s = {TRACE_EVERY_S}\n"
                '[placement]\nrule = "none"\n'
            ).encode()
        }
    )
    port = free_ports(2 * parameters.brokers)
    network = LocalNetwork(
        parameters.overlay(),
        folder.network,
        port=port,
        peer_port=port + parameters.brokers,
        settings=settings,
    )
    try:
        network.start()
        yield network
        if is_kept:
            network.let_go()
    finally:
        network.stop()


def watch(play: Play, folder: DemoFolder, seconds: float, tell: Callable[[Sight], None]) -> Act:
    """Measure the network as it runs for so many seconds."""
    began_s, since_us = time.monotonic(), play.now_us()
    before = former = _traffic(folder)
    count, looked_s = len(play.seen().deliveries), began_s
    while time.monotonic() - began_s < seconds:
        time.sleep(min(LOOK_EVERY_S, seconds))
        now, now_s, deliveries = _traffic(folder), time.monotonic(), len(play.seen().deliveries)
        relayed = sum(one.relayed for one in traffic_between(former, now).values())
        elapsed_s = now_s - looked_s
        tell(Sight((deliveries - count) / elapsed_s, relayed / elapsed_s))
        former, looked_s, count = now, now_s, deliveries
    history, window = play.seen(), Window(since_us, play.now_us())
    traffic = traffic_between(before, former)
    waits = delays_ms(history, window)
    return Act(
        window,
        publications_per_s(history, window),
        traffic,
        measured(history, window, traffic),
        {name: float(np.percentile(waits, q)) for name, q in PERCENTILES.items()}
        if len(waits)
        else {},
        _by_minute(subscription_changes(history, window), window),
        _fullest(history, {}),
    )


def make_plan(session: Session, parameters: DemoParameters, folder: DemoFolder) -> Plan:
    """Plan, of the brokers' telemetry so far, a better overlay and better places for clients."""
    source = RunningNetwork(folder.network).in_force()
    moment = Moment(slot_s=parameters.seconds, horizon_s=HORIZON_S, seed=parameters.seed)
    state = TraceMoment(session, folder.telemetry, moment, source.brokers)
    snapshot = state.snapshot()
    plan = plan_with_clients(
        snapshot,
        PlanWish(parameters.design, k=parameters.k),
        state.population(snapshot, parameters.brokers),
        DEFAULT_PLACEMENT,
        source=source,
        rules=RULES,
        seed=parameters.seed,
    )
    write_plan(plan, folder.plan)
    return plan


def refuse_nothing(plan: Plan) -> None:
    """A plan that changes nothing is a right answer, but there is nothing to demonstrate by it."""
    if not plan.steps:
        raise ProblemError(
            "The plan is to leave everything as it is, so there is no change to show; ask for more "
            "clients, more brokers or another design."
        )


def predict(plan: Plan, history: History, window: Window) -> Prediction:
    """What the publications of a window would cost with the plan in force."""
    moved = {move.client: move.target for move in plan.client_moves()}
    changes = subscription_changes(history, window, moved)
    return Prediction(
        due(plan.target, history, window, moved),
        due(plan.source, history, window),
        due(plan.target, history, window),
        _by_minute(changes, window),
        _fullest(history, moved),
    )


def change(folder: DemoFolder, plan: Plan, predicted: Prediction, tell: Tell) -> SavedPlan:
    """Have the brokers carry out the plan, under traffic; it is kept as a manager keeps plans."""
    desk = FolderDesk(folder.network)
    saved = desk.save(plan, _cost(predicted.today, predicted.measures))
    return desk.carry_out("apply", saved.id, leader=None, tell=tell)


def keep_measured(folder: DemoFolder, changed: SavedPlan, before: Act, after: Act) -> None:
    """Keep with the plan what it was worth."""
    desk = FolderDesk(folder.network)
    desk.keep_measured(changed.id, _cost(before.measures, after.measures))


def start_manager(folder: DemoFolder) -> Managed:
    """Start a manager that outlives this process; refused if it does not answer soon."""
    address = Address(HOST, free_ports(1))
    settings = f'[rest]\nlisten = "{address}"\n'
    write_whole({folder.network / MANAGER_SETTINGS_NAME: settings.encode()})
    manager = ManagerChild(folder.network, say=lambda _: None)
    manager.start()
    deadline_s = time.monotonic() + MANAGED_WITHIN_S
    while (seen_at := manager.seen_at()) is None:
        if manager.has_ended() or time.monotonic() > deadline_s:
            manager.stop()
            raise OperatorError(f"The manager has not started; see {manager.log}.")
        time.sleep(MOVED_LOOK_S)
    manager.let_go()
    return Managed(f"http://{address}", manager.token_path, seen_at)


def wait_moved(play: Play, plan: Plan) -> None:
    """Until every client that was sent has come to its broker, so that they are not measured."""
    targets = {move.client: move.target for move in plan.client_moves()}
    deadline_s = time.monotonic() + MOVED_WITHIN_S
    while time.monotonic() < deadline_s:
        found = play.seen().connections
        if all(found[client][-1].broker == target for client, target in targets.items()):
            return
        time.sleep(MOVED_LOOK_S)


def is_in_force(folder: DemoFolder, overlay: Overlay) -> bool:
    """Whether the brokers are still joined like this."""
    return RunningNetwork(folder.network).in_force() == overlay


def kill_and_return(network: LocalNetwork, name: str) -> None:
    """Kill a broker, let it be gone for a while, and have it come back."""
    network.kill(name)
    time.sleep(DOWN_S)
    network.restart(name)
    time.sleep(BACK_S)


def busiest(folder: DemoFolder) -> str:
    """The broker with most clients."""
    found = running_brokers(folder.network)
    return max(found, key=lambda name: len(found[name][1].sessions))


def _fullest(history: History, moved: Mapping[str, str]) -> int:
    """Clients at the broker that has most; moved: those that are taken to be elsewhere."""
    last = {client: own[-1].broker for client, own in history.connections.items()}
    return max(Counter((last | dict(moved)).values()).values(), default=0)


def _cost(before: Measures, after: Measures) -> Cost:
    return Cost(before=before.messages_per_delivery, after=after.messages_per_delivery)


def _by_minute(count: int, window: Window) -> float:
    return count * 60.0 / max(window.seconds, 1e-9)


def _traffic(folder: DemoFolder) -> Traffic:
    return look(RunningNetwork(folder.network), 0).carried
