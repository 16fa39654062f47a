from __future__ import annotations

import csv
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import answered, call, refused

from meshwright.files.plans import read_plan
from meshwright.pipeline.spark import session

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


@pytest.fixture(scope="module")
def compared(generated: Path) -> tuple[dict[str, Any], Path, Path]:
    """What compare answers, and where it put its report and its plan."""
    out, plan = generated.with_name("findings"), generated.with_name("plan.json")
    words = ("--designs", "chord,gm", "--placements", "static,similarity-bounded")
    return answered("compare", generated, *words, "--out", out, "--out-plan", plan), out, plan


def test_a_trace_is_compared_and_reported_on_one_page(
    compared: tuple[dict[str, Any], Path, Path],
) -> None:
    document, out, _ = compared
    lines = document["comparison"]
    # Where clients are recorded, too, as that is what a plan begins at.
    assert {line["placement"] for line in lines} == {"recorded", "static", "similarity-bounded"}
    assert {line["design"] for line in lines} == {"chord", "gm", "mesh", "star"}
    for line in lines:
        assert sum(line["price_parts"].values()) == pytest.approx(line["price"])
    best = min((line for line in lines if line["fits"]), key=lambda line: line["price"])
    names = {name: best[name] for name in ("placement", "design")}
    assert document["recommended"] == names
    assert document["reason"].startswith(
        f"{best['design']} with {best['placement']} placement fits best"
    )
    page = (out / "report.html").read_text()
    assert page.count("<svg") == 6  # the overlay, and five histories
    assert "Nothing stands today: " in page
    assert "<title>b1</title>" in page
    assert f"<mark>best</mark> {best['design']}" in page
    assert "report.html" in (out / "README.md").read_text()
    assert best["why"] in page
    assert not re.findall(r"(?:src|href)=['\"]?(?:https?:)?//", page)
    rows = list(csv.DictReader((out / "comparison.csv").read_text().splitlines()))
    assert [float(row["delay_hops"]) for row in rows] == [line["delay_hops"] for line in lines]


def test_the_plan_to_what_is_recommended_moves_clients_where_that_has_them(
    compared: tuple[dict[str, Any], Path, Path],
) -> None:
    document, _, out = compared
    plan = read_plan(out)
    moves = plan.client_moves()
    assert document["recommended"]["placement"] == "similarity-bounded"
    assert len(plan.target.brokers) == document["brokers"]
    assert moves
    assert all(step.why for step in plan.steps)
    assert plan.against is not None
    assert plan.against.clients_reconnecting == len(moves)
    assert plan.price is not None
    assert plan.net_benefit == plan.price.saved
    assert f"similarity-bounded moves {len(moves)} of" in plan.summary


def test_a_recommendation_that_is_a_loss_to_go_to_is_told_as_such(
    generated: Path, tmp_path: Path
) -> None:
    words = ("--designs", "star", "--placements", "similarity-bounded")
    asked = ("compare", generated, *words, "--reconfiguration-weight", "1e5")
    plan, out = tmp_path / "plan.json", tmp_path / "findings"
    document = answered(*asked, "--out", out, "--out-plan", plan, exit_code=1)
    assert document["is_at_a_loss"]
    assert document["saved"] < 0.0
    assert document["before"] == f"{document['recommended']['design']} with recorded placement"
    lines = {
        f"{line['design']} with {line['placement']} placement" for line in document["comparison"]
    }
    assert document["before"] in lines
    assert "plan" not in document["files"]
    assert not plan.exists()
    page = (out / "report.html").read_text()
    told = f"But to go there is a loss; before is {document['before']}, which moves no client."
    assert told in page
    assert "the plan is at a loss. Prices of a plan are of an epoch of " in page
    forced = call(*asked, "--out-plan", plan, "--force")
    assert forced.exit_code == 0
    told = " ".join(forced.output.split())
    assert "But to go there is a loss" in told
    assert "No link stands: " in told
    assert " builds " in told
    assert read_plan(plan).client_moves()


def clients_of_four_brokers(trace: Path, subscriptions: list[str], published: list[str]) -> Path:
    """A trace where a client of each of four brokers has each subscription, and some publish."""
    minutes = [pa.scalar(60_000_000 * n, pa.timestamp("us", tz="UTC")) for n in range(6)]
    wishes = [(f"{wish}-{n}", f"b{n}", wanted) for wish, wanted in enumerate(subscriptions)
              for n in range(4)]  # fmt: skip
    clients, hosts, topics = (list(column) for column in zip(*wishes, strict=True))
    standing = {"time": [minutes[0]] * len(wishes), "client": clients}
    is_on = [True] * len(wishes)
    tables = {
        "brokers": {"broker": [f"b{n}" for n in range(4)]},
        "connections": {**standing, "broker": hosts, "is_on": is_on},
        "subscriptions": {**standing, "topic": topics, "is_on": is_on},
        "publications": {
            "time": [minutes[n % 6] for n in range(len(published))],
            "topic": published,
            "publisher": ["0-0"] * len(published),
            "bytes": [1] * len(published),
        },
    }
    for name, columns in tables.items():
        (trace / name).mkdir(parents=True)
        pq.write_table(pa.table(columns), trace / name / "part.parquet")
    return trace


def test_a_filter_is_interest_in_all_that_it_takes(spark: object, tmp_path: Path) -> None:
    del spark
    # By name 4 x 5 deliveries, by wildcard 4 x 7, of a group 11, by content all 4 x 13.
    wanted = ["name/1", "all/#", "$share/g/group/#", "$where/n>1/part/#", "nothing/+"]
    published = ["name/1"] * 5 + ["all/1"] * 7 + ["group/1"] * 11 + ["part/1"] * 13 + ["nobody"]
    trace = clients_of_four_brokers(tmp_path / "trace", wanted, published)
    out, plan = tmp_path / "findings", tmp_path / "plan.json"
    words = ("compare", trace, "--designs", "tree,chord", "--placements", "recorded")
    document = answered(*words, "--out", out, "--out-plan", plan)
    lines = document["comparison"]
    assert {line["deliveries"] for line in lines} == {20 + 28 + 11 + 52}
    assert (document["topics_unwanted"], document["content_subscriptions"]) == (1, 4)
    assert document["filters_idle"] == 1
    assert "4 subscriptions ask for content" in (out / "report.html").read_text()
    assert read_plan(plan).client_moves() == ()  # they are where they are


def test_a_plan_is_made_for_wildcards_as_for_topics_by_name(spark: object, tmp_path: Path) -> None:
    del spark
    plans = {}
    for name, wanted in (("one", "s/1"), ("all", "s/#")):
        published = ["s/1"] * 5 + ["u"]
        trace = clients_of_four_brokers(tmp_path / name, [wanted, "nothing/+"], published)
        plan = tmp_path / f"{name}.json"
        told = call("plan", "create", trace, "--design", "gm", "--out", plan)
        assert told.exit_code == 0
        sentences = " ".join(told.output.split())
        assert "1 published topic is wanted by nobody" in sentences
        assert "1 filter takes no topic that is known here" in sentences
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
