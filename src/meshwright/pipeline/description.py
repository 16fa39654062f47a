"""A trace described: rows, users, span, and how people move in it [DYNATOPS, Fig. 5]."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.errors import OperatorError
from meshwright.model.schema import CLIENT, POSITIONS, QUARANTINE, TIME, TRACE_TABLES
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.stages.visits import cells, user_cells, visits
from meshwright.pipeline.tables.traces import read_table, row_counts

CELL_DEGREES_MAX = 360.0
HOUR_S = 3600
STAY_EDGES_H = (1, 3, 6, 12, 24, 72, 168, 336, 720, 2160)
VISITS_SHOWN_MAX = 10


@dataclass(frozen=True, slots=True)
class TraceDescription:
    """What is in a trace; a share of nothing is None."""

    row_counts: dict[str, int]
    begin: datetime | None
    end: datetime | None
    users: int
    checkins: int = 0
    visits: int = 0
    user_cells: int = 0
    once_only_share: float | None = None
    stay_under_day_share: float | None = None
    stay_over_week_share: float | None = None
    quarantined: int = 0


@dataclass(frozen=True, slots=True)
class Movement:
    """How often people come back, and how long they stay.

    visit_counts: pairs of user and cell with 1, 2, ... visits, the last with so many and more;
    stay_counts: stays of less than each of STAY_EDGES_H hours, the last of all that are longer.
    """

    visit_counts: tuple[int, ...]
    stay_counts: tuple[int, ...]


def describe_trace(session: SparkSession, trace: Place, cell_degrees: float) -> TraceDescription:
    """Count what the trace has; a cell is a square of so many degrees."""
    _refuse_cell(cell_degrees)
    counts = row_counts(trace)
    tables = {name: read_table(session, trace, TRACE_TABLES[name]) for name in counts}
    begin, end = _span(tables)
    quarantined = counts.get(QUARANTINE.name, 0)
    if POSITIONS.name not in tables:
        users = _user_count(tables)
        return TraceDescription(counts, begin, end, users, quarantined=quarantined)
    pairs = user_cells(visits(cells(tables[POSITIONS.name], cell_degrees)))
    row = pairs.agg(
        sf.count_distinct("client").alias("users"),
        sf.count(sf.lit(1)).alias("user_cells"),
        sf.count_if(sf.col("visit_count") == 1).alias("once_only"),
        *(
            sf.coalesce(sf.sum(name), sf.lit(0)).alias(name)
            for name in (
                "visit_count",
                "stay_count",
                "stay_under_day_count",
                "stay_over_week_count",
            )
        ),
    ).collect()[0]
    return TraceDescription(
        counts,
        begin,
        end,
        row["users"],
        checkins=counts[POSITIONS.name],
        visits=row["visit_count"],
        user_cells=row["user_cells"],
        once_only_share=_share(row["once_only"], row["user_cells"]),
        stay_under_day_share=_share(row["stay_under_day_count"], row["stay_count"]),
        stay_over_week_share=_share(row["stay_over_week_count"], row["stay_count"]),
        quarantined=quarantined,
    )


def movement(session: SparkSession, trace: Place, cell_degrees: float) -> Movement:
    """The two distributions that the picture of a trace shows."""
    _refuse_cell(cell_degrees)
    found = visits(cells(read_table(session, trace, POSITIONS), cell_degrees))
    visit_number = sf.least("visit_count", sf.lit(VISITS_SHOWN_MAX))
    stay_number = reduce(
        lambda above, edge: above + (sf.col("stay_s") >= edge * HOUR_S).cast("int"),
        STAY_EDGES_H,
        sf.lit(0),
    )
    return Movement(
        _histogram(user_cells(found).select((visit_number - 1).alias("bin")), VISITS_SHOWN_MAX),
        _histogram(
            found.filter("stay_s is not null").select(stay_number.alias("bin")),
            len(STAY_EDGES_H) + 1,
        ),
    )


def _histogram(bins: DataFrame, bin_count: int) -> tuple[int, ...]:
    rows = bins.groupBy("bin").agg(sf.count(sf.lit(1)).alias("row_count")).collect()
    found = {int(row["bin"]): int(row["row_count"]) for row in rows}
    return tuple(found.get(number, 0) for number in range(bin_count))


def _span(tables: dict[str, DataFrame]) -> tuple[datetime | None, datetime | None]:
    """First and last time in any table."""
    times = [frame.select(TIME.name) for frame in tables.values() if TIME.name in frame.columns]
    if not times:
        return None, None
    row = (
        reduce(DataFrame.unionByName, times).agg(sf.min(TIME.name), sf.max(TIME.name)).collect()[0]
    )
    return row[0], row[1]


def _user_count(tables: dict[str, DataFrame]) -> int:
    """Clients that any table names."""
    clients = [
        frame.select(CLIENT.name) for frame in tables.values() if CLIENT.name in frame.columns
    ]
    return reduce(DataFrame.unionByName, clients).distinct().count() if clients else 0


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _refuse_cell(cell_degrees: float) -> None:
    if not 0 < cell_degrees <= CELL_DEGREES_MAX:
        raise OperatorError(
            f"A cell cannot have {cell_degrees:g} degrees; give more than 0 and at most 360."
        )
