"""What an importer makes of its files, before anything is written."""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame

from meshwright.model.schema import Table
from meshwright.pipeline.imports.judging import Judged, usable


class Imported(NamedTuple):
    """Tables by name, and all judged rows, among them those that are refused."""

    tables: dict[str, DataFrame]
    judged: tuple[Judged, ...]

    def beside(self, other: Imported) -> Imported:
        return Imported(self.tables | other.tables, self.judged + other.judged)


def plainly_imported(found: Judged, table: Table) -> Imported:
    """Rows that are the table, but for those that are refused."""
    return Imported({table.name: usable(found, table)}, (found,))
