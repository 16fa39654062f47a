from __future__ import annotations

import os

import pytest

from meshwright.pipeline.session import RUNTIME, open_session


def test_spark_runs_on_the_java_that_the_wheel_brings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    spark = open_session("meshwright-test", master="local[1]")
    try:
        assert os.environ["JAVA_HOME"] == str(RUNTIME)
        assert spark.range(1000).selectExpr("sum(id) as total").collect()[0].total == 499_500
        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    finally:
        spark.stop()
