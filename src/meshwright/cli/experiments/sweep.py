"""meshwright sweep: any function over a grid of parameters and seeds, on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meshwright.cli.console.options import Conf, Json, Master, Memory, Remote, Ui
from meshwright.cli.console.screen import answer, plain_table
from meshwright.cli.experiments.simulate import seed_range

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

ROWS_SHOWN_MAX = 20


def sweep(
    *,
    function: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION",
            show_default=False,
            help="What to call, with the parameters and seed by name; it returns a mapping of "
            "results, or one result.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The table: .parquet or .csv.")
    ],
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="NAME=A,B,...",
            show_default="no parameters",
            help="A parameter and its values, JSON or else text; give it once for each.",
        ),
    ] = None,
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="A..B", help="Seeds, first and last included.")
    ] = "0..0",
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Call a function for every combination of parameters and seeds, and keep what it returns.

    Example: meshwright sweep mymodule:measure --grid brokers=10,20 --grid design=gm,best
    --seeds 0..9 --out results.csv
    """
    from meshwright.cli.console.spark import chosen_spark, spark_work
    from meshwright.files.result_tables import table_writer
    from meshwright.pipeline.spark.shipping import ship_module
    from meshwright.pipeline.sweep import TaskGrid, results_table
    from meshwright.pipeline.sweep import sweep as swept

    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    write = table_writer(out)
    called = imported_function(function)
    tasks = TaskGrid(grid_values(grid or []), seed_range(seeds))
    _refuse_misfit(function, called, list(tasks.values))
    # Java only hands out tasks here.
    with spark_work(f"Calling {function}", spark, is_short=True) as work:
        ship_module(work.session, called.__module__)
        table = results_table(swept(work.session, called, tasks))
    write(table)
    answer(
        as_json,
        {
            "command": "sweep",
            "function": function,
            "tasks": len(tasks),
            "columns": table.column_names,
            "table": str(out),
        },
        _first_rows(table),
        f"{out}: {work.told(table.num_rows)}",
    )


def grid_values(settings: list[str]) -> dict[str, list[Any]]:
    """The values of NAME=A,B,...: numbers, true, false and null as in JSON, else text."""
    from meshwright.errors import OperatorError

    grid: dict[str, list[Any]] = {}
    for setting in settings:
        name, equals, values = setting.partition("=")
        if not equals or not name.isidentifier() or not values:
            raise OperatorError(f"--grid {setting!r} names no values; write NAME=A,B,...")
        if name in grid or name == "seed":
            advice = "seeds are given by --seeds" if name == "seed" else "give all values at once"
            raise OperatorError(f"--grid {setting!r} sets {name!r} again; {advice}.")
        grid[name] = [_value(text.strip()) for text in values.split(",")]
    return grid


def imported_function(name: str) -> Callable[..., Any]:
    """The function that module:function names; modules of the current folder count."""
    import importlib
    import sys

    from meshwright.errors import OperatorError

    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise OperatorError(f"{name!r} names no function; write MODULE:FUNCTION.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:
        raise OperatorError(
            f"{name!r} cannot be imported ({error}); check the name, and that the module is in "
            "this folder or installed."
        ) from error
    if not callable(found):
        raise OperatorError(f"{name!r} is no function but a {type(found).__name__}; name one.")
    function: Callable[..., Any] = found
    return function


def _refuse_misfit(name: str, called: Callable[..., Any], parameters: list[str]) -> None:
    """Say before anything starts that a function does not take what is swept."""
    import inspect

    from meshwright.errors import OperatorError

    try:
        signature = inspect.signature(called)
    except ValueError:
        return  # a function of C's does not say what it takes
    try:
        signature.bind(**dict.fromkeys([*parameters, "seed"]))
    except TypeError as error:
        raise OperatorError(
            f"{name!r} does not take these parameters and a seed ({error}); name its own in --grid."
        ) from None


def _value(text: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _first_rows(table: pa.Table) -> Any:
    rows = table.slice(0, ROWS_SHOWN_MAX).to_pylist()
    numeric = {name: bool(rows) and _is_number(rows[0][name]) for name in table.column_names}
    return plain_table(numeric, [[_shown(value) for value in row.values()] for row in rows])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
