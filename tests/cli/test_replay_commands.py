from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import answered, call, refused

from meshwright.files.plans import read_plan
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
    document = answered(*words, "--out-plan", tmp_path / "plan.json")
    plan = read_plan(tmp_path / "plan.json")
    assert plan.price is not None
    assert plan.client_moves()  # they are connected elsewhere than static placement has them
    assert len(plan.target.brokers) == document["brokers"]
    lines = document["comparison"]
    assert {line["placement"] for line in lines} == {"static"}
    assert {line["design"] for line in lines} == {"chord", "gm", "mesh", "star"}
    for line in lines:
        assert sum(line["price_parts"].values()) == pytest.approx(line["price"])
    best = min((line for line in lines if line["fits"]), key=lambda line: line["price"])
    assert document["recommended"] == {"placement": "static", "design": best["design"]}
    assert document["reason"].startswith(f"{best['design']} with static placement fits best")
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 6  # both overlays, and five histories
    assert f"<mark>best</mark> {best['design']}" in page
    assert "report.html" in (out / "README.md").read_text()
    assert best["why"] in page
    assert not re.findall(r"(?:src|href)=['\"]?(?:https?:)?//", page)
    rows = list(csv.DictReader((out / "comparison.csv").read_text().splitlines()))
    assert [float(row["delay_hops"]) for row in rows] == [line["delay_hops"] for line in lines]


def test_the_plan_to_what_is_recommended_moves_clients_where_that_has_them(
    trace: Path, tmp_path: Path
) -> None:
    out = tmp_path / "plan.json"
    words = ("compare", trace, "--designs", "chord", "--placements", "similarity-bounded")
    document = answered(*words, "--out-plan", out)
    plan = read_plan(out)
    moves = plan.client_moves()
    assert document["recommended"]["placement"] == "similarity-bounded"
    assert moves
    assert all(step.why for step in plan.steps)
    assert plan.against is not None
    assert plan.against.clients_reconnecting == len(moves)
    assert plan.price is not None
    assert plan.net_benefit == plan.price.saved
    assert f"similarity-bounded moves {len(moves)} of" in plan.summary


def four_clients(trace: Path, subscription: str) -> Path:
    """A trace where four clients of four brokers have one subscription, and s/1 comes five times.

    Nobody wants s/2 and u by name; the first is published twice, the other once.
    """
    published = ["s/1"] * 5 + ["u"]
    times = [pa.scalar(60_000_000 * n, pa.timestamp("us", tz="UTC")) for n in range(6)]
    tables = {
        "brokers": {"broker": [f"b{n}" for n in range(4)]},
        "connections": {
            "time": [times[0]] * 4,
            "client": [f"c{n}" for n in range(4)],
            "broker": [f"b{n}" for n in range(4)],
            "is_on": [True] * 4,
        },
        "subscriptions": {
            "time": [times[0]] * 4,
            "client": [f"c{n}" for n in range(4)],
            "topic": [subscription] * 4,
            "is_on": [True] * 4,
        },
        "publications": {
            "time": times,
            "topic": published,
            "publisher": ["c0"] * 6,
            "bytes": [1] * 6,
        },
    }
    for name, columns in tables.items():
        (trace / name).mkdir(parents=True)
        pq.write_table(pa.table(columns), trace / name / "part.parquet")
    return trace


def test_a_wildcard_is_interest_in_all_that_it_takes(spark: object, tmp_path: Path) -> None:
    del spark
    found = {}
    for name, wanted in (("one", "s/1"), ("all", "s/#"), ("group", "$share/g/s/#")):
        trace = four_clients(tmp_path / name, wanted)
        words = ("compare", trace, "--designs", "tree,chord", "--placements", "recorded")
        found[name] = answered(*words)
    deliveries = {
        name: [line["deliveries"] for line in document["comparison"]]
        for name, document in found.items()
    }
    assert deliveries == {"one": [20] * 4, "all": [20] * 4, "group": [5] * 4}
    assert found["all"]["comparison"] == found["one"]["comparison"]
    assert (found["all"]["topics_unwanted"], found["all"]["content_subscriptions"]) == (1, 0)


def test_content_counts_as_all_messages_and_that_is_said(spark: object, tmp_path: Path) -> None:
    del spark
    trace, out = four_clients(tmp_path / "trace", "$where/n>1/s/#"), tmp_path / "findings"
    words = ("compare", trace, "--designs", "tree", "--placements", "recorded", "--out", out)
    document = answered(*words, "--out-plan", tmp_path / "plan.json")
    assert read_plan(tmp_path / "plan.json").client_moves() == ()  # they are where they are
    assert document["comparison"][0]["deliveries"] == 20
    assert document["content_subscriptions"] == 4
    sentence = "4 subscriptions ask for content"
    assert sentence in (out / "report.html").read_text()
    assert sentence in " ".join(call(*words).stdout.split())


def test_a_plan_is_made_for_wildcards_as_for_topics_by_name(spark: object, tmp_path: Path) -> None:
    del spark
    plans = {}
    for name, wanted in (("one", "s/1"), ("all", "s/#")):
        trace, plan = four_clients(tmp_path / name, wanted), tmp_path / f"{name}.json"
        document = answered("plan", "create", trace, "--design", "gm", "--out", plan)
        assert document["topics_unwanted"] == 1
        plans[name] = plan.read_bytes()
    assert plans["all"] == plans["one"]


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
        ("epoch_slots = 2", "epoch_slots = -1", "time.epoch_slots: expected `int` >= 0"),
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
