from __future__ import annotations

from pathlib import Path

from meshwright.cli.traces.replay_answer import replay_told
from meshwright.model.identifiers import BrokerName
from meshwright.pipeline.replays.parameters import ReplayParameters
from meshwright.pipeline.replays.replay import TraceReplay
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.timeline import Timeline


def test_who_gets_fewer_brokers_than_asked_for_is_told_why(tmp_path: Path) -> None:
    (tmp_path / "positions").mkdir()
    brokers = Brokers((BrokerName("b1/1"), BrokerName("b9/9")))
    timeline = Timeline(0, 3_600_000_000, 20, 10)
    replay = TraceReplay(ReplayParameters(), timeline, brokers, ("static",), ("chord",), {})
    assert replay_told(replay, tmp_path) == (
        f"{tmp_path}: 20 slots of 1 h in 2 epochs, 2 brokers, 1 placement, 1 design; "
        "no more cells of 1° were visited: smaller ones give more brokers"
    )
    (tmp_path / "connections").mkdir()
    assert replay_told(replay, tmp_path).endswith("1 design")
