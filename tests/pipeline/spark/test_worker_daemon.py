from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from meshwright.pipeline.spark import worker_daemon


@pytest.mark.parametrize("error", [BrokenPipeError, ConnectionResetError])
def test_a_worker_that_spark_has_given_up_ends_in_silence(
    error: type[OSError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def given_up(sock: socket.socket, authenticated: bool) -> int:
        raise error(sock, authenticated)

    monkeypatch.setattr(worker_daemon, "spark_worker", given_up)
    with socket.socket() as sock:
        assert worker_daemon.worker(sock, authenticated=True) != 0


def test_workers_of_this_machine_are_those_of_our_daemon(spark: SparkSession) -> None:
    def parents(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            command = Path("/proc", str(os.getppid()), "cmdline").read_text()
            yield pa.RecordBatch.from_pydict({"command": [command]})

    row = spark.range(1).mapInArrow(parents, "command string").first()
    assert row is not None
    assert worker_daemon.__name__ in row.command
