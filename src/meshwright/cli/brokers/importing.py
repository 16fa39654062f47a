"""meshwright import: settings of another broker as ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Take over the settings of another broker.")


@app.callback()
def importing() -> None:
    """Take over the settings of another broker."""


@app.command("mosquitto")
def mosquitto(
    conf: Annotated[Path, typer.Argument(metavar="CONF", help="A mosquitto.conf.")],
    *,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where broker.toml and others are written.")
    ],
) -> None:
    """Write broker.toml, rules and passwords that say what Mosquitto's files do.

    Prints a line for each line that is left out, with its file, its number and the reason.

    Example: meshwright import mosquitto /etc/mosquitto/mosquitto.conf --out meshwright
    """
    from meshwright.live.mosquitto.importing import SETTINGS, import_mosquitto
    from meshwright.live.settings import read_live_settings

    imported = import_mosquitto(conf, out)
    for line in imported.kept_out:
        typer.echo(line)
    for path in imported.written:
        typer.echo(f"{path}: written")
    read_live_settings(out / SETTINGS)
    typer.echo(f"Run it: meshwright broker --config {out / SETTINGS}")
