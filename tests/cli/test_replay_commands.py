from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from commands import answered, call, refused

from meshwright.pipeline import session

CONFIG = """trace = "trace"
out = "findings"

[time]
epoch_slots = 2

[placement]
methods = ["static"]

[overlay]
designs = ["chord", "tree"]
"""


@pytest.fixture(scope="module")
def generated(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    del spark  # one that runs already is used by every command
    trace = tmp_path_factory.mktemp("generated") / "trace"
    size = ("--users", "40", "--brokers", "6", "--topics", "8", "--hours", "5")
    answered("trace", "generate", "--model", "poisson", *size, "--out", trace)
    return trace


@pytest.fixture
def trace(generated: Path, tmp_path: Path) -> Path:
    """A trace of the test's own."""
    return shutil.copytree(generated, tmp_path / "trace")


def test_a_trace_is_compared_and_reported_on_one_page(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "findings"
    words = ("compare", trace, "--designs", "chord,gm", "--placements", "static", "--out", out)
    document = answered(*words)
    lines = document["comparison"]
    assert [(line["placement"], line["design"]) for line in lines] == [
        ("static", "chord"),
        ("static", "gm"),
    ]
    best = min((line for line in lines if line["fits"]), key=lambda line: line["price"])
    assert document["recommended"] == {"placement": "static", "design": best["design"]}
    assert document["reason"].startswith(f"{best['design']} with static placement fits best")
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 6
    assert best["why"] in page
    assert not re.findall(r"(?:src|href)=['\"]?(?:https?:)?//", page)
    rows = list(csv.DictReader((out / "comparison.csv").read_text().splitlines()))
    assert [float(row["delay_hops"]) for row in rows] == [line["delay_hops"] for line in lines]


@pytest.fixture
def wildcards(trace: Path) -> Path:
    """The trace with three more subscriptions, of which none names one topic."""
    folder = trace / "subscriptions"
    table = pq.read_table(folder)
    rows = table.filter(pc.field("is_on")).slice(0, 3)
    filters = pa.array(["sport/#", "+/news", "$share/group/sport"], pa.string())
    place = table.schema.get_field_index("topic")
    pq.write_table(rows.set_column(place, table.schema[place], filters), folder / "more.parquet")
    return trace


def test_an_answer_says_how_many_subscriptions_were_left_out(
    wildcards: Path, tmp_path: Path
) -> None:
    out = tmp_path / "findings"
    words = ("compare", wildcards, "--designs", "tree", "--placements", "static", "--out", out)
    assert answered(*words)["wildcards_left_out"] == 3
    sentence = "3 subscriptions have wildcards or are shared and were left out"
    assert sentence in (out / "report.html").read_text()
    assert sentence in " ".join(call(*words).stdout.split())


def test_a_plan_over_wildcards_is_made_only_by_force(wildcards: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    words = ("plan", "create", wildcards, "--design", "tree", "--out", plan)
    refusal = answered(*words, exit_code=1)
    assert (refusal["plan"], refusal["wildcards_left_out"]) == (None, 3)
    assert not plan.exists()
    assert "--force plans for the rest" in " ".join(call(*words).stdout.split())
    assert answered(*words, "--force")["wildcards_left_out"] == 3
    assert plan.exists()


def test_a_run_is_described_by_a_file_and_runs_no_stage_twice(trace: Path) -> None:
    config = trace.with_name("replay.toml")
    config.write_text(CONFIG)
    first = answered("pipeline", "run", config)
    assert {stage["ran"] for stage in first["stages"]} == {True}
    again = answered("pipeline", "run", config)
    assert {stage["ran"] for stage in again["stages"]} == {False}
    assert again["comparison"] == first["comparison"]
    told = call("pipeline", "run", config)
    assert "chord" in told.stdout
    assert "…" not in told.stdout


def test_a_misspelt_setting_is_refused_with_the_nearest_right_one(tmp_path: Path) -> None:
    config = tmp_path / "replay.toml"
    config.write_text(CONFIG.replace("epoch_slots", "epoch_slot"))
    sentence = refused("pipeline", "run", config)
    assert "did you mean 'time.epoch_slots'" in sentence
    assert "line 5" in sentence


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ('["chord", "tree"]', '["chord", "ring"]', "no design 'ring'; choose one of chord"),
        ('["static"]', '["location"]', "placement 'location' needs positions"),
        ('["static"]', "[]", "placement.methods: expected `array` of length >= 1"),
        ("epoch_slots = 2", "epoch_slots = 0", "time.epoch_slots: expected `int` >= 1"),
        ("[time]", '[interests]\nsource = "location"\n[time]', "has no table positions"),
        ('out = "findings"', 'out = "replay.toml"', "replay.toml"),
    ],
)
def test_a_run_that_cannot_be_is_refused_before_spark_starts(
    right: str, wrong: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in ("subscriptions", "publications"):
        (tmp_path / "trace" / table).mkdir(parents=True)
    config = tmp_path / "replay.toml"
    config.write_text(CONFIG.replace(right, wrong))
    monkeypatch.delattr(session, "spark_session")  # whoever wants to start Spark fails
    assert words in refused("pipeline", "run", config)


def test_designs_and_placements_that_are_not_there_are_refused(tmp_path: Path) -> None:
    assert "choose one of chord" in refused("compare", tmp_path, "--designs", "chrod")
    assert "choose from recorded" in refused("compare", tmp_path, "--placements", "near")
