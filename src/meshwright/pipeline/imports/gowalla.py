"""Check-ins of Gowalla: user_id,ts_utc,lat,lon,venue_id to positions [Cho et al., KDD 2011]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from meshwright.model.schema import POSITIONS
from meshwright.pipeline.imports.csv_tables import CsvTable, judged_csv
from meshwright.pipeline.imports.imported import Imported, plainly_imported
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.imports.records import csv_header

NAMES = {
    "client": "user_id",
    "time": "ts_utc",
    "latitude": "lat",
    "longitude": "lon",
    "venue": "venue_id",
}


def check_gowalla(path: Path, _parameters: ImportParameters) -> None:
    """Refuse a file with other columns."""
    csv_header(path, list(NAMES.values()))


def gowalla_table(paths: Sequence[Path], _parameters: ImportParameters) -> list[CsvTable]:
    """The one table that check-ins are."""
    return [CsvTable(paths, POSITIONS, NAMES, list(NAMES.values()))]


def imported_gowalla(
    session: SparkSession, paths: Sequence[Path], parameters: ImportParameters
) -> Imported:
    """Check-ins as positions."""
    (source,) = gowalla_table(paths, parameters)
    return plainly_imported(judged_csv(session, source), POSITIONS)
