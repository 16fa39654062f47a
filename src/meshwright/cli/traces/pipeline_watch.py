"""meshwright pipeline watch: plans from telemetry as it comes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.notes import Notes
from meshwright.cli.console.options import (
    Conf,
    DelayWeight,
    DesignName,
    Json,
    Master,
    Memory,
    Objective,
    OwnK,
    PlanMethod,
    Remote,
    Seed,
    Slot,
    SourceOverlay,
    TFree,
    Ui,
)
from meshwright.cli.console.screen import answer
from meshwright.cli.console.times import duration_s
from meshwright.model.times import SECOND_US
from meshwright.model.wording import counted
from meshwright.pipeline.places.place import place_of

if TYPE_CHECKING:
    from meshwright.pipeline.watching.clockwork import Clockwork
    from meshwright.pipeline.watching.periods import PeriodRecord
    from meshwright.pipeline.watching.watch_record import WatchRecord


def watch(
    telemetry: Annotated[
        Path, typer.Argument(metavar="TELEMETRY_DIR", help="A trace that grows, file by file.")
    ],
    *,
    design: DesignName,
    out: Annotated[
        Path, typer.Option("--out", metavar="PLANS_DIR", help="Folder for plans and checkpoint.")
    ],
    checkpoint: Annotated[
        str | None,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            show_default="in PLANS_DIR",
            help="Folder for what Spark remembers, also at hdfs://, s3a://, ...",
        ),
    ] = None,
    source: SourceOverlay = None,
    t_free: TFree = "10h",
    slot: Slot = "1h",
    late: Annotated[
        str | None,
        typer.Option(
            "--late",
            metavar="TIME",
            show_default="one slot",
            help="How far a broker's events may come behind its newest.",
        ),
    ] = None,
    patience: Annotated[
        str | None,
        typer.Option(
            "--patience",
            metavar="TIME",
            show_default="one period",
            help="How long a broker that is behind, or silent, is waited for.",
        ),
    ] = None,
    ahead: Annotated[
        str,
        typer.Option(
            "--ahead",
            metavar="TIME",
            help="How far ahead an event may be; others are quarantined, or wait for their time.",
        ),
    ] = "1d",
    forget: Annotated[
        str,
        typer.Option(
            "--forget", metavar="TIME", help="What is older than this counts no more when it comes."
        ),
    ] = "7d",
    once: Annotated[
        bool,
        typer.Option("--once", "--available-now", help="End when all that is there is judged."),
    ] = False,
    files_per_batch: Annotated[
        int, typer.Option("--files-per-batch", min=1, help="Files that are taken at once.")
    ] = 1000,
    objective: Objective = "net",
    method: PlanMethod = None,
    delay_weight: DelayWeight = 1.0,
    k: OwnK = None,
    seed: Seed = 0,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Watch telemetry; whenever a period is over, test whether a change can pay, and plan it.

    Each broker has its own clock: one that is wrong makes no other late, and is told. Killed and
    started again, it goes on where it was: nothing is lost or counted twice.

    Example: meshwright pipeline watch telemetry --design dynatops --t-free 1h --slot 5min
    --out plans
    """
    from meshwright.cli.console.spark import chosen_spark, is_short_work, spark_work
    from meshwright.files.plans import read_overlay_or_target
    from meshwright.files.writing import make_folder, refuse_folder
    from meshwright.pipeline.watching.periods import Judge
    from meshwright.pipeline.watching.watch import refuse_no_telemetry
    from meshwright.pipeline.watching.watch import watch as watched
    from meshwright.pipeline.watching.watch_record import sentences
    from meshwright.planning.arrangement.reconfiguration import RECONFIGURABILITY_BETA
    from meshwright.planning.changes.network import PlanWish

    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    refuse_no_telemetry(telemetry)  # before Spark starts, as all that can be refused by then
    refuse_folder(out)
    clockwork = _clockwork(
        t_free, slot, late=late or slot, patience=patience or t_free, ahead=ahead, forget=forget
    )
    wish = PlanWish(
        design,
        objective,
        method,
        delay_weight,
        k,
        reconfigurability_beta=RECONFIGURABILITY_BETA,
    )
    today = None if source is None else read_overlay_or_target(source)
    judged: list[PeriodRecord] = []

    def report(record: PeriodRecord) -> None:
        judged.append(record)
        typer.echo(told_period(record), err=True)

    is_short = once and is_short_work(telemetry)
    with spark_work("Watching", spark, is_short=is_short, only_in=out) as work:
        record = watched(
            work.session,
            telemetry,
            Judge(make_folder(out), clockwork, wish, today, seed, telemetry),
            report,
            is_once=once,
            files_per_batch=files_per_batch,
            checkpoint=None if checkpoint is None else place_of(checkpoint),
        )
    answer(
        as_json,
        {
            "command": "pipeline watch",
            "seed": seed,
            "plans": str(out),
            "periods": judged,
            "late": record.total("late"),
            "forgotten": record.total("forgotten"),
            "quarantined": record.total("quarantined"),
            "waiting": record.total("waiting"),
            "brokers": record.brokers,
        },
        "\n".join([_summary(out, judged, record), *sentences(record, clockwork)]),
    )


def _clockwork(t_free: str, slot: str, **spans: str) -> Clockwork:
    from meshwright.errors import OperatorError
    from meshwright.pipeline.watching.clockwork import Clockwork

    slot_us, period_us = (_microseconds(text) for text in (slot, t_free))
    if period_us % slot_us:
        raise OperatorError(f"--t-free {t_free} is not some slots of {slot}; choose a multiple.")
    lengths_us = {f"{name}_us": _microseconds(text) for name, text in spans.items()}
    return Clockwork(slot_us, period_us // slot_us, **lengths_us)


def _microseconds(text: str) -> int:
    return round(duration_s(text) * SECOND_US)


def _summary(out: Path, judged: list[PeriodRecord], record: WatchRecord) -> str:
    plans = counted(sum(one.plan is not None for one in judged), "plan")
    late, forgotten = record.total("late"), record.total("forgotten")
    return (
        f"{out}: {counted(len(judged), 'period')} judged, {plans}; "
        f"{counted(late, 'row')} came late, {forgotten:,} too late to count, "
        f"{record.total('quarantined'):,} quarantined, "
        f"{record.total('waiting'):,} waiting for a far future"
    )


def _notes(record: PeriodRecord) -> Notes:
    return Notes(record.content, record.topics_unwanted, record.filters_idle)


def told_period(record: PeriodRecord) -> str:
    """What was seen in a period and what came of it, in one line."""
    seen = f"{counted(record.publications, 'publication')}, {counted(record.interests, 'interest')}"
    named = "" if record.plan is None else f" -> {record.plan}"
    notes = "".join(f". {sentence}" for sentence in _notes(record).sentences())
    return f"{record.begin} to {record.end}: {seen}; {record.decision}{named}{notes}"
