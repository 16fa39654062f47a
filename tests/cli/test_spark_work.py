from __future__ import annotations

import logging
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from commands import refused

from meshwright.cli.console.spark import (
    SHORT_WORK_BYTES_MAX,
    chosen_spark,
    is_short_work,
    opened_session,
    quiet_py4j,
)
from meshwright.errors import OperatorError
from meshwright.pipeline.places.place import Address
from meshwright.pipeline.spark import session


def test_work_is_short_while_its_files_are_small_together(tmp_path: Path) -> None:
    table = tmp_path / "trace" / "positions"
    table.mkdir(parents=True)
    for name, size in (("one", SHORT_WORK_BYTES_MAX), ("two", 1)):
        with (table / name).open("wb") as file:
            file.truncate(size)
    assert is_short_work(table / "one")
    assert is_short_work(table / "two")
    assert not is_short_work(table / "one", table / "two")
    assert not is_short_work(tmp_path / "trace")
    assert not is_short_work(Address("s3a://bucket/trace"))  # nobody has looked yet


def test_options_say_how_spark_works() -> None:
    chosen = chosen_spark("yarn", None, ["spark.a=1", "spark.b=c=d", "spark.a=2"], "4g", ui=True)
    assert (chosen.master, chosen.remote) == ("yarn", None)
    assert chosen.settings == {
        "spark.a": "2",
        "spark.b": "c=d",
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "true",
    }


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("--conf spark.executor.memory", "--conf spark.executor.memory: this sets nothing; write"),
        ("--conf memory=4g", "--conf memory=4g: this sets nothing; write spark.KEY=VALUE"),
        ("--memory much", "--memory much: this is no size; write 800m, 4g"),
        ("--memory 1m", "--memory 1m: Spark takes 480m or more; give more."),
        ("--conf spark.driver.memory=99999k", "memory=99999k: Spark takes 480m or more; give"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        "compare city",
        "trace describe city",
        "trace generate --model poisson --out x",
        "trace import --format csv x --out y",
        "pipeline run x.toml",
        "pipeline watch city --design chord --out x",
        "plan create city --design chord --out x",
        "sweep a:b --out x.csv",
        "simulate --design chord --on-spark",
        "lab run ktco --out x",
    ],
)
def test_a_wrong_setting_is_refused_by_every_command_on_spark(
    command: str, words: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert fault in refused(*command.split(), *words.split())
    assert not list(tmp_path.iterdir())


def test_py4j_complains_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not by caplog, which also hears loggers that hand nothing on.
    monkeypatch.setattr(logging.getLogger("py4j"), "propagate", True)
    heard = StringIO()
    monkeypatch.setattr(logging.getLogger(), "handlers", [logging.StreamHandler(heard)])
    logging.getLogger("py4j.clientserver").error("before")
    with quiet_py4j():
        logging.getLogger().error("Exception while sending command.")
        logging.getLogger("py4j.clientserver").error("Exception while shutting down connection")
    assert heard.getvalue() == "before\n"


@pytest.mark.parametrize("content", ["__version__ = '3.3.0'", "raise ImportError('stale')"])
def test_a_pyspark_before_ours_is_one_sentence(content: str, tmp_path: Path) -> None:
    stale = tmp_path / "old" / "pyspark"
    stale.mkdir(parents=True)
    (stale / "__init__.py").write_text(content)
    (tmp_path / "city" / "positions").mkdir(parents=True)
    path = os.pathsep.join([str(stale.parent), *filter(None, sys.path)])
    for folder, remedy in ((tmp_path, "unset PYTHONPATH"), (stale.parent, "go to another folder")):
        ended = subprocess.run(
            [sys.executable, "-m", "meshwright", "trace", "describe", str(tmp_path / "city")],
            cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert ended.stderr.startswith(f"error: {stale}: this pyspark stands before the one of M")
        assert ended.stderr.endswith(f"; {remedy}.\n")
        assert (ended.stderr.count("\n"), ended.returncode) == (1, 2)


def test_who_gives_more_memory_than_there_is_hears_of_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(*_: object, **__: object) -> None:
        raise OperatorError("Spark was started")

    monkeypatch.setattr(session, "spark_session", start)
    told = []
    for memory in ("900t", "480m"):
        with (
            pytest.raises(OperatorError, match="started"),
            opened_session(chosen_spark(None, None, None, memory)),
        ):
            pass
        told.append(capsys.readouterr().err)
    assert told[0].startswith("Spark's driver may take 900t, and this machine has ")
    assert not told[1]
