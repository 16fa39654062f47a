from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from meshwright.errors import OperatorError
from meshwright.pipeline.environment import (
    driver_memory_mb,
    is_this_machine,
    prepare_environment,
    refuse_silence,
)
from meshwright.pipeline.job_status import TaskCount, followed_jobs
from meshwright.pipeline.session import open_session, spark_session
from meshwright.pipeline.shipping import pack_package


def test_spark_runs_on_the_java_that_the_wheel_brings(spark: SparkSession) -> None:
    java = spark.sql("select java_method('java.lang.System', 'getProperty', 'java.home')")
    assert java.collect()[0][0] == os.environ["MESHWRIGHT_JAVA_HOME"]
    assert spark.range(1000).selectExpr("sum(id) as total").collect()[0].total == 499_500


def test_a_session_speaks_utc_on_both_sides(spark: SparkSession) -> None:
    row = spark.sql("select timestamp'2010-08-01 12:00:00' as noon, current_timezone() as zone")
    assert [(str(r.noon), r.zone) for r in row.collect()] == [("2010-08-01 12:00:00", "UTC")]


def test_work_uses_a_session_that_runs_and_leaves_it_running(spark: SparkSession) -> None:
    with spark_session("another") as session:
        assert session is spark
    assert spark.range(3).count() == 3


def test_jobs_report_their_tasks(spark: SparkSession) -> None:
    reports: list[TaskCount] = []
    with followed_jobs(spark, reports.append):
        spark.range(8, numPartitions=8).selectExpr(
            "java_method('java.lang.Thread', 'sleep', 150L)"
        ).collect()
    assert reports == sorted(reports)
    assert reports[-1].known == 8


def test_what_the_environment_says_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {
        "JAVA_HOME": "/opt/java",
        "SPARK_CONF_DIR": "/etc/spark",
        "SPARK_DRIVER_MEMORY": "3g",
        "PYSPARK_PYTHON": "/opt/python",
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    assert not is_this_machine(None)
    prepare_environment(None)
    assert {name: os.environ[name] for name in own} == own
    assert "SPARK_LOCAL_IP" not in os.environ


def test_only_loopback_and_local_masters_are_this_machine() -> None:
    assert is_this_machine("local[2]")
    assert is_this_machine("spark://127.0.0.1:7077,localhost:7078")
    assert not is_this_machine("spark://127.0.0.1:7077,cluster.example:7077")
    assert not is_this_machine("yarn")


def test_the_driver_has_a_share_of_the_memory() -> None:
    physical_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    assert 1024 <= driver_memory_mb() <= max(1024, physical_mb)


@pytest.mark.parametrize("address", ["sc://127.0.0.1:1", "spark://127.0.0.1:1,[::1]:1"])
def test_an_address_where_nobody_listens_is_named_at_once(address: str) -> None:
    with pytest.raises(OperatorError, match="no Spark answers there") as refusal:
        refuse_silence(address)
    assert str(refusal.value).startswith(address)


def test_a_master_and_a_remote_exclude_each_other() -> None:
    with pytest.raises(OperatorError, match="give --master or --remote"):
        open_session("both", master="local", remote="sc://127.0.0.1")


def test_a_master_that_spark_does_not_know_is_one_sentence() -> None:
    script = (
        "from meshwright.errors import OperatorError\n"
        "from meshwright.pipeline.session import open_session\n"
        "try: open_session('x', master='nonsense')\n"
        "except OperatorError as error: print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120
    )
    assert run.stdout.startswith("Spark does not start at nonsense (")
    assert len(run.stdout.splitlines()) == 1


def test_the_package_that_is_sent_can_be_imported_from_its_archive(tmp_path: Path) -> None:
    archive = tmp_path / "meshwright.zip"
    pack_package(archive)
    again = tmp_path / "again.zip"
    pack_package(again)
    assert archive.read_bytes() == again.read_bytes()
    assert "meshwright/errors.py" in zipfile.ZipFile(archive).namelist()
    script = "import meshwright.model.schema as m; print(m.__file__)"
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(archive)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith(str(archive))
