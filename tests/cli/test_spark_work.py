from __future__ import annotations

import logging
from io import StringIO
from pathlib import Path

import pytest
from commands import refused

from meshwright.cli.console.spark import (
    SHORT_WORK_BYTES_MAX,
    chosen_spark,
    is_short_work,
    quiet_py4j,
)
from meshwright.pipeline.places.place import Address


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
