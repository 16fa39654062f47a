from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as arrow_parquet
import pytest
from commands import answered, call, refused

from meshwright.cli.experiments.sweep import grid_values

SMALL = (
    "simulate", "--design", "tree", "--brokers", "3", "--clients", "4", "--duration", "2",
    "--seeds", "3..5",
)  # fmt: skip
MODULE = """
def area(width, name, seed):
    return {"area": width * seed, "label": [name]}

NUMBER = 5
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "fields_to_measure.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("spark")
def test_a_module_of_this_folder_is_swept_into_a_table(own_module: Path) -> None:
    words = (
        "sweep", "fields_to_measure:area", "--grid", "width=2,0.5", "--grid", "name=a,b",
        "--seeds", "1..2", "--out",
    )  # fmt: skip
    document = answered(*words, "results.parquet")
    assert document == {
        "command": "sweep",
        "function": "fields_to_measure:area",
        "tasks": 8,
        "columns": ["width", "name", "seed", "area", "label"],
        "table": "results.parquet",
    }
    rows = arrow_parquet.read_table(own_module / "results.parquet").to_pylist()
    assert rows[3] == {"width": 2.0, "name": "b", "seed": 2, "area": 4.0, "label": ["b"]}
    shown = call(*words, "results.csv")
    assert "results.csv: 8 rows in " in shown.stdout
    assert (own_module / "results.csv").read_text().splitlines()[:3] == [
        "width,name,seed,area,label",
        '2.0,a,1,2.0,"[""a""]"',
        '2.0,a,2,4.0,"[""a""]"',
    ]


@pytest.mark.usefixtures("spark")
def test_simulating_on_spark_answers_the_same() -> None:
    assert answered(*SMALL, "--on-spark") == answered(*SMALL)


def test_values_of_a_grid_are_json_or_else_text() -> None:
    assert grid_values(["k=1,2.5", "design=gm, best", "flag=true,null"]) == {
        "k": [1, 2.5],
        "design": ["gm", "best"],
        "flag": [True, None],
    }


def test_bad_input_is_one_sentence(own_module: Path) -> None:
    words = ("sweep", "fields_to_measure:area", "--out", "results.csv")
    assert "missing a required argument: 'width'" in refused(*words)
    assert "unexpected keyword argument 'depth'" in refused(
        *words, "--grid", "width=1", "--grid", "name=a", "--grid", "depth=2"
    )
    assert "names no values; write NAME=A,B" in refused(*words, "--grid", "width")
    assert "give all values at once" in refused(*words, "--grid", "k=1", "--grid", "k=2")
    assert "seeds are given by --seeds" in refused(*words, "--grid", "seed=1")
    assert "ends in .parquet or .csv" in refused(*words[:2], "--out", "results.xlsx")
    assert "write MODULE:FUNCTION" in refused("sweep", "area", *words[2:])
    assert "cannot be imported" in refused("sweep", "no_such_module:area", *words[2:])
    assert "is no function but a int" in refused("sweep", "fields_to_measure:NUMBER", *words[2:])
    assert not (own_module / "results.csv").exists()
