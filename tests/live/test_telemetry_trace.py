from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as parquet

from meshwright.live.telemetry.trace import TraceRecorder
from meshwright.model.schema import TRACE_TABLES


def test_telemetry_has_the_columns_of_a_trace(tmp_path: Path) -> None:
    recorder = TraceRecorder(tmp_path, "north", 3)
    recorder.connection(1, "c", is_on=True)
    recorder.subscription(2, "c", "t/#", is_on=True)
    recorder.publication(3, "t/1", "c", 10)
    recorder.publication(4, "t/2", "c", 20)
    recorder.flush()
    recorder.connection(5, "c", is_on=False)
    recorder.flush()
    for name in ("connections", "subscriptions", "publications"):
        for path in sorted((tmp_path / name).iterdir()):
            found = parquet.read_table(path).schema.names
            assert tuple(found) == TRACE_TABLES[name].column_names()
    files = sorted(path.name for path in (tmp_path / "connections").iterdir())
    assert files == ["north-3-000001.parquet", "north-3-000002.parquet"]
    published = parquet.read_table(tmp_path / "publications").to_pylist()
    assert [(row["topic"], row["bytes"]) for row in published] == [("t/1", 10), ("t/2", 20)]
    assert published[0]["time"].microsecond == 3
