"""The demonstration: live brokers, real clients that wander, and every design on their telemetry.

Everything is done for real: the brokers are processes, the clients speak MQTT to them, what they
saw is judged by the checkers of every simulation, and the brokers' own telemetry is compared.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from meshwright.errors import OperatorError
from meshwright.files.histories import write_history
from meshwright.files.writing import make_folder, write_whole
from meshwright.history.history import History
from meshwright.history.judgement import violations
from meshwright.history.violation import Violation
from meshwright.lab.live_measures import Measures, due, measured
from meshwright.lab.scripted import Deed, Script, play
from meshwright.live.operating.control import TrafficView
from meshwright.live.operating.control_client import running_brokers
from meshwright.live.processes.local_network import LocalNetwork, free_ports
from meshwright.live.settings import PlacementChoice
from meshwright.model.designs import DEFAULT_DESIGN
from meshwright.model.overlay import Overlay
from meshwright.model.times import SECOND_US
from meshwright.pipeline.generators.parameters import LocationParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.keeping import Keeper
from meshwright.pipeline.parameters import (
    OverlayParameters,
    PlacementParameters,
    ReplayParameters,
    TimeParameters,
)
from meshwright.pipeline.replay import TraceReplay, replay_trace
from meshwright.pipeline.session import Session
from meshwright.pipeline.trace_deeds import located_deeds
from meshwright.planning.founding import founding_overlay

DAY_S = 86_400
GRID = 12
SLOT_COUNT = 20
EPOCH_SLOTS = 5
SETTINGS_NAME = "broker.toml"
PLACING_LEAST_S = 0.5
# A broker must be seen to write its files while it runs, and all of them when it stops.
TRACE_EVERY_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoParameters:
    """What is to be shown: so many seconds of traffic stand for so many days of the trace.

    design: of the live brokers, and placement their rule. designs: those that are compared, all for
    None.
    """

    brokers: int = 8
    clients: int = 300
    design: str = DEFAULT_DESIGN
    k: int | None = None
    placement: PlacementChoice = "design"
    seconds: float = 40.0
    days: float = 1.0
    publications_per_second: float = 40.0
    friends: int = 2
    designs: tuple[str, ...] | None = None
    seed: int = 1

    def overlay(self) -> Overlay:
        """How the live brokers are joined."""
        names = tuple(f"broker{number}" for number in range(1, self.brokers + 1))
        return founding_overlay(self.design, names, k=self.k, seed=self.seed)

    @property
    def placing_every_s(self) -> float:
        """How often brokers tell each other what clients want: each has two turns to send some."""
        return max(self.seconds / (2 * self.brokers), PLACING_LEAST_S)

    def location(self) -> LocationParameters:
        """The trace that clients follow."""
        publications = self.publications_per_second * self.seconds
        found = LocationParameters(
            users=self.clients,
            rows=GRID,
            columns=GRID,
            days=self.days,
            friends=self.friends,
            publications_per_hour=publications / (GRID * GRID * self.days * 24),
            seed=self.seed,
        )
        found.refuse_impossible()
        return found


@dataclass(frozen=True, slots=True)
class DemoFolder:
    """Where everything is: the trace to follow, disks, what clients saw, telemetry, findings."""

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
    def findings(self) -> Path:
        return self.root / "findings"

    @property
    def stages(self) -> Path:
        return self.findings / "stages"

    def prepare(self) -> None:
        """Begin anew: what a former demonstration left is removed, and nothing else."""
        make_folder(self.root)
        if self.network.exists() and not self._is_of_a_demonstration():
            raise OperatorError(f"{self.network}: this is not of a demonstration; name another.")
        for former in (self.network, self.telemetry, self.stages):
            shutil.rmtree(former, ignore_errors=True)
        make_folder(self.network)

    def _is_of_a_demonstration(self) -> bool:
        """True also for one that was stopped before its brokers had started."""
        names = {one.name for one in self.network.iterdir()}
        return "overlay.json" in names or names <= {SETTINGS_NAME}


@dataclass(frozen=True, slots=True)
class Lived:
    """What came of the live part: what clients saw, what brokers sent, what was to be expected."""

    history: History
    violations: tuple[Violation, ...]
    measured: Measures
    due: Measures

    @property
    def hand_overs(self) -> int:
        """How often a client went to another broker."""
        return sum(len(own) - 1 for own in self.history.connections.values())


def follow_trace(
    session: Session, parameters: DemoParameters, folder: DemoFolder
) -> tuple[dict[str, int], Script]:
    """Generate the trace that clients follow; rows of its tables, and what is to be done."""
    location = parameters.location()
    rows = generate_trace(session, location, folder.wanderings)
    found = located_deeds(session, folder.wanderings, location.cell_degrees)
    names = parameters.overlay().brokers
    # Neighbouring cells have a broker in common.
    share = len(names) / len(found.brokers)
    regions = {cell: names[int(place * share)] for place, cell in enumerate(found.brokers)}
    homes = {client: regions[cell] for client, cell in found.homes.items()}
    begin_us = location.begin_us()
    pace = parameters.seconds / (parameters.days * DAY_S * SECOND_US)

    def at_s(time_us: int) -> float:
        return (time_us - begin_us) * pace

    wants = [
        Deed(at_s(time_us), client, "want" if is_on else "unwant", topic)
        for time_us, client, topic, is_on in found.interests
    ]
    published = [
        Deed(at_s(time_us), client, "publish", topic)
        for time_us, client, topic in found.publications
        if client in homes
    ]
    return rows, Script(homes, tuple(sorted([*wants, *published])))


@contextmanager
def live_network(parameters: DemoParameters, folder: DemoFolder) -> Iterator[LocalNetwork]:
    """Brokers that record their telemetry as a trace; stopped in the end, whatever happens."""
    settings = folder.network / SETTINGS_NAME
    # What brokers tell of themselves would be among the messages that are counted.
    write_whole(
        {
            settings: (
                f"[telemetry]\ntrace = {json.dumps(str(folder.telemetry.resolve()))}\n"
                f"trace_every_s = {TRACE_EVERY_S}\nsys_every_s = 0\n"
                f'[placement]\nrule = "{parameters.placement}"\n'
                f"every_s = {parameters.placing_every_s}\n"
            ).encode()
        }
    )
    overlay = parameters.overlay()
    port = free_ports(2 * parameters.brokers)
    network = LocalNetwork(
        overlay,
        folder.network,
        port=port,
        peer_port=port + parameters.brokers,
        settings=settings,
    )
    try:
        network.start()
        yield network
    finally:
        network.stop()


def live_part(
    network: LocalNetwork,
    script: Script,
    parameters: DemoParameters,
    folder: DemoFolder,
    progress: Callable[[tuple[int, int]], None],
) -> Lived:
    """Real clients do what the script says; brokers' counts beside the closed form."""
    addresses = {broker.name: str(broker.clients) for broker in network.brokers}
    history = play(script, addresses, progress)
    ended = network.ended()
    if ended is not None:
        raise OperatorError(f"{ended.name} has ended; see {network.log_of(ended.name)}.")
    views = [
        control.get("/traffic", TrafficView)
        for control, _ in running_brokers(folder.network).values()
    ]
    write_history(history, folder.history)
    found = tuple(violations(history))
    expected = due(parameters.overlay(), history)
    return Lived(history, found, measured(history, views), expected)


def replay_telemetry(
    session: Session, parameters: DemoParameters, folder: DemoFolder
) -> TraceReplay:
    """The brokers' own telemetry against every design, with clients as they were and as is best."""
    chosen = ReplayParameters(
        seed=parameters.seed,
        time=TimeParameters(
            slot_s=max(1, round(parameters.seconds / SLOT_COUNT)), epoch_slots=EPOCH_SLOTS
        ),
        placement=PlacementParameters(
            methods=("recorded", "similarity-bounded"), cluster_size=parameters.brokers
        ),
        overlay=OverlayParameters(designs=parameters.designs, k=1),
    )
    return replay_trace(session, folder.telemetry, chosen, Keeper(session, folder.stages))
