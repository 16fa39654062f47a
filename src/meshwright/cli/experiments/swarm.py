"""meshwright swarm: thousands of seeds on every design, each with its own trouble."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from meshwright.cli.console.options import DesignNames, Json
from meshwright.cli.console.screen import CHECK_SAYS_NO, answer, plain_table, tracked
from meshwright.cli.experiments.simulate import seed_range, told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from meshwright.lab.swarm import Outcome


def swarm(
    *,
    seeds: Annotated[
        str,
        typer.Option("--seeds", metavar="A..B", help="Seeds of each design, both ends included."),
    ] = "1..100",
    designs: DesignNames = None,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes", min=1, show_default="one for each core", help="How many run at once."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Simulate seeds that mix faults, moves and changes of overlay; exit 1 if a checker fails.

    Example: meshwright swarm --designs chord,tree --seeds 1..10
    """
    from meshwright.lab.swarm import cases, run_swarm
    from meshwright.model.designs import chosen_designs
    from meshwright.sim.runs.simulation import summed

    names = chosen_designs(designs)
    chosen = cases(names, seed_range(seeds))
    with closing(run_swarm(chosen, processes=processes or os.cpu_count() or 1)) as running:
        outcomes = list(tracked(running, len(chosen), "Simulating seeds"))
    totals, messages = summed(one.result for one in outcomes)
    failures = [failure for one in outcomes for failure in one.result.failures]
    answer(
        as_json,
        {
            "command": "swarm",
            "seeds": len(chosen),
            "totals": totals,
            "messages": messages,
            "failures": failures,
        },
        plain_table(
            {"design": False, "seeds": True, "failing": True, **dict.fromkeys(totals, True)},
            [_row(name, outcomes) for name in names],
        ),
        plain_table(dict.fromkeys(messages, True), [[f"{count:,}" for count in messages.values()]]),
        *told(failures),
    )
    if failures:
        raise typer.Exit(CHECK_SAYS_NO)


def _row(design: str, outcomes: Iterable[Outcome]) -> list[str]:
    from meshwright.sim.runs.simulation import summed

    results = [one.result for one in outcomes if one.case.design == design]
    totals, _ = summed(results)
    failing = sum(bool(result.failures) for result in results)
    return [design, *(f"{count:,}" for count in (len(results), failing, *totals.values()))]
