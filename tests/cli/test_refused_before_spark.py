"""What can be refused by looking at names, first lines and footers is refused without Spark."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import call, refused

from meshwright.cli.console import spark
from meshwright.pipeline.places.alone import alone_in

CONFIG = 'trace = "city"\nout = "afile"\n'

PLANNING = "plan create city --design chord --out p.json"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def start(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(spark, "opened_session", start)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "afile").write_text("user,time\n")
    (tmp_path / "checkins.csv").write_text("user_id,ts_utc,lat,lon,venue_id\n")
    (tmp_path / "positions.csv").write_text("time,client\n")
    (tmp_path / "cut" / "positions").mkdir(parents=True)
    (tmp_path / "cut" / "positions" / "part.parquet").write_bytes(b"PAR1")
    (tmp_path / "city" / "positions").mkdir(parents=True)
    for table in ("subscriptions", "connections"):
        (tmp_path / "named" / table).mkdir(parents=True)
    (tmp_path / "run.toml").write_text(CONFIG)
    (tmp_path / "goals.toml").write_text('k_min = 2\nprefer = ["cost", "cost"]\n')
    return tmp_path


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("trace import --format gowalla afile --out x", "afile, line 1: the header lacks"),
        ("trace import --format foursquare afile --out x", "afile, line 1: the header lacks"),
        ("trace import --format csv positions.csv --out x", "positions.csv, line 1: the header"),
        ("trace import --format jsonl afile --out x", "the name of the file must be that of a"),
        ("trace import --format mosquitto-log nothing --out x", "nothing: there is no such file"),
        ("trace import --format gowalla checkins.csv --friends afile --out x", "lacks 'user_a'"),
        ("trace describe cut", "cut/positions/part.parquet: this is not a whole Parquet file"),
        ("compare cut", "cut/positions/part.parquet: this is not a whole Parquet file"),
        ("compare city --out afile", "afile: a file is in the way; name a folder"),
        ("compare city --out afile/below", "afile/below: a file is in the way; name a folder"),
        ("compare named --brokers 9", "named: the trace names its brokers, so that a number of"),
        ("plan create named --design gm --out p.json --brokers 9", "leave --brokers out"),
        ("compare city --slot soon", "'soon' is no duration"),
        ("compare city --slot 1.5s", "'1.5s' is not in whole seconds"),
        ("pipeline run run.toml", "afile: a file is in the way; name a folder"),
        ("plan create cut --design chord --out p.json", "this is not a whole Parquet file"),
        ("plan create city --design chord --out p.json --at then", "'then' is no time"),
        ("plan create city --design chord --out p.json --slot 11h", "do not fit"),
        (f"{PLANNING} --goal degree=3", "there is no goal 'degree'; did you mean 'degree_max'"),
        (f"{PLANNING} --goal k_min", "--goal k_min: there is no value; give NAME=VALUE"),
        (f"{PLANNING} --goal k_min=two", "--goal k_min: expected `int | null`, got `str`"),
        (f"{PLANNING} --goal prefer=cost,beauty", "--goal prefer[1]: invalid enum value 'beauty'"),
        (f"{PLANNING} --goal k_min=3 --degree-max 2", "k_min = 3 takes 3 links of a broker"),
        (f"{PLANNING} --goals goals.toml", "goals.toml, line 2: prefer names 'cost' twice"),
        ("pipeline watch nothing --design chord --out p", "nothing: there is no such folder"),
        ("pipeline watch city --design chord --out afile", "afile: a file is in the way"),
        ("pipeline watch city --design chord --out p --late soon", "'soon' is no duration"),
    ],
)
def test_bad_input_is_one_sentence_at_once(folder: Path, words: str, fault: str) -> None:
    before = sorted(folder.rglob("*"))
    assert fault in refused(*words.split())
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    "words",
    [
        "compare city --out out",
        "pipeline run shared.toml",
        "pipeline watch city --design chord --out out",
    ],
)
def test_a_second_run_in_a_folder_is_one_sentence_at_once(folder: Path, words: str) -> None:
    (folder / "shared.toml").write_text('trace = "city"\nout = "out"\n')
    with alone_in(folder / "out"):
        said = refused(*words.split())
    assert f"out: another run is at work in this folder (process {os.getpid()} on" in said


def test_a_second_run_of_experiments_leaves_the_folder_to_the_first(folder: Path) -> None:
    with alone_in(folder / "out"):
        result = call("lab", "run", "ocbr-gap", "--out", "out")
        assert result.exit_code == 2
        assert "out: another run is at work in this folder" in result.stderr
        assert not (folder / "out" / "ocbr-gap").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("cell", ["0", "-1", "nan", "inf", "361"])
@pytest.mark.parametrize("command", ["trace describe", "compare"])
def test_a_cell_has_a_size(command: str, cell: str) -> None:
    result = call(*command.split(), "city", "--cell", cell)
    assert result.exit_code == 2
    assert "give more than 0 and at most 360 degrees" in result.stderr


def test_what_the_system_denies_is_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(_: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder / "city"))

    monkeypatch.setattr(Path, "iterdir", denied)
    assert refused("compare", "city").endswith(
        "city: permission denied; check the name and rights."
    )
