"""What `compare` and `pipeline run` answer: one table, a recommendation, a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from meshwright.cli.console.notes import Notes
from meshwright.cli.console.screen import plain_table
from meshwright.cli.console.times import lasting
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from meshwright.cli.console.screen import PlainTable
    from meshwright.pipeline.replay import TraceReplay
    from meshwright.planning.recommendation import Verdict
    from meshwright.planning.replay_judgement import ReplayedCandidate, ReplayRecommendation

HEADINGS = {
    "\nplacement": False,
    "\ndesign": False,
    "messages a\npublication": True,
    "delay\nhops": True,
    "delay\nms": True,
    "broker\nchanges": True,
    "manage-\nment": True,
    "hand-\novers": True,
    "load\ndev.": True,
    "reconfig-\nuration": True,
    "\nprice": True,
    "\nfits": False,
}
EXPLANATION = (
    "Broker changes are subscriptions that brokers began or ended, management is the messages for "
    "them and between brokers of a cluster, load dev. the deviation of subscriptions over brokers, "
    "reconfiguration the messages for changes of overlay; price is all messages and weighted delay "
    "for each publication."
)


def replay_parts(
    replay: TraceReplay,
    trace: Path,
    candidates: list[ReplayedCandidate],
    recommendation: ReplayRecommendation,
    files: dict[str, Path],
) -> tuple[dict[str, Any], list[RenderableType]]:
    """A document for scripts, and what people are shown."""
    from meshwright.planning.replay_judgement import unpaid_moves

    document = {
        "trace": str(trace),
        **replay_document(replay, candidates, recommendation),
        "files": {kind: str(path) for kind, path in files.items()},
    }
    shown: list[RenderableType] = [
        replay_told(replay, trace),
        replay_table(candidates, recommendation),
        EXPLANATION,
        "",
        recommendation.reason,
        *unpaid_moves(candidates),
        *([f"Report: {files['report']}"] if files else []),
    ]
    return document, shown


def replay_table(
    candidates: list[ReplayedCandidate], recommendation: ReplayRecommendation
) -> PlainTable:
    """One line for each placement and design."""
    return plain_table(
        HEADINGS,
        (
            [
                each.placement,
                each.design,
                f"{each.notification_overhead:,.2f}",
                f"{each.delay_hops:.2f}",
                "-" if each.delay_ms is None else f"{each.delay_ms:.2f}",
                f"{each.subscription_changes:,}",
                f"{each.management_messages:,}",
                f"{each.hand_overs:,}",
                f"{each.load_deviation:,.1f}",
                f"{each.reconfiguration_messages:,.0f}",
                f"{verdict.price:,.1f}",
                _fit(each, verdict, recommendation),
            ]
            for each, verdict in zip(candidates, recommendation.verdicts, strict=True)
        ),
    )


def _fit(each: ReplayedCandidate, verdict: Verdict, recommendation: ReplayRecommendation) -> str:
    if (each.placement, each.design) == (recommendation.placement, recommendation.design):
        return "best"
    return "yes" if verdict.fits else "no"


def replay_document(
    replay: TraceReplay, candidates: list[ReplayedCandidate], recommendation: ReplayRecommendation
) -> dict[str, Any]:
    """The same for a script."""
    timeline = replay.timeline
    return {
        "seed": replay.parameters.seed,
        "slots": timeline.slot_count,
        "slot_s": timeline.slot_us // 1_000_000,
        "epochs": timeline.epoch_count,
        "brokers": replay.brokers.count,
        **_notes(replay).document(),
        "comparison": [
            {**_fields(each), "fits": verdict.fits, "price": verdict.price, "why": verdict.sentence}
            for each, verdict in zip(candidates, recommendation.verdicts, strict=True)
        ],
        "recommended": None
        if recommendation.design is None
        else {"placement": recommendation.placement, "design": recommendation.design},
        "reason": recommendation.reason,
    }


def replay_told(replay: TraceReplay, trace: Path) -> str:
    """What was replayed, in one sentence."""
    from meshwright.pipeline.trace_brokers import has_brokers

    timeline = replay.timeline
    slot = lasting(timeline.slot_us / 1_000_000)
    few = ""
    if replay.brokers.count < replay.parameters.brokers.count and not has_brokers(trace):
        degrees = replay.parameters.interests.cell_degrees
        few = f"; no more cells of {degrees:g}° were visited: smaller ones give more brokers"
    notes = "".join(f". {sentence.rstrip('.')}" for sentence in _notes(replay).sentences())
    return (
        f"{trace}: {counted(timeline.slot_count, 'slot')} of {slot} in "
        f"{counted(timeline.epoch_count, 'epoch')}, {counted(replay.brokers.count, 'broker')}, "
        f"{counted(len(replay.placements), 'placement')}, "
        f"{counted(len(replay.designs), 'design')}{few}{notes}"
    )


def _notes(replay: TraceReplay) -> Notes:
    return Notes(replay.content_count, replay.unwanted_count)


def write_report(
    replay: TraceReplay,
    trace: Path,
    candidates: list[ReplayedCandidate],
    recommendation: ReplayRecommendation,
    out: Path,
) -> dict[str, Path]:
    """report.html and comparison.csv, both or neither."""
    from meshwright.files.writing import make_folder, write_whole
    from meshwright.lab.replay_report import (
        HISTORIES,
        ReplayFindings,
        comparison_csv,
        report_page,
    )
    from meshwright.pipeline.findings import histories

    design = recommendation.design or candidates[0].design
    findings = ReplayFindings(
        title=f"{trace.resolve().name} replayed",
        told=replay_told(replay, trace),
        candidates=candidates,
        recommendation=recommendation,
        histories=histories(replay, design, list(HISTORIES)),
        slot_begins=replay.timeline.begins(),
    )
    make_folder(out)
    files = {"report": out / "report.html", "comparison": out / "comparison.csv"}
    write_whole(
        {files["report"]: report_page(findings), files["comparison"]: comparison_csv(candidates)}
    )
    return files


def _fields(each: ReplayedCandidate) -> dict[str, Any]:
    return {name: getattr(each, name) for name in each.__struct_fields__}
