"""Check-ins of Gowalla: user_id,ts_utc,lat,lon,venue_id to positions [Cho et al., KDD 2011]."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from meshwright.model.schema import POSITIONS
from meshwright.pipeline.imports.csv_tables import judged_csv
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


def imported_gowalla(
    session: SparkSession, paths: Sequence[Path], _parameters: ImportParameters
) -> Imported:
    """Check-ins as positions."""
    found = judged_csv(session, paths, POSITIONS, NAMES, required=list(NAMES.values()))
    return plainly_imported(found, POSITIONS)
