"""meshwright overlay tour: one workload, every design, one table and one picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.console.options import Json, Seed
from meshwright.cli.console.screen import answer, tracked, working
from meshwright.cli.overlays.metrics_table import (
    PRICE_EXPLANATION,
    comparison_document,
    comparison_table,
)
from meshwright.model.wording import counted


def tour(
    *,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder for all files of the tour."),
    ] = Path("tour"),
    pictures_only: Annotated[
        bool, typer.Option("--pictures-only", help="Write no other files than pictures.")
    ] = False,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Plan one generated network with every design, compare them, draw before and after.

    Example: meshwright overlay tour --out tour
    """
    from meshwright.files.writing import make_folder
    from meshwright.lab.tour import WISH, draw_tour, plan_tour, tour_snapshot, write_network
    from meshwright.model.designs import candidates
    from meshwright.planning.recommendation import judge

    make_folder(out)
    snapshot = tour_snapshot(seed)
    rows = list(tracked(plan_tour(snapshot, seed), len(candidates()), "Planning with every design"))
    found = judge([row.candidate for row in rows], snapshot, WISH)
    with working("Drawing before and after"):
        files = draw_tour(snapshot, rows, out, seed)
    if not pictures_only:
        files |= write_network(snapshot, rows, out)
    answer(
        as_json,
        {
            "command": "overlay tour",
            "seed": seed,
            "k": WISH.k,
            **comparison_document(rows, found, WISH.weights),
            "files": {kind: str(path) for kind, path in files.items()},
        },
        f"{counted(len(snapshot.brokers), 'broker')} and {counted(len(snapshot.topics), 'topic')}, "
        f"{snapshot.publications.sum():,.0f} publications; wanted: k = {WISH.k}",
        comparison_table(rows, found),
        PRICE_EXPLANATION,
        "",
        found.reason,
        "",
        f"Before and after: {files['bitmap']}, {files['picture']}",
        *([] if pictures_only else _next_steps(files)),
    )


def _next_steps(files: Mapping[str, Path]) -> list[str]:
    """What a newcomer does with the files."""
    network = f"--interests {files['interests']} --rates {files['rates']}"
    return [
        f"The network: {files['interests']}, {files['rates']}; its overlays: {files['overlays']}",
        "",
        "Next, with your own interests.csv and rates.csv in place of these:",
        f"  meshwright overlay compare {network}",
        f"  meshwright overlay arrange --geometry chord --method best {network} --out plan.json",
        f"  meshwright overlay draw --overlay {files['overlays'] / 'best.json'} --out best.svg",
    ]
