"""meshwright demo: one workload, every design, one table and one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from meshwright.cli.metrics_table import EXPLANATION, comparison_document, comparison_table
from meshwright.cli.options import Json, Seed
from meshwright.cli.screen import answer, tracked, working


def demo(
    *,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="Folder for all files of the demonstration."),
    ] = Path("demo"),
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Plan one generated network with every design, compare them, draw before and after.

    Example: meshwright demo --out demo
    """
    from meshwright.files.writing import make_folder
    from meshwright.lab.demo import WISH, demo_snapshot, plan_demo, write_demo
    from meshwright.planning.recommendation import CANDIDATES, judge

    make_folder(out)
    snapshot = demo_snapshot(seed)
    rows = list(tracked(plan_demo(snapshot, seed), len(CANDIDATES), "Planning with every design"))
    found = judge([row.candidate for row in rows], snapshot, WISH)
    with working("Drawing before and after"):
        files = write_demo(snapshot, rows, out, seed)
    answer(
        as_json,
        {
            "command": "demo",
            "seed": seed,
            "k": WISH.k,
            **comparison_document(rows, found),
            "files": {kind: str(path) for kind, path in files.items()},
        },
        f"{len(snapshot.brokers)} brokers want {len(snapshot.topics)} topics, "
        f"{snapshot.publications.sum():,.0f} publications; wanted: k = {WISH.k}",
        comparison_table(rows),
        EXPLANATION,
        "",
        found.reason,
        "",
        f"before and after:  {files['bitmap']} (and .svg)",
        f"every overlay:     {files['overlays']}",
        f"the network:       {files['interests']}, {files['rates']}",
        "",
        "Next, with your own interests.csv and rates.csv in place of these:",
        f"  meshwright overlay compare --interests {files['interests']} --rates {files['rates']}",
        "  meshwright overlay arrange --geometry chord --method best "
        f"--interests {files['interests']} --rates {files['rates']} --out plan.json",
        f"  meshwright overlay draw --overlay {files['overlays'] / 'best.json'} --out best.svg",
    )
