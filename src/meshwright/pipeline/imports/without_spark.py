"""CSV files that are tables as they are, read in this process: to start Spark would cost more.

The rules are those of the import on Spark: most rows are plain and read by whole columns, single
others are judged in Python, and only rows whose likeness others have are compared in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from meshwright.model.schema import QUARANTINE, Table
from meshwright.pipeline.imports.csv_tables import CsvTable
from meshwright.pipeline.imports.likeness import likenesses
from meshwright.pipeline.imports.lines import lines_of
from meshwright.pipeline.imports.pieces import Piece, cut, runs
from meshwright.pipeline.imports.plain import PlainForm, plain_values
from meshwright.pipeline.imports.records import by_header
from meshwright.pipeline.imports.repetitions import LIKENESS, reasons_of_repetitions
from meshwright.pipeline.imports.single_rows import RowJudge, Value
from meshwright.pipeline.imports.tallies import is_among, records_of, repeated
from meshwright.pipeline.spark.environment import memory_bytes
from meshwright.pipeline.tables.frames import ARROW_TYPES, arrow_schema

# To judge so many rows one by one costs as much as Spark does to start.
OTHERS_MAX = 300_000
# What rows may take. While they are written, they may take twice as much.
ROWS_BYTES_MAX = 1 << 30
MEMORY_PARTS = 8
WHOLE_FILE = np.iinfo(np.int64).max
# The place of a row: the number of its file, and in the lower bits that of its line.
LINE_BITS = 40
PLACE = "place"
Places: TypeAlias = NDArray[np.int64]


class Refusal(NamedTuple):
    """A row that cannot be used: where it stands, why, and what it says."""

    place: int
    reason: str
    text: str


class ReadTable(NamedTuple):
    """Rows that can be used, and in the order of the files those that cannot."""

    table: Table
    rows: pa.Table
    refused: list[Refusal]
    files: Sequence[Path]

    def quarantine(self) -> pa.Table:
        """The refused rows as the table of the refused."""
        origins = [self.origin(row) for row in self.refused]
        columns = {
            "file": [file for file, _ in origins],
            "line": [line for _, line in origins],
            "reason": [row.reason for row in self.refused],
            "row": [row.text for row in self.refused],
        }
        return pa.table(columns, arrow_schema(QUARANTINE))

    def origin(self, row: Refusal) -> tuple[str, int]:
        """The file and the line of a row."""
        return str(self.files[row.place >> LINE_BITS]), row.place & ((1 << LINE_BITS) - 1)


def read_here(source: CsvTable) -> ReadTable | None:
    """All rows of some files; None where they are for Spark: strange ones, or too many."""
    reader = _Reader(source)
    if not all(reader.take(form, pieces) for form, pieces in reader.forms):
        return None
    rows = reader.without_repetitions()
    return ReadTable(source.table, rows, sorted(reader.refused), source.paths)


class _Reader:
    """Rows of one table as they are read, some megabytes of lines at a time."""

    def __init__(self, source: CsvTable) -> None:
        self._table, self._paths = source.table, source.paths
        self._names = [*source.table.column_names(), PLACE, LIKENESS]
        self._kinds = [ARROW_TYPES[column.kind] for column in source.table.columns]
        self._parts: list[pa.RecordBatch] = []
        self._judged_count = self._held_bytes = 0
        self._held_max = min(ROWS_BYTES_MAX, memory_bytes() // MEMORY_PARTS)
        self.refused: list[Refusal] = []
        self.forms: list[tuple[PlainForm, list[Piece]]] = [
            (
                PlainForm(header, source.table, source.names),
                [piece for file in files.items() for piece in cut(*file, WHOLE_FILE)],
            )
            for header, files in by_header(source.paths, source.required, source.optional).items()
        ]

    def take(self, form: PlainForm, pieces: Sequence[Piece]) -> bool:
        """Read files of one form; False: they are for Spark."""
        judge = RowJudge(form)
        for found in runs(pieces):
            records = records_of(found)
            is_plain, values = plain_values(records["text"], records["reason"], form)
            places = _places(records)
            mask = is_plain.to_numpy(zero_copy_only=False)
            self._keep(values, places[mask])
            if not mask.all():
                others = records.filter(pc.invert(is_plain))
                self._judged_count += len(others)
                if self._judged_count > OTHERS_MAX or not self._judge(others, places[~mask], judge):
                    return False
            if self._held_bytes > self._held_max:
                return False
        return True

    def _judge(self, others: pa.RecordBatch, places: Places, judge: RowJudge) -> bool:
        """Judge rows that are not plain; False: one of them is for Spark."""
        good: list[tuple[Value, ...]] = []
        good_places: list[int] = []
        texts, known = others["text"].to_pylist(), others["reason"].to_pylist()
        for place, text, reason in zip(places.tolist(), texts, known, strict=True):
            verdict = judge.verdict(text) if reason is None else reason
            if verdict is None:
                return False
            if isinstance(verdict, str):
                self.refused.append(Refusal(place, verdict, text))
            else:
                good.append(verdict)
                good_places.append(place)
        if good:
            columns = zip(*good, strict=True)
            values = [pa.array(own, kind) for own, kind in zip(columns, self._kinds, strict=True)]
            self._keep(values, np.array(good_places))
        return True

    def _keep(self, values: list[pa.Array], places: Places) -> None:
        columns = [*values, pa.array(places), pa.array(likenesses(values))]
        self._parts.append(pa.RecordBatch.from_arrays(columns, self._names))
        self._held_bytes += self._parts[-1].nbytes

    def without_repetitions(self) -> pa.Table:
        """The good rows, of which those that repeat an earlier one are refused instead."""
        schema = pa.schema(
            [*arrow_schema(self._table), (PLACE, pa.int64()), (LIKENESS, pa.int64())]
        )
        rows = pa.Table.from_batches(self._parts, schema)
        columns = list(self._table.column_names())
        alike = repeated([part[LIKENESS].to_numpy() for part in self._parts])
        if not len(alike):
            return rows.select(columns)
        suspects = rows.filter(is_among(rows[LIKENESS], alike))
        suspects = suspects.sort_by([(LIKENESS, "ascending"), (PLACE, "ascending")])
        places = suspects[PLACE].to_numpy()
        files = pa.array([str(path) for path in self._paths])
        origins = {
            "file": files.take(pa.array(places >> LINE_BITS)),
            "line": pa.array(places & ((1 << LINE_BITS) - 1)),
        }
        for name, values in origins.items():
            suspects = suspects.append_column(name, values)
        reasons = reasons_of_repetitions(suspects, columns)
        refused = {
            place: reason
            for place, reason in zip(places.tolist(), reasons, strict=True)
            if reason is not None
        }
        texts = self._texts(np.array(sorted(refused), np.int64))
        self.refused += [Refusal(place, why, texts[place]) for place, why in refused.items()]
        repeating = pc.is_in(rows[PLACE], value_set=pa.array(refused, pa.int64()))
        return rows.filter(pc.invert(repeating)).select(columns)

    def _texts(self, wanted: Places) -> dict[int, str]:
        """What lines of the files say; they are read again, as few are ever asked for."""
        texts: dict[int, str] = {}
        for _, pieces in self.forms:
            for found in runs(pieces):
                begins = [(run.piece.file_number << LINE_BITS) + run.line for run in found]
                ends = [begin + run.line_count for begin, run in zip(begins, found, strict=True)]
                if not (np.searchsorted(wanted, begins) < np.searchsorted(wanted, ends)).any():
                    continue
                lines = lines_of(found)
                places = _places(lines)
                is_wanted = np.isin(places, wanted)
                own = lines["text"].filter(pa.array(is_wanted)).to_pylist()
                texts |= zip(places[is_wanted].tolist(), own, strict=True)
        return texts


def _places(lines: pa.RecordBatch) -> Places:
    found: Places = (lines["file_number"].to_numpy() << LINE_BITS) + lines["line"].to_numpy()
    return found
