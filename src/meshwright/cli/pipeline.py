"""meshwright pipeline: what runs for long on Spark."""

from __future__ import annotations

import typer

from meshwright.cli.pipeline_watch import watch

app = typer.Typer(no_args_is_help=True, help="Plan from telemetry as it comes.")
app.command("watch")(watch)


@app.callback()
def pipeline() -> None:
    """Plan from telemetry as it comes."""
