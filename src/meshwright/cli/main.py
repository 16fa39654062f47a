"""The command `meshwright`: its groups, its version, and how it speaks of bad input.

Exit codes: 0 all is well, 1 the check says no, 2 bad input, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from meshwright import __version__
from meshwright.cli.brokers import broker, importing, manager, operating, passwd, up
from meshwright.cli.experiments import check, demo, lab, simulate, swarm, sweep, torture
from meshwright.cli.overlays import overlay, workload
from meshwright.cli.traces import compare, pipeline, plan, trace
from meshwright.errors import MeshwrightError

BAD_INPUT = 2
# How the library that checks options begins what it says of a choice that there is not.
CHECKER_SAYS = "Value error, "


class OneSentenceGroup(TyperGroup):
    """Turns an error raised on purpose into one sentence and exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(CHECKER_SAYS)  # it says nothing to a person
            raise
        except MeshwrightError as error:
            typer.echo(f"error: {_ended(str(error))}", err=True)
        except OSError as error:
            if error.filename is None:  # nobody reads our answer any more, or a bug of ours
                raise
            reason = (error.strerror or str(error)).lower()
            typer.echo(f"error: {error.filename}: {reason}; check the name and rights.", err=True)
        except ImportError as error:
            from meshwright.cli.console.spark import told_stale_pyspark

            if (told := told_stale_pyspark(error)) is None:
                raise
            typer.echo(f"error: {told}", err=True)
        except MemoryError:
            typer.echo("error: This machine has too little memory; ask for less.", err=True)
        raise typer.Exit(BAD_INPUT)


app = typer.Typer(
    name="meshwright",
    cls=OneSentenceGroup,
    no_args_is_help=True,
    # Plain help fits any window, and does not take what stands in brackets for its own marks.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(workload.app, name="workload")
app.add_typer(overlay.app, name="overlay")
app.add_typer(trace.app, name="trace")
app.add_typer(plan.app, name="plan")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(importing.app, name="import")
app.add_typer(lab.app, name="lab")
app.command("up")(up.up)
app.command("broker")(broker.broker)
app.command("manager")(manager.manager)
app.command("status")(operating.status)
app.command("clients")(operating.clients)
app.command("subscriptions")(operating.subscriptions)
app.command("topics")(operating.topics)
app.command("down")(operating.down)
app.command("drain")(operating.drain)
app.command("forget")(operating.forget)
app.command("passwd")(passwd.passwd)
app.command("compare")(compare.compare)
app.command("demo")(demo.demo)
app.command("simulate")(simulate.simulate)
app.command("swarm")(swarm.swarm)
app.command("sweep")(sweep.sweep)
app.command("check")(check.check)
app.command("torture")(torture.torture)


def run() -> None:
    """Entry point of the installed command."""
    try:
        app(prog_name="meshwright")
    except KeyboardInterrupt:  # before the command itself has begun, which takes a moment
        raise SystemExit(demo.STOPPED) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"meshwright {__version__}")
        raise typer.Exit


@app.callback()
def meshwright(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """An MQTT broker network that redraws itself: run it, plan it, simulate it, compare designs.

    Begin with: meshwright demo
    """


def _ended(sentence: str) -> str:
    """A sentence with one sign at its end."""
    is_ended = sentence.endswith(("?", "..."))
    return sentence if is_ended else f"{sentence.rstrip('.')}."
