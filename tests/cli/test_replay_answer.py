from __future__ import annotations

from pathlib import Path

from meshwright.cli.traces.replay_answer import replay_told, told_unfit
from meshwright.model.identifiers import BrokerName
from meshwright.pipeline.replays.parameters import ReplayParameters
from meshwright.pipeline.replays.replay import TraceReplay
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.timeline import Timeline
from meshwright.planning.replay_judgement import ReplayedCandidate, ReplayWish, judge_replay


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


def line(placement: str, design: str, deviation: float, spread: float) -> ReplayedCandidate:
    return ReplayedCandidate(
        placement=placement, design=design, publications=10, deliveries=20.0,
        subscription_changes=3, management_messages=4, messages_internal=4.0,
        messages_external=0.0, messages_entry=0.0, messages_repair=0.0,
        notification_overhead=4.0, delay_hops=1.0, delay_tree_hops=1.0, delay_ms=None,
        hand_overs=0, load_mean=2.0, load_deviation=deviation, reconfigurations=0,
        reconfiguration_messages=0.0, degree_mean=2.0, degree_max=2, k_held=1, load_spread=spread,
    )  # fmt: skip


def test_each_reason_why_lines_do_not_fit_is_told_once_with_the_lines() -> None:
    crowded = [line("similarity", design, 4.0, 1.0) for design in ("gm", "cycle")]
    candidates = [*crowded, line("static", "gm", 1.0, 1.0), line("static", "cycle", 1.0, 9.0)]
    told = told_unfit(candidates, judge_replay(candidates, ReplayWish(), broker_count=4))
    crowd = "clients crowd on few brokers: their subscriptions deviate by 2.0 of the mean"
    busy = "few brokers do most of the work: its load spread is 9.0"
    assert told == [
        f"No fit: every design with similarity placement, because {crowd} where 1.0 is allowed.",
        f"No fit: cycle with static placement, because {busy} where 3.0 is allowed.",
    ]
