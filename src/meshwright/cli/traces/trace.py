"""meshwright trace: recorded and generated traces, as the other commands read them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import (
    Cell,
    Conf,
    Json,
    Master,
    Memory,
    Remote,
    TraceOut,
    TracePlace,
    Ui,
    finite,
)
from meshwright.cli.console.screen import PlainTable, answer, plain_table, working
from meshwright.cli.console.spark import (
    SparkChoice,
    chosen_spark,
    is_for_this_machine,
    is_short_work,
    rows_told,
    spark_work,
)
from meshwright.cli.traces.trace_compact import compact
from meshwright.cli.traces.trace_generate import generate
from meshwright.cli.traces.trace_path import path
from meshwright.model.wording import counted
from meshwright.pipeline.imports.parameters import Format, ImportParameters, TopicOf
from meshwright.pipeline.places.place import Place, place_of

if TYPE_CHECKING:
    from meshwright.pipeline.description import TraceDescription
    from meshwright.pipeline.imports.trace_import import ImportSummary

app = typer.Typer(no_args_is_help=True, help="Import, generate and describe traces.")

app.command()(compact)
app.command()(generate)
app.command()(path)


@app.callback()
def trace() -> None:
    """Import, generate and describe traces: who subscribed, published, connected, was where."""


@app.command("import")
def import_files(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files to read, also .gz.")
    ],
    *,
    file_format: Annotated[Format, typer.Option("--format", help="What the files are.")],
    out_place: TraceOut,
    friends: Annotated[
        Path | None,
        typer.Option("--friends", metavar="FILE", help="CSV of user_a,user_b (also .csv.gz)."),
    ] = None,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            metavar="NAME",
            show_default="the name of each file",
            help="csv, jsonl: the table that the files hold.",
        ),
    ] = None,
    topic_of: Annotated[
        TopicOf, typer.Option("--topic-of", help="foursquare: what is the topic of a check-in.")
    ] = "category",
    interest_days: Annotated[
        float,
        typer.Option(
            "--interest-days",
            min=0.0,
            callback=finite,
            help="foursquare: how long a check-in keeps its topic interesting.",
        ),
    ] = 30.0,
    payload_bytes: Annotated[
        int,
        typer.Option(
            "--payload-bytes", min=0, help="foursquare: bytes of what a check-in publishes."
        ),
    ] = 64,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse the files for a single bad row.")
    ] = False,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Make a trace of recorded files; bad rows go to its quarantine, with file, line and reason.

    Example: meshwright trace import --format gowalla checkins.csv.gz --friends friends.csv.gz
    --out city
    """
    from meshwright.pipeline.imports.trace_import import refuse_files
    from meshwright.pipeline.tables.traces import refuse_no_trace

    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    out = place_of(out_place)
    if isinstance(out, Path):
        refuse_no_trace(out)
    parameters = ImportParameters(
        format=file_format,
        is_strict=strict,
        table=table,
        topic_of=topic_of,
        interest_days=interest_days,
        payload_bytes=payload_bytes,
    )
    refuse_files(files, parameters, friends)  # before Spark starts
    summary, seconds = _imported(spark, files, parameters, friends, out)
    row_count = sum(summary.row_counts.values())
    answer(
        as_json,
        {
            "command": "trace import",
            "trace": str(out),
            "tables": summary.row_counts,
            "quarantined": summary.row_counts["quarantine"],
            "reasons": summary.refused,
            "seconds": round(seconds, 3),
        },
        _table_rows(summary.row_counts),
        *(
            [plain_table({"reason": False, "rows": True}, _counted(summary.refused))]
            if summary.refused
            else []
        ),
        f"{out}: {rows_told(row_count, seconds)}",
    )


def _imported(
    spark: SparkChoice,
    files: list[Path],
    parameters: ImportParameters,
    friends: Path | None,
    out: Place,
) -> tuple[ImportSummary, float]:
    """Without Spark where that is as good, and nobody asks for Spark; and the seconds it took."""
    from meshwright.pipeline.imports.trace_import import (
        import_trace,
        import_without_spark,
        is_little,
    )
    from meshwright.pipeline.job_faults import reading_faults

    is_small = is_little(files if friends is None else [*files, friends])
    if isinstance(out, Path) and is_small and is_for_this_machine(spark):
        began_s = time.monotonic()
        with working("Importing"), reading_faults():
            summary = import_without_spark(files, parameters, friends=friends, out=out)
        if summary is not None:
            return summary, time.monotonic() - began_s
    is_short = is_short_work(*files)
    with spark_work("Importing", spark, is_short=is_short) as work:
        summary = import_trace(work.session, files, parameters, friends=friends, out=out)
    return summary, work.seconds


@app.command()
def describe(
    trace_place: TracePlace,
    *,
    cell: Cell = 1.0,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", metavar="FILE", help="Draw returns and stays as .svg or .png."),
    ] = None,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Rows, users, span, and how people move: visits, cells seen once, how long they stay.

    Example: meshwright trace describe city --cell 1 --picture city.svg
    """
    from meshwright.pipeline.tables.traces import check_trace

    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    trace = place_of(trace_place)
    if isinstance(trace, Path):
        check_trace(trace)
    if picture is not None:
        from meshwright.lab.figures.saving import refuse_undrawable

        refuse_undrawable(picture)
    is_short = is_short_work(trace)
    with spark_work("Describing", spark, is_short=is_short) as work:
        from meshwright.pipeline.description import describe_trace, movement

        described = describe_trace(work.session, trace, cell)
        moved = None if picture is None else movement(work.session, trace, cell)
    if picture is not None and moved is not None:
        from meshwright.lab.figures.movement_picture import draw_movement
        from meshwright.pipeline.description import STAY_EDGES_H

        draw_movement(
            moved.visit_counts,
            moved.stay_counts,
            STAY_EDGES_H,
            title=f"{counted(described.users, 'user')}, cells of {cell:g}°",
            path=picture,
        )
    answer(
        as_json,
        _document(trace, cell, described, work.seconds, picture),
        _table_rows(described.row_counts),
        *_told(described, cell),
        work.told(sum(described.row_counts.values())),
    )


def _document(
    trace: Place, cell: float, described: TraceDescription, seconds: float, picture: Path | None
) -> dict[str, object]:
    return {
        "command": "trace describe",
        "trace": str(trace),
        "cell_degrees": cell,
        "checkins": described.checkins,
        "users": described.users,
        "visits": described.visits,
        "user_cells": described.user_cells,
        "once_only_share": described.once_only_share,
        "stay_under_day_share": described.stay_under_day_share,
        "stay_over_week_share": described.stay_over_week_share,
        "quarantined": described.quarantined,
        "tables": described.row_counts,
        "begin": None if described.begin is None else f"{described.begin.isoformat()}Z",
        "end": None if described.end is None else f"{described.end.isoformat()}Z",
        "picture": None if picture is None else str(picture),
        "seconds": round(seconds, 3),
    }


def _told(described: TraceDescription, cell: float) -> list[str]:
    """What people want to know of a trace."""
    if described.begin is None:
        return ["Nothing happens in this trace"]
    span = f"{counted(described.users, 'user')}, {described.begin} to {described.end} UTC"
    if not described.checkins:
        return [span]
    visits = f"{counted(described.checkins, 'check-in')} make {counted(described.visits, 'visit')}"
    once = f"{_percent(described.once_only_share)} of them visited once"
    short = f"{_percent(described.stay_under_day_share)} of stays under a day"
    long = f"{_percent(described.stay_over_week_share)} over a week"
    return [
        span,
        f"{visits} to cells of {cell:g}°",
        f"{counted(described.user_cells, 'pair')} of user and cell, {once}",
        f"{short}, {long}",
    ]


def _table_rows(row_counts: dict[str, int]) -> PlainTable:
    return plain_table({"table": False, "rows": True}, _counted(row_counts))


def _counted(counts: dict[str, int]) -> list[list[str]]:
    return [[name, f"{count:,}"] for name, count in counts.items()]


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{share:.1%}"
