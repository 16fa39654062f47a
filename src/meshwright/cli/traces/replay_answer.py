"""What `compare` and `pipeline run` answer: one table, a recommendation, a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from meshwright.cli.console.notes import Notes
from meshwright.cli.console.screen import plain_table
from meshwright.cli.console.times import lasting
from meshwright.cli.overlays.metrics_table import (
    PRICE_EXPLANATION,
    PRICE_HEADINGS,
    price_cells,
    verdict_document,
)
from meshwright.cli.overlays.overlay_plans import (
    NO_PLAN_AT_A_LOSS,
    price_document,
    told_loss,
)
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

    from meshwright.cli.console.screen import PlainTable
    from meshwright.pipeline.places.place import Place
    from meshwright.pipeline.replays.findings import Way
    from meshwright.pipeline.replays.replay import TraceReplay
    from meshwright.planning.replay_judgement import ReplayedCandidate, ReplayRecommendation

HEADINGS = {
    "\nplacement": False,
    "\ndesign": False,
    **PRICE_HEADINGS,
    "degree\nmax": True,
    "delay\nhops": True,
    "delay\nms": True,
    "broker\nchanges": True,
    "hand-\novers": True,
    "load\ndev.": True,
}
EXPLANATION = (
    f"{PRICE_EXPLANATION} Broker changes are subscriptions that brokers began or ended, load dev. "
    "is the deviation of subscriptions over brokers."
)

FILES_TOLD = {
    "report": "the recommendation, prices, overlays and histories; open it in a browser",
    "comparison": "one line for each placement and design, with the parts of its price",
    "stages": "tables of every stage, so that only what changed is run again; may be deleted",
}


class Findings(NamedTuple):
    """A document for scripts, what people are shown, and whether a plan is not as asked for."""

    document: dict[str, Any]
    shown: list[RenderableType]
    is_refused: bool


def write_findings(
    replay: TraceReplay, trace: Place, out: tuple[Place | None, Path | None], *, force: bool
) -> Findings:
    """The report and the plan where they are asked for, and what is to be told of a replay."""
    from meshwright.files.plans import write_plan
    from meshwright.pipeline.replays.findings import compared, way_there

    files: dict[str, Place] = {}
    folder, plan_out = out
    candidates, found = compared(replay)
    is_leaving = plan_out is not None or replay.today is not None
    way = way_there(replay, trace, found) if is_leaving else None
    if folder is not None:
        files |= write_report(replay, trace, candidates, found, folder, way=way)
    is_kept = way is not None and (force or not way.judged.is_at_a_loss)
    if plan_out is not None and way is not None and is_kept:
        write_plan(way.plan, plan_out)
        files["plan"] = plan_out
    document, shown = replay_parts(replay, trace, candidates, found, files, way=way)
    is_refused = plan_out is not None and not is_kept
    if is_refused:
        shown.append(NO_PLAN_AT_A_LOSS if way else "No plan was written, as nothing fits.")
    return Findings(document, shown, is_refused)


def replay_parts(
    replay: TraceReplay,
    trace: Place,
    candidates: list[ReplayedCandidate],
    recommendation: ReplayRecommendation,
    files: Mapping[str, Place],
    *,
    way: Way | None = None,
) -> tuple[dict[str, Any], list[RenderableType]]:
    """A document for scripts, and what people are shown."""
    document = {
        "trace": str(trace),
        **replay_document(replay, candidates, recommendation),
        **({} if way is None else {"before": way.before, **price_document(way.judged)}),
        "files": {kind: str(path) for kind, path in files.items()},
    }
    shown: list[RenderableType] = [
        replay_told(replay, trace),
        replay_table(candidates, recommendation),
        EXPLANATION,
        "",
        recommendation.reason,
        *told_first_slot(recommendation),
        *told_unfit(candidates, recommendation),
        *told_way(replay, way),
        *_told_moves(replay, candidates),
        *([f"Report: {files['report']}"] if "report" in files else []),
        *([] if way is None or "plan" not in files else _told_plan(replay, way, files["plan"])),
    ]
    return document, shown


def told_unfit(
    candidates: list[ReplayedCandidate], recommendation: ReplayRecommendation
) -> list[str]:
    """Each reason for which lines do not fit once, with those lines, the cheapest first."""
    from meshwright.planning.recommendation import in_order

    verdicts = recommendation.verdicts
    unfit: dict[str, dict[str, list[str]]] = {}
    for at in in_order(verdicts):
        each, fault = candidates[at], verdicts[at].fault
        if fault is not None:
            unfit.setdefault(fault, {}).setdefault(each.placement, []).append(each.design)
    designs = len({each.design for each in candidates})
    told = []
    for fault, lines in unfit.items():
        named = (
            f"{'every design' if len(names) == designs > 1 else ', '.join(names)} with {placement} "
            "placement"
            for placement, names in lines.items()
        )
        told.append(f"No fit: {'; '.join(named)}, because {fault}.")
    return told


def told_first_slot(recommendation: ReplayRecommendation) -> list[str]:
    """That another would be recommended without the first slot, if so."""
    return [recommendation.first_slot] if recommendation.first_slot else []


def _told_moves(replay: TraceReplay, candidates: list[ReplayedCandidate]) -> list[str]:
    """How often brokers could move, and what that gained or from when on it would."""
    from meshwright.planning.replay_judgement import gains_of_moves, unpaid_moves

    period = [replay.period] if replay.period else []
    return [*period, *gains_of_moves(candidates), *unpaid_moves(candidates)]


def replay_table(
    candidates: list[ReplayedCandidate], recommendation: ReplayRecommendation
) -> PlainTable:
    """One line for each placement and design, the best first."""
    from meshwright.planning.recommendation import in_order

    lines = []
    for at in in_order(recommendation.verdicts):
        each = candidates[at]
        lines.append(
            [
                each.placement,
                each.design,
                *price_cells(recommendation.verdicts[at]),
                f"{each.degree_max}",
                f"{each.delay_hops:.2f}",
                "-" if each.delay_ms is None else f"{each.delay_ms:.2f}",
                f"{each.subscription_changes:,}",
                f"{each.hand_overs:,}",
                f"{each.load_deviation:,.1f}",
            ]
        )
    return plain_table(HEADINGS, lines)


def replay_document(
    replay: TraceReplay, candidates: list[ReplayedCandidate], recommendation: ReplayRecommendation
) -> dict[str, Any]:
    """The same for a script."""
    from meshwright.planning.recommendation import in_order

    timeline = replay.timeline
    verdicts = recommendation.verdicts
    return {
        "seed": replay.parameters.seed,
        "slots": timeline.slot_count,
        "slot_s": timeline.slot_us // 1_000_000,
        "epochs": timeline.epoch_count,
        "epoch_slots": timeline.epoch_slots,
        "period": replay.period or None,
        "brokers": replay.brokers.count,
        **_notes(replay).document(),
        "weights": replay.parameters.weights(),
        "comparison": [
            {
                **_fields(candidates[at]),
                **verdict_document(verdicts[at]),
                "why": verdicts[at].sentence,
            }
            for at in in_order(verdicts)
        ],
        "recommended": None
        if recommendation.design is None
        else {"placement": recommendation.placement, "design": recommendation.design},
        "reason": recommendation.reason,
        "first_slot": recommendation.first_slot or None,
    }


def replay_told(replay: TraceReplay, trace: Place) -> str:
    """What was replayed, in one sentence."""
    from meshwright.pipeline.tables.trace_brokers import has_brokers

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
    return Notes(replay.content_count, replay.unwanted_count, replay.idle_count)


def write_report(
    replay: TraceReplay,
    trace: Place,
    candidates: list[ReplayedCandidate],
    recommendation: ReplayRecommendation,
    out: Place,
    *,
    way: Way | None = None,
) -> dict[str, Place]:
    """report.html, comparison.csv and a README of both."""
    from meshwright.lab.replay_report import (
        HISTORIES,
        ReplayFindings,
        comparison_csv,
        folder_guide,
        report_page,
    )
    from meshwright.pipeline.places.results import is_folder, write_results
    from meshwright.pipeline.replays.findings import histories, last_overlay

    design = recommendation.design or candidates[0].design
    findings = ReplayFindings(
        title=f"{_name(trace)} replayed",
        told=replay_told(replay, trace),
        candidates=candidates,
        recommendation=recommendation,
        histories=histories(replay, design, list(HISTORIES)),
        slot_begins=replay.timeline.begins(),
        notes=[
            *told_first_slot(recommendation),
            *told_way(replay, way),
            *_told_moves(replay, candidates),
        ],
        before=replay.today,
        after=None
        if recommendation.placement is None
        else last_overlay(replay, recommendation.placement, design),
        coordinates=replay.brokers.coordinates,
    )
    names = {"report": "report.html", "comparison": "comparison.csv", "guide": "README.md"}
    told = {name: FILES_TOLD[kind] for kind, name in names.items() if kind in FILES_TOLD}
    if is_folder(out / "stages"):
        told["stages/"] = FILES_TOLD["stages"]
    contents = {
        names["report"]: report_page(findings),
        names["comparison"]: comparison_csv(findings),
        names["guide"]: folder_guide(findings, told),
    }
    write_results(out, contents)
    return {kind: out / name for kind, name in names.items()}


def _name(trace: Place) -> str:
    return trace.resolve().name if isinstance(trace, Path) else trace.name


def refuse_places(folder: Place | None, plan: Path | None) -> None:
    """Say why what is found could not be written, before it is looked for."""
    from meshwright.files.writing import refuse_folder, refuse_unwritable

    if isinstance(folder, Path):
        refuse_folder(folder)
    if plan is not None:
        refuse_unwritable(plan)


def told_way(replay: TraceReplay, way: Way | None) -> list[str]:
    """What speaks against going to what is recommended; nothing if it pays."""
    if way is None:
        return []
    clause = "moves no client" if replay.today is None else "stands"
    told = told_loss(way.judged, f"{way.before}, which {clause}")
    return [f"{each} {_told_epoch(replay)}" for each in told]


def _told_epoch(replay: TraceReplay) -> str:
    """Of which time the prices of a plan are, as the table has others."""
    timeline = replay.timeline
    epoch = lasting(timeline.epoch_slots * timeline.slot_us / 1_000_000)
    return (
        f"Prices of a plan are of an epoch of {epoch} from the end of the trace on, those of the "
        "table of all that was replayed."
    )


def _told_plan(replay: TraceReplay, way: Way, out: Place) -> list[str]:
    """What the plan does to brokers and clients, what it is worth, and where it is."""
    from meshwright.model.plan import told_worth

    told = f"Plan: {out}; meshwright plan show {out}. {_told_epoch(replay)}"
    if replay.today is None:
        told += " Nothing stands today (--from names an overlay that does): it builds all links."
    return [told, way.plan.summary, told_worth(way.plan)]


def _fields(each: ReplayedCandidate) -> dict[str, Any]:
    return {name: getattr(each, name) for name in each.__struct_fields__}
