"""Fifty changes of a live overlay and as many undos under load: what memory and disk hold after."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.processes import memory_mb
from benchmarks.table import Row
from meshwright.history.judgement import violations
from meshwright.lab.scripted import Deed, Script, playing
from meshwright.live.processes.local_network import LocalNetwork, free_ports
from meshwright.live.telemetry.plan_log import PlanProgress
from meshwright.model.plan import Plan
from meshwright.planning.founding import founding_overlay, founding_snapshot
from meshwright.sim.scenario.plans import drawn_plan

BROKERS, CHANGES, WARM_CHANGES = 5, 50, 10
DESIGNS = ("chord", "gm")
CHANGE_S, LOOK_EVERY_S, REST_S = 60.0, 0.02, 15.0
LENGTH_S, EVERY_S = 20.0, 0.1
GROWTH_MAX_MB, GROWTH_MAX_KB = 10.0, 512.0


class Held(NamedTuple):
    """What all brokers have in memory and on disk."""

    memory_mb: float
    disk_kb: float


def rows() -> list[Row]:
    return [row for design in DESIGNS for row in _rows(design)]


def _rows(design: str) -> list[Row]:
    names = tuple(f"b{number}" for number in range(BROKERS))
    overlay = founding_overlay(design, names, seed=1)
    plan = drawn_plan(overlay, founding_snapshot(names), np.random.default_rng(1), k=None)
    with tempfile.TemporaryDirectory() as name:
        folder, port = Path(name), free_ports(2 * BROKERS)
        network = LocalNetwork(overlay, folder, port=port, peer_port=port + BROKERS)
        network.start()
        try:
            addresses = {one.name: str(one.clients) for one in network.brokers}
            with playing(_script(), addresses) as play:
                play.wait_begun()
                _change(network, plan, WARM_CHANGES)
                before = _held(folder)
                _change(network, plan, CHANGES)
                after = _held(folder)
                found = violations(play.end())
            back = network.control_of("b0").get("/plan", PlanProgress).overlay
        finally:
            network.stop()
    is_same = msgspec.json.encode(back) == msgspec.json.encode(overlay)
    task = f"{design}: {CHANGES} changes and undos of {BROKERS} live brokers under load"
    more_mb, more_kb = after.memory_mb - before.memory_mb, after.disk_kb - before.disk_kb
    return [
        Row(
            f"{task}, memory of all",
            f"{more_mb:+.1f} MB",
            f"<= +{GROWTH_MAX_MB:g} MB",
            met=more_mb <= GROWTH_MAX_MB,
            note=f"{after.memory_mb:.0f} MB in all",
        ),
        Row(
            f"{task}, disks of all",
            f"{more_kb:+.0f} KB",
            f"<= +{GROWTH_MAX_KB:g} KB",
            met=more_kb <= GROWTH_MAX_KB,
            note=f"{after.disk_kb:.0f} KB in all, but for logs and reserves",
        ),
        Row(
            f"{task}, violations",
            str(len(found)),
            "0",
            met=not found and is_same,
            note=f"the overlay is byte for byte as it was: {is_same}",
        ),
    ]


def _script() -> Script:
    """Two clients of each broker: each wants two topics, and publishes ten times a second."""
    clients = [f"c{number}" for number in range(2 * BROKERS)]
    deeds = [
        Deed(0.0, client, "want", f"t/{(number + more) % BROKERS}")
        for number, client in enumerate(clients)
        for more in (0, 2)
    ]
    deeds += [
        Deed(at_s, client, "publish", f"t/{(number + beat) % BROKERS}")
        for beat, at_s in enumerate(np.arange(EVERY_S, LENGTH_S, EVERY_S).tolist())
        for number, client in enumerate(clients)
    ]
    homes = {client: f"b{number % BROKERS}" for number, client in enumerate(clients)}
    return Script(homes, tuple(deeds), LENGTH_S)


def _change(network: LocalNetwork, plan: Plan, count: int) -> None:
    """Apply a plan and undo it, over and over; then let the network rest."""
    for number in range(2 * count):
        action = "undo" if number % 2 else "apply"
        control = network.control_of(f"b{number % BROKERS}")
        epoch = control.decide(action, plan).epoch
        deadline_s = time.monotonic() + CHANGE_S
        while True:
            steps = control.get("/plan", PlanProgress).steps
            if (epoch, "done") in {(one.epoch, one.step) for one in steps}:
                break
            assert time.monotonic() < deadline_s, f"{action} {number} is not done: {steps[-3:]}"
            time.sleep(LOOK_EVERY_S)
    time.sleep(REST_S)


def _held(folder: Path) -> Held:
    own_mb, all_mb = memory_mb()
    files = [path for path in folder.rglob("*.sqlite") if path.is_file()]
    return Held(all_mb - own_mb, sum(path.stat().st_size for path in files) / 1024)
