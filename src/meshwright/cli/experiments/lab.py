"""meshwright lab: the papers' experiments and our own; run them on Spark, and report."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import Conf, Json, Master, Memory, Remote, Ui
from meshwright.cli.console.screen import answer, plain_table
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable

    from meshwright.cli.console.spark import SparkChoice
    from meshwright.lab.experiments.experiment import Scale
    from meshwright.lab.experiments.findings import Finding
    from meshwright.lab.experiments.results import Again
    from meshwright.lab.experiments.running import Order

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="The papers' experiments: claims beside what we measure.",
)
# Where no bar is shown, as in a log, a line now and then says how far a run is.
NOTE_EVERY_S = 60.0
SCALE_HELP = "small: all in minutes; paper: the papers' own sizes; 10x: ten times those."


@app.command("list")
def list_experiments(*, as_json: Json = False) -> None:
    """List every experiment, with what it costs at each scale.

    Example: meshwright lab list
    """
    from meshwright.lab.experiments.catalogue import all_experiments
    from meshwright.lab.experiments.experiment import SCALES
    from meshwright.lab.experiments.running import Order

    known = list(all_experiments().values())
    costs = [
        {
            name: Order(
                one, name, sweep.seeds, ("a trace",) if one.needs_trace else ()
            ).core_minutes()
            for name, sweep in one.scales.items()
        }
        for one in known
    ]
    answer(
        as_json,
        {
            "command": "lab list",
            "experiments": [
                {
                    "experiment": one.name, "paper": one.paper, "title": one.title,
                    "shows": one.shows, "claims": len(one.claims), "core_minutes": cost,
                }
                for one, cost in zip(known, costs, strict=True)
            ],
        },
        plain_table(
            {"experiment": False} | dict.fromkeys(SCALES, True),
            [
                [one.name]
                + [f"{cost[name]:,.1f}" if name in cost else "-" for name in SCALES]
                for one, cost in zip(known, costs, strict=True)
            ],
        ),
        "Costs are core-minutes; of experiments on traces, for each trace.\n",
        *(f"{one.name}: {one.title} ({one.shows})." for one in known),
        "\nRun some with: meshwright lab run NAME... --out results",
    )  # fmt: skip


@app.command()
def run(
    *,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...", show_default=False, help="Experiments, papers' names, or all."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where results are kept.")],
    scale: Annotated[str, typer.Option("--scale", metavar="SCALE", help=SCALE_HELP)] = "small",
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, show_default="each experiment's own", help="How many."),
    ] = None,
    traces: Annotated[
        list[Path] | None,
        typer.Option(
            "--trace",
            metavar="FOLDER",
            show_default="(none)",
            help="A trace, for the experiments that are about one; may be given repeatedly.",
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="NAME=A,B,...",
            show_default="each experiment's own",
            help="A parameter and the values to sweep, in place of its own; see report.html for "
            "those that there are. May be given repeatedly.",
        ),
    ] = None,
    anew: Annotated[bool, typer.Option("--anew", help="Measure again what is there, too.")] = False,
    renew: Annotated[
        bool,
        typer.Option(
            "--renew", help="Measure again what other code, or with other parameters, measured."
        ),
    ] = False,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Run experiments on Spark; what was run before is not run again. Then write the report.

    Example: meshwright lab run ktco shg --scale small --out results
    """
    from meshwright.cli.console.spark import chosen_spark
    from meshwright.cli.experiments.sweep import grid_values
    from meshwright.lab.experiments.catalogue import chosen_experiments
    from meshwright.lab.experiments.findings import document, findings
    from meshwright.lab.experiments.report import report_lines
    from meshwright.lab.experiments.running import ordered

    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    changes = grid_values(grid or [])
    orders = ordered(chosen_experiments(names), _scale(scale), seeds, traces or (), changes)
    _run_all(orders, out, spark, "all" if anew else "outdated" if renew else "nothing")
    found = findings(out)
    page = _write_report(found, out)
    shown = [order.experiment.name for order in orders]
    own = [one for one in found if one.experiment.name in shown]
    answer(
        as_json,
        {"command": "lab run", "report": str(page), **document(own)},
        *report_lines(own),
        f"Report: {page}",
    )


@app.command()
def report(
    *,
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLDER...", show_default=False,
            help="Where results are kept; the report is written into the first.",
        ),
    ],
    docs: Annotated[
        Path | None,
        typer.Option(
            "--docs", metavar="FOLDER", show_default="(none)",
            help="Also write figures and numbers into the papers' pages in this folder.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Judge the claims by the results that are there, and write report.html and report.json.

    Of an experiment that was run at several scales, each claim is told by the largest that can.

    Example: meshwright lab report results
    """
    from meshwright.lab.experiments.findings import document, findings
    from meshwright.lab.experiments.report import report_lines, update_papers

    found = findings(*folders)
    page = _write_report(found, folders[0])
    pages = [] if docs is None else update_papers(found, docs)
    answer(
        as_json,
        {
            "command": "lab report",
            "report": str(page),
            "pages": [str(path) for path in pages],
            **document(found),
        },
        *report_lines(found),
        f"Report: {page}" + (f"; {counted(len(pages), 'file')} in {docs}" if pages else ""),
    )


def _scale(name: str) -> Scale:
    from meshwright.errors import OperatorError
    from meshwright.lab.experiments.experiment import SCALES

    for scale in SCALES:
        if scale == name:
            return scale
    raise OperatorError(f"There is no scale {name!r}; choose one of {', '.join(SCALES)}.")


def _tell_cost(orders: list[Order], done: list[int]) -> None:
    """What a run costs stands on the screen before it begins."""
    tasks = sum(len(order.tasks) for order in orders)
    minutes = sum(order.core_minutes(count) for order, count in zip(orders, done, strict=True))
    told = f", {sum(done):,} done already" if any(done) else ""
    typer.echo(
        f"{counted(len(orders), 'experiment')}, {counted(tasks, 'task')}{told}: about "
        f"{minutes:,.1f} core-minutes.",
        err=True,
    )


def _run_all(orders: list[Order], out: Path, spark: SparkChoice, again: Again) -> None:
    from meshwright.cli.console.spark import spark_work
    from meshwright.files.writing import make_folder, refuse_folder
    from meshwright.lab.experiments.running import run, standing

    refuse_folder(out)
    # What cannot be is said before Spark starts.
    done = [standing(order, out, again=again) for order in orders]
    _tell_cost(orders, done)
    make_folder(out)
    asked_at = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    try:
        with spark_work("Experiments", spark, only_in=out) as work:
            tell = _Progress(orders, done, work.say).tell
            run(work.session, orders, out, asked_at=asked_at, again=again, tell=tell)
    except KeyboardInterrupt:
        same = "the same command without --anew" if again == "all" else "the same command"
        typer.echo(f"Stopped; {same} goes on where it was.", err=True)
        raise


class _Progress:
    """How far each experiment is, and the minutes left, by what tasks took of what was expected."""

    def __init__(self, orders: list[Order], done: list[int], say: Callable[[str], None]) -> None:
        self._left = {
            order.experiment.name: order.core_minutes(count)
            for order, count in zip(orders, done, strict=True)
        }
        self._say = say
        self._first_left = sum(self._left.values())
        self._began_s = self._noted_s = time.monotonic()

    def tell(self, order: Order, done: int) -> None:
        name = order.experiment.name
        self._left[name] = order.core_minutes(done)
        left = sum(self._left.values())
        now_s = time.monotonic()
        spent, minutes = self._first_left - left, (now_s - self._began_s) / 60
        ahead = f", about {left * minutes / spent:.0f} min left in all" if spent > 0 else ""
        self._say(f"{name}: {done} of {counted(len(order.tasks), 'task')}{ahead}")
        is_over = done == len(order.tasks)
        if is_over or (not sys.stderr.isatty() and now_s - self._noted_s > NOTE_EVERY_S):
            self._noted_s = now_s
            typer.echo(
                f"{name}: {done} of {counted(len(order.tasks), 'task')} done{ahead}", err=True
            )


def _write_report(found: list[Finding], out: Path) -> Path:
    import msgspec

    from meshwright.files.writing import write_whole
    from meshwright.lab.experiments.findings import document
    from meshwright.lab.experiments.report import report_page

    page = out / "report.html"
    encoded = msgspec.json.format(msgspec.json.encode(document(found)), indent=2)
    write_whole({page: report_page(found), out / "report.json": encoded})
    return page
