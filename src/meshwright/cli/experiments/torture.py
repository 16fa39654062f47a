"""meshwright torture: brokers killed under load, and what their clients saw of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import ALL_DESIGNS, WITH_PARAMETERS, AllSettings, Json, Seed
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer, plain_table, working
from meshwright.cli.experiments.check import sentences
from meshwright.model.designs import DEFAULT_DESIGN, chosen_designs

if TYPE_CHECKING:
    from meshwright.cli.console.screen import PlainTable
    from meshwright.lab.torture import TortureParameters, TortureResult


def torture(
    *,
    designs: Annotated[
        str,
        typer.Option(
            "--designs",
            "--design",
            metavar="A,B,...",
            help=f"One after another, all for each: {ALL_DESIGNS}. {WITH_PARAMETERS}",
        ),
    ] = DEFAULT_DESIGN,
    brokers: Annotated[
        int, typer.Option("-n", "--brokers", min=2, max=50, help="Processes of each network.")
    ] = 5,
    clients: Annotated[
        int, typer.Option("--clients", min=2, help="All publish and subscribe.")
    ] = 12,
    duration: Annotated[
        float, typer.Option("--duration", min=0.5, metavar="SECONDS", help="Time under load.")
    ] = 10.0,
    kills: Annotated[
        int,
        typer.Option(
            "--kills", min=0, help="Strikes with SIGKILL, some at all brokers; some only stall one."
        ),
    ] = 10,
    plans: Annotated[
        int,
        typer.Option(
            "--plans", min=0, help="Changes of the overlay, each begun just before a strike."
        ),
    ] = 5,
    rate: Annotated[
        float, typer.Option("--rate", min=0.1, help="Publications of each client, a second.")
    ] = 20.0,
    config: AllSettings = None,
    seed: Seed = 0,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FOLDER", help="Disks, logs and history.jsonl of each network."
        ),
    ] = Path("torture"),
    as_json: Json = False,
) -> None:
    """Kill brokers under load and amid changes of their overlay; exit with 1 if it broke a promise.

    Promised is that nothing acknowledged is lost, doubled or reordered, that every publication is
    answered, and that brokers agree on their overlay in the end.

    Example: meshwright torture --designs chord,tree --kills 20 --duration 30
    """
    from meshwright.lab.torture import TortureParameters
    from meshwright.live.settings import read_live_settings

    if config is not None:
        read_live_settings(config)
    chosen = chosen_designs(designs)
    results = {
        design: _run(
            TortureParameters(
                design=design,
                brokers=brokers,
                clients=clients,
                duration_s=duration,
                kills=kills,
                plans=plans,
                publications_per_s=rate,
            ),
            seed,
            out / f"{design}-{seed}",
            config,
        )
        for design in chosen
    }
    found = [violation for result in results.values() for violation in result.violations]
    answer(
        as_json,
        {
            "command": "torture",
            "seed": seed,
            "designs": {name: result.counts for name, result in results.items()},
            "violations": found,
        },
        _table(results),
        *sentences(found),
        f"histories are in {out}",
    )
    if found:
        raise typer.Exit(CHECK_SAYS_NO)


def _run(
    parameters: TortureParameters, seed: int, folder: Path, config: Path | None
) -> TortureResult:
    import shutil

    from meshwright.files.histories import write_history
    from meshwright.files.writing import make_folder
    from meshwright.lab.torture import torture

    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    with working(f"Killing brokers of {parameters.design}"):
        result = torture(parameters, seed, folder, settings=config)
    write_history(result.history, folder / "history.jsonl")
    return result


def _table(results: dict[str, TortureResult]) -> PlainTable:
    names = next(iter(results.values())).counts
    return plain_table(
        {"design": False, **dict.fromkeys(names, True)},
        [
            [design, *(f"{count:,}" for count in result.counts.values())]
            for design, result in results.items()
        ],
    )
