"""What is asked of a replay: what is unknown or not in the trace is refused without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn, cast, get_args

from meshwright.errors import OperatorError
from meshwright.model import schema
from meshwright.pipeline.parameters import PlacementName, ReplayParameters
from meshwright.pipeline.traces import check_trace, table_folder, table_names
from meshwright.planning.recommendation import CANDIDATES
from meshwright.planning.succession import FOLLOWING


def refuse_impossible(trace: Path, parameters: ReplayParameters) -> None:
    """Say what can be said of a wish from a trace's tables and their footers alone."""
    names = table_names(trace)
    chosen_designs(parameters)
    is_by_place = is_located(names, parameters)
    table_folder(trace, schema.POSITIONS if is_by_place else schema.SUBSCRIPTIONS)
    for placement in parameters.placement.methods or ():
        if not is_tabled(placement, names):
            raise_impossible(trace, placement)
    check_trace(trace)


def chosen_designs(parameters: ReplayParameters) -> tuple[str, ...]:
    """The designs of a replay in one order."""
    wanted = parameters.overlay.designs or CANDIDATES
    _refuse_unknown(wanted, FOLLOWING, "design")
    return tuple(name for name in FOLLOWING if name in wanted)


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


def raise_impossible(trace: Path, placement: PlacementName) -> NoReturn:
    """Say what a placement needs."""
    needed = "connections" if placement == "recorded" else "positions and placed brokers"
    raise OperatorError(
        f"{trace}: placement {placement!r} needs {needed}, which this trace has not; leave it out."
    )


def wanted_designs(names: str | None) -> tuple[str, ...] | None:
    """The designs of a list with commas; None for every candidate."""
    return None if names is None else _listed(names, FOLLOWING, "design")


def wanted_placements(names: str | None) -> tuple[PlacementName, ...] | None:
    """The placements of a list with commas; None for all that a trace allows."""
    known = get_args(PlacementName)
    return None if names is None else cast("Any", _listed(names, known, "placement"))


def _listed(names: str, known: Sequence[str], kind: str) -> tuple[str, ...]:
    wanted = tuple(name.strip() for name in names.split(","))
    _refuse_unknown(wanted, known, kind)
    return wanted


def _refuse_unknown(wanted: Sequence[str], known: Sequence[str], kind: str) -> None:
    for name in wanted:
        if name not in known:
            raise OperatorError(f"There is no {kind} {name!r}; choose from {', '.join(known)}.")
