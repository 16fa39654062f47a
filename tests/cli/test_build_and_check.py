"""overlay build and overlay check: links for topics, and whether they hold."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from commands import answered, call, refused, small_network

from meshwright.files.overlays import read_overlay, write_overlay
from meshwright.files.plans import read_overlay_or_target
from meshwright.files.snapshots import read_interests, read_snapshot
from meshwright.model.designs import DESIGNS, founded_as, joined_as
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.evaluation.evaluate import evaluate

DESIGNS_WITH_K = [
    ("gm", 1), ("gm2", 2), ("harary", 1), ("harary", 3), ("cycle", 2), ("dcbm", 1), ("minmax", 1),
    ("best", 2), ("best", 3),
]  # fmt: skip


def network(folder: Path) -> Path:
    answered(
        "workload", "generate", "--brokers", "24", "--topics", "8", "--topics-per-broker", "3",
        "--popularity", "zipf", "--out", folder,
    )  # fmt: skip
    return folder / "interests.csv"


@pytest.mark.parametrize(("design", "k"), DESIGNS_WITH_K)
def test_what_is_built_holds_when_checked(design: str, k: int, tmp_path: Path) -> None:
    interests, out = network(tmp_path), tmp_path / "overlay.json"
    built = answered(
        "overlay",
        "build",
        "--design",
        design,
        "--k",
        str(k),
        "--interests",
        interests,
        "--out",
        out,
    )
    overlay = read_overlay(out)
    assert overlay.design == design
    assert built["links"] == len(overlay.links)
    assert built["degree_mean"] == pytest.approx(2 * len(overlay.links) / 24)
    assert built["k_held"] >= k
    checked = answered(
        "overlay", "check", "--overlay", out, "--interests", interests, "--k", str(k)
    )
    assert checked["holds"] is True
    assert checked["failing"] == []


@pytest.mark.parametrize("design", [name for name, row in DESIGNS.items() if not row.choose_links])
def test_every_other_design_is_built_too(design: str, tmp_path: Path) -> None:
    interests, out = network(tmp_path), tmp_path / "overlay.json"
    built = answered("overlay", "build", "--design", design, "--interests", interests, "--out", out)
    overlay = read_overlay(out)
    assert (overlay.design, founded_as(overlay)) == (joined_as(design), design)
    assert built["links"] == len(overlay.links) >= 23


def test_a_parameter_that_a_design_has_not_is_refused(tmp_path: Path) -> None:
    interests, out = network(tmp_path), tmp_path / "overlay.json"
    words = ("overlay", "build", "--interests", interests, "--out", out, "--design")
    assert "The design tree has no parameter 'tie'; it takes fanout" in refused(
        *words, "tree:tie=pair"
    )
    assert "The design tree cannot be built for k = 2; choose gm2" in refused(
        *words, "tree", "--k", "2"
    )


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ("chrod", "line 1: there is no design 'chrod'; choose one of chord, tapestry"),
        (
            "ocbr",
            "line 1: overlays of ocbr are of the design 'tree'; name that, with the parameters",
        ),
    ],
)
def test_an_overlay_is_of_a_design_that_there_is(design: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "overlay.json"
    path.write_text(json.dumps({"design": design, "brokers": ["a", "b"], "links": [["a", "b"]]}))
    drawing = ("overlay", "draw", "--overlay", path, "--out", tmp_path / "picture.svg")
    assert said in refused(*drawing)
    assert said in refused("broker", "--name", "a", "--overlay", path, "--data", tmp_path / "a")


def test_the_failing_topics_are_named_and_the_exit_code_is_1(tmp_path: Path) -> None:
    interests, _ = small_network(tmp_path)
    path = tmp_path / "overlay.json"
    path.write_text(
        json.dumps(
            {
                "design": "gm",
                "brokers": ["b0", "b1", "b2", "b3"],
                "links": [["b0", "b1"], ["b1", "b2"]],
            }
        )
    )
    words = ("overlay", "check", "--overlay", path, "--interests", interests)
    checked = answered(*words, "--k", "1", exit_code=1)
    assert checked["holds"] is False
    assert checked["failing"] == [
        {"topic": "t0", "members": 4, "k_held": 0},
        {"topic": "t2", "members": 2, "k_held": 0},
    ]
    shown = call(*words, "--k", "1")
    assert shown.exit_code == 1
    assert "t0" in shown.stdout
    assert "t2" in shown.stdout
    assert "t1" not in shown.stdout


def test_a_check_agrees_with_networkx(tmp_path: Path) -> None:
    interests, out = network(tmp_path), tmp_path / "overlay.json"
    answered("overlay", "build", "--design", "gm", "--interests", interests, "--out", out)
    whole = nx.Graph(read_overlay(out).links)
    wanted: dict[str, list[str]] = {}
    for line in interests.read_text().splitlines()[1:]:
        broker, topic = line.split(",")
        wanted.setdefault(topic, []).append(broker)
    weak = [
        topic
        for topic, members in wanted.items()
        if nx.node_connectivity(nx.induced_subgraph(whole, members)) < min(2, len(members) - 1)
    ]
    result = call(
        "overlay", "check", "--overlay", out, "--interests", interests, "--k", "2", "--json"
    )
    assert [row["topic"] for row in json.loads(result.stdout)["failing"]] == weak
    assert result.exit_code == (1 if weak else 0)


@pytest.mark.parametrize(("design", "param", "choices"), [
    ("gm2", "tie", ("pair", "degree")),
    ("harary", "order", ("input", "random")),
    ("tapestry", "base", (4, 16)),
    ("hypercube", "low_bit_count", (1, 2)),
    ("hypercube", "events", ("selective", "broadcast")),
])  # fmt: skip
def test_parameters_of_a_design_go_on_its_name(
    design: str, param: str, choices: tuple[int | str, ...], tmp_path: Path
) -> None:
    interests, out = network(tmp_path), tmp_path / "overlay.json"
    words = ("overlay", "build", "--interests", interests, "--out", out, "--design")
    for choice in choices:
        assert answered(*words, f"{design}:{param}={choice}")["params"][param] == choice


def test_delays_between_brokers_count_in_milliseconds(tmp_path: Path) -> None:
    interests, out = network(tmp_path), tmp_path / "overlay.json"
    plan, rates, delays = (tmp_path / name for name in ("plan.json", "rates.csv", "delays.csv"))
    names = read_interests(interests)
    rates.write_text("topic,publications\n" + "".join(f"{one},900\n" for one in names.topics))
    chance = np.random.default_rng(5)
    ways = [(one, other) for one in names.brokers for other in names.brokers if one < other]
    far = [f"{one},{other},{chance.uniform(1, 90):.3f}\n" for one, other in ways]
    delays.write_text("source,target,delay_ms\n" + "".join(far))
    snapshot = read_snapshot(interests, rates, delays_source=delays)
    files = ("--interests", interests, "--rates", rates)
    words = ("overlay", "arrange", "--geometry", "chord", "--method", "ssbr-greedy", *files)
    answered(*words, "--delays", delays, "--out", plan)
    by_delay = read_overlay_or_target(plan)
    assert by_delay == arrange(snapshot, "chord", "ssbr-greedy").target
    answered(*words, "--out", plan)
    assert by_delay != read_overlay_or_target(plan)
    write_overlay(by_delay, out)
    evaluated = answered("overlay", "evaluate", "--overlay", out, *files, "--delays", delays)
    expected = evaluate(by_delay, snapshot).delay_ms_mean
    assert evaluated["evaluation"]["delay_ms_mean"] == pytest.approx(expected)
    build = ("overlay", "build", "--design", "tapestry:neighbours=nearest", "--out", out)
    built = answered(*build, "--interests", interests, "--delays", delays)
    assert built["params"]["neighbours"] == "nearest"
    assert "take neighbours=mirror" in refused(*build, "--interests", interests)
    delays.write_text("source,target,delay_ms\n" + "".join(far[1:]))
    missing = f"no delay from {ways[0][0]!r} to {ways[0][1]!r} is given"
    assert missing in refused(*build, "--interests", interests, "--delays", delays)


def test_the_same_seed_builds_the_same_overlay(tmp_path: Path) -> None:
    interests, out = network(tmp_path), tmp_path / "overlay.json"
    contents = []
    for seed in ("1", "1", "2"):
        answered(
            "overlay", "build", "--design", "cycle", "--interests", interests, "--out", out,
            "--seed", seed,
        )  # fmt: skip
        contents.append(out.read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_k_beyond_the_design_or_the_network_is_refused(tmp_path: Path) -> None:
    interests, _ = small_network(tmp_path)
    out = tmp_path / "overlay.json"
    build = ("overlay", "build", "--interests", interests, "--out", out, "--design")
    assert "k = 2" in refused(*build, "gm", "--k", "2")
    for design in ("harary", "best"):
        assert f"{interests}: k = 5 is larger" in refused(*build, design, "--k", "5")
    assert not out.exists()
    answered(*build, "harary", "--k", "2")
    check = ("overlay", "check", "--overlay", out, "--interests", interests, "--k")
    assert "5" in refused(*check, "5")


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("", "line 1: the file is empty"),
        ("broker,topic\n", "line 1: there are no rows"),
        ("broker\nb0\n", "line 1: the header lacks 'topic'"),
        ("broker,topic,x\nb0,t0,1\n", "line 1: the header has the extra 'x'"),
        ("broker,topic\nb0,t0\nb0,t0\n", "line 3: broker 'b0' and topic 't0' stand on line 2"),
        ("broker,topic\nb0,t0\nb0,t1\n", "line 2: 'b0' is the only broker"),
    ],
)
def test_bad_interests_leave_no_overlay_behind(content: str, fault: str, tmp_path: Path) -> None:
    interests = tmp_path / "interests.csv"
    interests.write_text(content)
    sentence = refused(
        "overlay", "build", "--design", "gm2", "--interests", interests,
        "--out", tmp_path / "overlay.json",
    )  # fmt: skip
    assert f"{interests}, {fault}" in sentence
    assert list(tmp_path.iterdir()) == [interests]


def test_an_overlay_of_other_brokers_is_not_checked(tmp_path: Path) -> None:
    interests, _ = small_network(tmp_path)
    path = tmp_path / "overlay.json"
    path.write_text('{"design": "gm", "brokers": ["b0", "b1"], "links": [["b0", "b1"]]}')
    words = ("overlay", "check", "--overlay", path, "--interests", interests, "--k", "1")
    assert "interests.csv, line 6: broker 'b2' is not in the overlay" in refused(*words)
    path.write_text('{"design": "gm", "brokers": ["b0", "b1"],\n"links": [["b0", "bx"]]}')
    assert "overlay.json, line 2: the link names an unknown broker 'bx'" in refused(*words)


def test_a_k_that_only_large_networks_hold_is_compared(tmp_path: Path) -> None:
    interests = network(tmp_path)
    words = ("overlay", "compare", "--interests", interests, "--rates", tmp_path / "rates.csv")
    rows = answered(*words, "--designs", "harary,gm", "--k", "9")["designs"]
    fits = {row["name"]: row["fits"] for row in rows}
    assert fits == {"gm": False, "harary": True, "mesh": True, "star": False}
