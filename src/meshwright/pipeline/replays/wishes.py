"""What is asked of a replay: what is unknown or not in the trace is refused without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn, get_args

from meshwright.errors import OperatorError
from meshwright.model import schema
from meshwright.model.designs import asking, compared_designs
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.replays.parameters import (
    BrokerParameters,
    InterestParameters,
    PlacementName,
    ReplayParameters,
)
from meshwright.pipeline.tables.trace_brokers import has_brokers
from meshwright.pipeline.tables.traces import check_trace, table_folder, table_names


def refuse_impossible(trace: Place, parameters: ReplayParameters) -> None:
    """Say what can be said of a wish from a trace's tables and their footers alone."""
    names = table_names(trace)
    replayed_designs(parameters)
    is_by_place = is_located(names, parameters)
    table_folder(trace, schema.POSITIONS if is_by_place else schema.SUBSCRIPTIONS)
    for placement in parameters.placement.methods or ():
        if not is_tabled(placement, names):
            raise_impossible(trace, placement)
    check_trace(trace)


def broker_count(trace: Place, wanted: int | None) -> int:
    """How many brokers to take where a trace names none; refused where it has its own."""
    if wanted is None:
        return BrokerParameters().count
    if has_brokers(trace):
        raise OperatorError(
            f"{trace}: the trace names its brokers, so that a number of them has no say; leave "
            "--brokers out."
        )
    return wanted


def replayed_designs(
    parameters: ReplayParameters, broker_count: int | None = None
) -> tuple[str, ...]:
    """The designs of a replay in one order; one that knows of cells is told how large they are."""
    cell_degrees = parameters.interests.cell_degrees
    names = compared_designs(parameters.overlay.designs, broker_count)
    if cell_degrees == InterestParameters().cell_degrees:
        return names
    return tuple(asking(name, "cell_degrees", cell_degrees) for name in names)


def is_located(names: Sequence[str], parameters: ReplayParameters) -> bool:
    """Whether interests come from where people are; names: of the trace's tables."""
    source = parameters.interests.source
    if source is not None:
        return source == "location"
    return schema.SUBSCRIPTIONS.name not in names


def is_tabled(placement: PlacementName, names: Sequence[str]) -> bool:
    """Whether a trace with tables of these names has those of a placement."""
    if placement == "recorded":
        return schema.CONNECTIONS.name in names
    return placement != "location" or schema.POSITIONS.name in names


def standing_placement(names: Sequence[str], *, knows_places: bool) -> PlacementName:
    """The placement that has clients where a plan finds them; names: of the trace's tables.

    knows_places: whether it is known where clients and brokers are.
    """
    if is_tabled("recorded", names):
        return "recorded"
    return "location" if knows_places else "static"


def raise_impossible(trace: Place, placement: PlacementName) -> NoReturn:
    """Say what a placement needs."""
    needed = "connections" if placement == "recorded" else "positions and placed brokers"
    raise OperatorError(
        f"{trace}: placement {placement!r} needs {needed}, which this trace has not; leave it out."
    )


def wanted_placements(names: str | None) -> tuple[PlacementName, ...] | None:
    """The placements of a list with commas; None for all that a trace allows."""
    if names is None:
        return None
    known: dict[str, PlacementName] = {name: name for name in get_args(PlacementName)}
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in known:
            raise OperatorError(f"There is no placement {name!r}; choose from {', '.join(known)}.")
    return tuple(known[name] for name in wanted)
