"""meshwright trace compact: fewer and larger files of telemetry, and none that is too old."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.console.options import Json
from meshwright.cli.console.screen import answer
from meshwright.cli.console.times import duration_s
from meshwright.model.wording import counted


def compact(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Telemetry of brokers.")],
    *,
    older_than: Annotated[
        str, typer.Option("--older-than", metavar="TIME", help="Files younger than this stay.")
    ] = "10min",
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep", metavar="TIME", show_default="all", help="Delete files that are older."
        ),
    ] = None,
    bytes_max: Annotated[
        int,
        typer.Option(
            "--bytes-max", min=0, help="Delete the oldest files beyond so many bytes; 0: none."
        ),
    ] = 0,
    as_json: Json = False,
) -> None:
    """Put many small files of telemetry together, and delete those that are not to be kept.

    Rows are neither lost nor doubled, for whoever reads at the same time either. Brokers and
    managers do it by themselves: telemetry.trace_apart_s, windows.apart_s.

    Example: meshwright trace compact telemetry --older-than 1h --keep 7d
    """
    from meshwright.errors import OperatorError
    from meshwright.files.trace_files import Retention, alone_with, retire, trace_files
    from meshwright.files.trace_files import compact as compacted
    from meshwright.pipeline.tables.traces import check_trace

    check_trace(trace, is_growing=True)
    with alone_with(trace) as is_alone:
        if not is_alone:
            raise OperatorError(f"{trace}: somebody reads this trace now; try again later.")
    now_ns = time.time_ns()
    age_ns = round(duration_s(older_than) * 1e9)
    retention = Retention(0.0 if keep is None else duration_s(keep), bytes_max)
    gone = retire(trace, retention, now_ns)
    done = compacted(trace, before_ns=now_ns - age_ns)
    left = trace_files(trace)
    put_together = sum(len(one.parts) for one in done)
    answer(
        as_json,
        {
            "command": "trace compact",
            "trace": str(trace),
            "put_together": put_together,
            "into": len(done),
            "deleted": len(gone),
            "files": len(left),
            "bytes": sum(one.bytes for one in left),
        },
        f"{trace}: {counted(put_together, 'file')} put together into {len(done):,}, "
        f"{len(gone):,} deleted; {counted(len(left), 'file')} of telemetry left, "
        f"{counted(sum(one.bytes for one in left), 'byte')}",
    )
