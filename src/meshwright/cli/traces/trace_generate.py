"""meshwright trace generate: the paper's two models, with everything about them to choose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import typer

from meshwright.cli.console.options import (
    Conf,
    Json,
    Master,
    Memory,
    Remote,
    Seed,
    TraceOut,
    Ui,
    finite,
)
from meshwright.cli.console.screen import answer, plain_table
from meshwright.cli.console.spark import SHORT_WORK_ROWS_MAX, chosen_spark, spark_work
from meshwright.pipeline.generators.parameters import LocationParameters, PoissonParameters
from meshwright.pipeline.places.place import place_of

Model = Literal["poisson", "location"]
MODELS: dict[Model, type[PoissonParameters | LocationParameters]] = {
    "poisson": PoissonParameters,
    "location": LocationParameters,
}
OF_THE_COMMAND = {"model", "out_place", "master", "remote", "conf", "memory", "ui", "as_json"}


def _count(name: str, words: str, least: int = 1) -> Any:
    return typer.Option(name, min=least, show_default=_own(name), help=words)


def _amount(name: str, words: str, least: float | None = 0.0, most: float | None = None) -> Any:
    return typer.Option(
        name, min=least, max=most, callback=_finite_or_none, show_default=_own(name), help=words
    )


def _own(option: str) -> str:
    """What the models take where an option is not given."""
    name = option.removeprefix("--").replace("-", "_")
    defaults = {
        model: field.default
        for model, kind in MODELS.items()
        for field in msgspec.structs.fields(kind)
        if field.name == name
    }
    if len(set(defaults.values())) == 1:
        return str(next(iter(defaults.values())))
    return ", ".join(f"{model} {value}" for model, value in defaults.items())


def _finite_or_none(value: float | None) -> float | None:
    return None if value is None else finite(value)


Count = int | None
Amount = float | None


def generate(
    *,
    model: Annotated[Model, typer.Option("--model", help="Topics that change, or places.")],
    out_place: TraceOut,
    users: Annotated[Count, _count("--users", "Number of users.")] = None,
    begin: Annotated[
        str | None,
        typer.Option("--begin", metavar="TIME", show_default=_own("--begin"), help="First moment."),
    ] = None,
    publications_per_hour: Annotated[
        Amount, _amount("--publications-per-hour", "Publications of a topic, on average.")
    ] = None,
    publish_by: Annotated[
        Literal["equal", "popularity"] | None,
        typer.Option(
            "--publish-by",
            show_default=_own("--publish-by"),
            help="All topics alike, or by popularity.",
        ),
    ] = None,
    payload_bytes: Annotated[Count, _count("--payload-bytes", "Bytes of a publication.", 0)] = None,
    brokers: Annotated[Count, _count("--brokers", "poisson: number of brokers.")] = None,
    topics: Annotated[Count, _count("--topics", "poisson: number of topics.", 2)] = None,
    topics_per_user: Annotated[
        Count, _count("--topics-per-user", "poisson: topics that a user wants at a time.")
    ] = None,
    hours: Annotated[Amount, _amount("--hours", "poisson: length of the trace.")] = None,
    changes_per_hour: Annotated[
        Amount, _amount("--changes-per-hour", "poisson: changes of each user.")
    ] = None,
    pattern: Annotated[
        Literal["uniform", "zipf", "multimodal"] | None,
        typer.Option(
            "--pattern", show_default=_own("--pattern"), help="poisson: which topics users want."
        ),
    ] = None,
    zipf_exponent: Annotated[
        Amount, _amount("--zipf-exponent", "zipf: how unequal the topics are.")
    ] = None,
    modes: Annotated[Count, _count("--modes", "multimodal: groups of topics.", 2)] = None,
    leaving_share: Annotated[
        Amount, _amount("--leaving-share", "multimodal: changes to another mode.", 0.0, 1.0)
    ] = None,
    delay_ms: Annotated[Amount, _amount("--delay-ms", "poisson: between any brokers.")] = None,
    rows: Annotated[Count, _count("--rows", "location: cells from south to north.")] = None,
    columns: Annotated[Count, _count("--columns", "location: cells from west to east.")] = None,
    cell_degrees: Annotated[
        Amount, _amount("--cell-degrees", "location: side of a cell.", 0.001, 90.0)
    ] = None,
    south: Annotated[Amount, _amount("--south", "location: southern end.", -90.0, 90.0)] = None,
    west: Annotated[Amount, _amount("--west", "location: western end.", -180.0, 180.0)] = None,
    days: Annotated[Amount, _amount("--days", "location: length of the trace.")] = None,
    visits_per_user: Annotated[
        Amount, _amount("--visits-per-user", "location: visits, on average.", 1.0)
    ] = None,
    checkins_per_visit: Annotated[
        Amount, _amount("--checkins-per-visit", "location: check-ins, on average.", 1.0)
    ] = None,
    population_exponent: Annotated[
        Amount, _amount("--population-exponent", "location: how unequal the cells are.")
    ] = None,
    explore_share: Annotated[
        Amount, _amount("--explore-share", "location: moves to a new cell.", 0.0, 1.0)
    ] = None,
    explore_decay: Annotated[
        Amount, _amount("--explore-decay", "location: how this falls with cells known.")
    ] = None,
    jump_exponent: Annotated[
        Amount, _amount("--jump-exponent", "location: how rare far new cells are.", 0.01)
    ] = None,
    short_share: Annotated[
        Amount, _amount("--short-share", "location: stays of hours.", 0.0, 1.0)
    ] = None,
    short_median_hours: Annotated[
        Amount, _amount("--short-median-hours", "location: median of these.", 0.001)
    ] = None,
    short_sigma: Annotated[
        Amount, _amount("--short-sigma", "location: spread of their logarithm.")
    ] = None,
    middle_share: Annotated[
        Amount, _amount("--middle-share", "location: stays of days.", 0.0, 1.0)
    ] = None,
    middle_days_max: Annotated[
        Amount, _amount("--middle-days-max", "location: longest of these.", 1.0)
    ] = None,
    long_exponent: Annotated[
        Amount, _amount("--long-exponent", "location: how rare longer ones are.", 0.01)
    ] = None,
    long_days_max: Annotated[
        Amount, _amount("--long-days-max", "location: longest stay of all.", 1.0)
    ] = None,
    friends: Annotated[
        Count, _count("--friends", "location: others that each user follows.", 0)
    ] = None,
    venues_per_cell: Annotated[
        Count, _count("--venues-per-cell", "location: venues of a cell.")
    ] = None,
    rtt_shape: Annotated[
        Amount, _amount("--rtt-shape", "location: how little round trips vary.", 0.01)
    ] = None,
    rtt_least_ms: Annotated[
        Amount, _amount("--rtt-least-ms", "location: mean round trip without distance.")
    ] = None,
    rtt_ms_per_km: Annotated[
        Amount, _amount("--rtt-ms-per-km", "location: what distance adds to it.")
    ] = None,
    seed: Seed = 0,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    memory: Memory = None,
    ui: Ui = False,
    as_json: Json = False,
) -> None:
    """Make a trace of the paper's Poisson model or of its location model, at any scale.

    Example: meshwright trace generate --model poisson --pattern multimodal --users 50000 --out city
    """
    parameters = chosen_parameters(model, dict(locals()))
    from meshwright.pipeline.tables.traces import refuse_no_trace

    spark = chosen_spark(master, remote, conf, memory, ui=ui)
    out = place_of(out_place)
    if isinstance(out, Path):
        refuse_no_trace(out)
    is_short = parameters.expected_rows() <= SHORT_WORK_ROWS_MAX
    with spark_work("Generating", spark, is_short=is_short) as work:
        from meshwright.pipeline.generators.trace_generation import generate_trace

        counts = generate_trace(work.session, parameters, out)
    answer(
        as_json,
        {
            "command": "trace generate",
            "seed": seed,
            "model": model,
            "parameters": parameters,
            "trace": str(out),
            "tables": counts,
            "seconds": round(work.seconds, 3),
        },
        plain_table(
            {"table": False, "rows": True},
            [[name, f"{count:,}"] for name, count in counts.items()],
        ),
        f"{out}: {work.told(sum(counts.values()))}",
    )


def chosen_parameters(
    model: Model, options: dict[str, Any]
) -> PoissonParameters | LocationParameters:
    """The model's parameters; an option that only the other model has is refused."""
    from meshwright.errors import OperatorError

    kind = MODELS[model]
    chosen = {
        name: value
        for name, value in options.items()
        if value is not None and name not in OF_THE_COMMAND
    }
    for name in chosen:
        if name not in kind.__struct_fields__:
            option = "--" + name.replace("_", "-")
            raise OperatorError(f"The model {model} has no {option}; leave it out.")
    parameters: PoissonParameters | LocationParameters = kind(**chosen)
    parameters.refuse_impossible()
    return parameters
