"""meshwright demo: live brokers, real clients, their telemetry against every design; one screen."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import (
    ALL_DESIGNS,
    DesignNames,
    Json,
    OwnK,
    OwnMaster,
    Remote,
    Seed,
    finite,
    known_design,
)
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer, task_bar, working
from meshwright.cli.console.spark import opened_session, session_work
from meshwright.cli.experiments.check import sentences
from meshwright.model.designs import DEFAULT_DESIGN, PlacementRule, chosen_designs

# What a shell says of a command that was stopped by Ctrl-C.
STOPPED = 130

if TYPE_CHECKING:
    from meshwright.lab.demo import DemoFolder, DemoParameters, Lived
    from meshwright.lab.scripted import Script
    from meshwright.pipeline.session import Session


def demo(
    *,
    brokers: Annotated[
        int, typer.Option("--brokers", "-n", min=2, max=64, help="Live brokers, a process each.")
    ] = 8,
    clients: Annotated[
        int, typer.Option("--clients", min=8, max=5_000, help="MQTT clients on real sockets.")
    ] = 300,
    design: Annotated[
        str,
        typer.Option(
            "--design",
            metavar="DESIGN",
            callback=known_design,
            help=f"How the live brokers are joined: {ALL_DESIGNS}.",
        ),
    ] = DEFAULT_DESIGN,
    k: OwnK = None,
    placement: Annotated[
        PlacementRule | None,
        typer.Option(
            "--placement",
            show_default="the design's",
            help="Whether clients are sent to where others are alike.",
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=2.0, max=3_600.0, callback=finite, help="Live traffic."),
    ] = 40.0,
    days: Annotated[
        float,
        typer.Option(
            "--days", min=0.1, max=92.0, callback=finite, help="Of the trace, in these seconds."
        ),
    ] = 1.0,
    rate: Annotated[
        float,
        typer.Option(
            "--rate", min=0.1, max=10_000.0, callback=finite, help="Publications a second, in all."
        ),
    ] = 40.0,
    designs: DesignNames = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Folder for everything it makes.")
    ] = Path("demo"),
    seed: Seed = 1,
    master: OwnMaster = None,
    remote: Remote = None,
    as_json: Json = False,
) -> None:
    """Run live brokers and hundreds of clients, judge what they saw, compare every design.

    Clients follow a generated location trace; the brokers' telemetry is replayed on Spark. Exit
    code 0 only if nothing acknowledged was lost, doubled or reordered. Spark runs on this machine,
    whatever the environment says of another, unless --master or --remote say where.

    Example: meshwright demo --brokers 8 --clients 300 --design hypercube --seconds 20
    """
    import signal

    from meshwright.cli.experiments.demo_screen import demo_document, demo_shown
    from meshwright.cli.traces.replay_answer import write_report
    from meshwright.lab.compiling import compiling_kernels
    from meshwright.lab.demo import DemoFolder, DemoParameters, replay_telemetry
    from meshwright.pipeline.environment import forget_foreign_spark
    from meshwright.pipeline.findings import compared
    from meshwright.pipeline.wishes import wanted_designs

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if master is None and remote is None:
        forget_foreign_spark()
    parameters = DemoParameters(
        brokers=brokers, clients=clients, design=design, k=k,
        placement=placement or "design",
        seconds=seconds, days=days,
        publications_per_second=rate, designs=wanted_designs(designs), seed=seed,
    )  # fmt: skip
    folder = DemoFolder(out)
    parameters.overlay(), parameters.location()
    folder.prepare()
    began_s = time.monotonic()
    with (
        _told_when_stopped(folder),
        compiling_kernels(chosen_designs(parameters.designs)) as compiled,
        opened_session(master=master, remote=remote, is_short=True) as session,
    ):
        script = _script(session, parameters, folder)
        lived = _lived(script, parameters, folder)
        with (
            _stage("Compiled what planning needs"),
            task_bar("Compiling what planning needs") as bar,
        ):
            compiled(bar.count)
        with (
            _stage("Compared every design on the brokers' telemetry"),
            session_work(session, "Comparing every design on the brokers' telemetry"),
        ):
            replay = replay_telemetry(session, parameters, folder)
            candidates, recommendation = compared(replay)
            files = write_report(
                replay, folder.telemetry, candidates, recommendation, folder.findings
            )
    elapsed_s = time.monotonic() - began_s
    document = demo_document(parameters, lived, candidates, recommendation, elapsed_s)
    answer(
        as_json,
        {**document, "files": {kind: str(path) for kind, path in files.items()}},
        *demo_shown(parameters, lived, candidates, recommendation),
        *sentences(lived.violations),
        f"Report: {files['report']}; what clients saw: {folder.history}; {elapsed_s:.0f} s in all",
    )
    if lived.violations:
        raise typer.Exit(CHECK_SAYS_NO)


def _script(session: Session, parameters: DemoParameters, folder: DemoFolder) -> Script:
    from meshwright.lab.demo import follow_trace

    with (
        _stage("Generated the trace that clients follow"),
        session_work(session, "Generating the trace that clients follow"),
    ):
        _, script = follow_trace(session, parameters, folder)
    return script


def _lived(script: Script, parameters: DemoParameters, folder: DemoFolder) -> Lived:
    from contextlib import ExitStack

    from meshwright.lab.demo import live_network, live_part

    with ExitStack() as opened:
        with _stage(f"Started {parameters.brokers} brokers"), working("Starting brokers"):
            network = opened.enter_context(live_network(parameters, folder))
        with (
            _stage(f"{len(script.homes)} clients did {len(script.deeds):,} things"),
            task_bar(f"{len(script.homes)} clients at work") as bar,
        ):
            return live_part(network, script, parameters, folder, bar.count)


@contextmanager
def _told_when_stopped(folder: DemoFolder) -> Iterator[None]:
    """Say so if the user stops it; whatever runs has ended by then."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"Stopped; what was made so far is in {folder.root}.", err=True)
        raise typer.Exit(STOPPED) from None


@contextmanager
def _stage(done: str) -> Iterator[None]:
    """Say what was done, and how long it took; for those who see no bars too."""
    began_s = time.monotonic()
    yield
    typer.echo(f"{done} ({time.monotonic() - began_s:.1f} s)", err=True)
