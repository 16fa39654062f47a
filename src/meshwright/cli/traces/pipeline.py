"""meshwright pipeline: what runs for long on Spark."""

from __future__ import annotations

import typer

from meshwright.cli.traces.pipeline_run import run
from meshwright.cli.traces.pipeline_watch import watch

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Replay a trace, or plan from telemetry as it comes.",
)
app.command("run")(run)
app.command("watch")(watch)


@app.callback()
def pipeline() -> None:
    """Replay a trace, or plan from telemetry as it comes."""
