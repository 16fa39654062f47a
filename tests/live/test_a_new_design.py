"""A design that is added as a function and a row goes through every command, with no other edit."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_network import live_brokers
from ordinary_clients import AioReader, aio_publish, until
from running_up import up
from star_design import STAR
from typer.testing import CliRunner

from meshwright.cli.main import app
from meshwright.lab.compiling import compile_for_plan
from meshwright.lab.swarm import cases, mixed, run_swarm
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import DESIGNS
from meshwright.model.overlay import Overlay
from meshwright.overlays.growth import with_broker
from meshwright.pipeline.replays.parameters import OverlayParameters, ReplayParameters
from meshwright.pipeline.replays.wishes import replayed_designs
from meshwright.pipeline.stages.replay_units import ReplayUnit, counted
from meshwright.planning.evaluation.evaluate import carrier_of
from meshwright.planning.succession import EpochRules, follow

HERE = Path(__file__).parent
# Every process of this environment has the row, also those that commands start.
ROW = """
import sys
sys.path.append({here!r})
from meshwright.model.designs import DESIGNS
from star_design import STAR
DESIGNS["spokes"] = STAR
"""


@pytest.fixture
def star(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(DESIGNS, "spokes", STAR)
    return "spokes"


@pytest.fixture
def star_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The row in all processes that are started from now on."""
    (tmp_path / "sitecustomize.py").write_text(ROW.format(here=str(HERE)))
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    return "spokes"


def answered(*words: str | Path) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


async def send_through(ports: list[int]) -> None:
    """A message from a client of the last broker to one of the second; the way is by the first."""
    reader = AioReader("reader")
    await reader.open(ports[1], "a/+")
    await aio_publish(ports[-1], "a/b", "hello")
    await until(lambda: [one.payload for one in reader.got] == ["hello"])
    await reader.close()


def test_it_is_built_and_compared(star: str, tmp_path: Path) -> None:
    size = ("--brokers", "8", "--topics", "6", "--topics-per-broker", "2", "--popularity", "zipf")
    answered("workload", "generate", *size, "--out", tmp_path)
    interests, rates = tmp_path / "interests.csv", tmp_path / "rates.csv"
    built = answered(
        "overlay", "build", "--design", star, "--interests", interests,
        "--out", tmp_path / "star.json",
    )  # fmt: skip
    assert (built["links"], built["degree_max"]) == (7, 7)
    compared = answered(
        "overlay",
        "compare",
        "--designs",
        "chord,spokes",
        "--interests",
        interests,
        "--rates",
        rates,
    )
    assert {row["name"] for row in compared["designs"]} == {"chord", star, "mesh", "star"}


def test_it_is_simulated_with_faults_and_changes_of_overlay(star: str) -> None:
    found = answered(
        "simulate", "--design", star, "--brokers", "5", "--clients", "8", "--duration", "3",
        "--faults", "crash,joins", "--reconfigure", "--seeds", "1..2",
    )  # fmt: skip
    assert found["failures"] == []
    assert found["totals"]["delivered"] > 0


def test_a_swarm_mixes_trouble_for_it(star: str) -> None:
    chosen = cases((star,), (16, 17))
    assert [mixed(case).design for case in chosen] == [star, star]
    for case, result in run_swarm(chosen):
        assert result.failures == (), case
        assert result.totals["delivered"] > 0


def test_clients_use_a_live_network_of_it(star: str, tmp_path: Path) -> None:
    async def story() -> None:
        async with live_brokers(star, tmp_path) as ports:
            await send_through(ports)

    asyncio.run(story())


def test_up_runs_it_and_carries_a_message(star_everywhere: str, tmp_path: Path) -> None:
    folder = tmp_path / "network"
    with up(folder, "-n", 3, "--design", star_everywhere) as (_, printed):
        printed.until("3 brokers are joined as spokes")
        ports = [int(line.split("mqtt://127.0.0.1:")[1].split()[0]) for line in printed.seen[:3]]
        asyncio.run(send_through(ports))
    joined = json.loads((folder / "overlay.json").read_text())
    assert joined["design"] == "spokes"
    assert {link[0] for link in joined["links"]} == {"broker1"}


def test_a_newcomer_finds_its_place_in_it(star: str) -> None:
    before = Overlay(design=star, brokers=("a", "b", "c"), links=(("a", "b"), ("a", "c")))
    assert len(with_broker(before, "d").links) == 3


def test_a_replay_of_a_trace_follows_it(star: str) -> None:
    wish = ReplayParameters(overlay=OverlayParameters(designs=(star,)))
    assert replayed_designs(wish)[0] == star
    compile_for_plan(star)
    # The very calls of a replay, without Spark.
    snapshot = generate_snapshot(8, 6, 3, "unif", seed=0)
    overlay = follow(star, None, snapshot, EpochRules(), seed=0).overlay
    unit = ReplayUnit(
        snapshot,
        1,
        np.zeros(len(snapshot.topics), dtype=np.int64),
        np.ones(len(snapshot.topics), dtype=np.int64),
        snapshot.interests.columns.astype(np.int64),
        snapshot.interests.row_of_pairs().astype(np.int64),
    )
    counted(unit, carrier_of(overlay, snapshot))
