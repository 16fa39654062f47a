"""What `import meshwright` gives: quick to import, there and back again, and as it is described."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import meshwright as mw
from meshwright.errors import (
    ArgumentError,
    CallerError,
    InputFileError,
    MeshwrightError,
    OperatorError,
)
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import DESIGNS
from meshwright.model.snapshot import Snapshot
from meshwright.planning.recommendation import Wish

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebooks" / "first-plan.ipynb"


@pytest.fixture(scope="module")
def network() -> Snapshot:
    return generate_snapshot(12, 20, 4, "zipf", seed=2)


def test_importing_loads_nothing_that_is_heavy() -> None:
    heavy = ("numpy", "pandas", "numba", "pyspark", "matplotlib", "networkx", "msgspec")
    program = f"import sys, meshwright; print([one for one in {heavy} if one in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_every_name_leads_to_something_and_others_are_refused() -> None:
    assert set(mw.LIBRARY) <= set(dir(mw))
    for name in mw.LIBRARY:
        assert getattr(mw, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'advise'"):
        _ = mw.advise


def test_a_network_is_the_same_after_a_journey_through_tables(network: Snapshot) -> None:
    entering = np.random.default_rng(0).random((12, len(network.topics))) * network.publications
    for before in (network, Snapshot(network.brokers, network.topics, network.interests,
                                     entering.sum(axis=0), publishers=entering)):  # fmt: skip
        after = mw.network_from_frames(*mw.network_to_frames(before))
        for overlay in (mw.build("chord", before), mw.build("gm", before)):
            one, other = mw.evaluate(overlay, before), mw.evaluate(overlay, after)
            assert other.messages_per_publication == pytest.approx(one.messages_per_publication)
            assert other.messages_entry == pytest.approx(one.messages_entry)


def test_a_table_that_lacks_a_column_is_refused_in_a_sentence(network: Snapshot) -> None:
    interests, rates, _ = mw.network_to_frames(network)
    with pytest.raises(MeshwrightError, match="publications"):
        mw.network_from_frames(interests, rates[["topic"]])


@pytest.mark.parametrize(
    ("table", "change", "fault"),
    [
        ("rates", {"publications": [1, None, 2]}, "rates, row 1: publications is nan; give every"),
        ("rates", {"publications": [1, -1, 2]}, "rates, row 1: publications '-1' is negative"),
        ("rates", {"publications": [1, True, 2]}, "rates, row 1: publications 'True' is not a"),
        ("rates", {"topic": list("xyx")}, "rates, row 2: topic 'x' stands on row 0 already"),
        ("rates", {"topic": list("xzw")}, "interests, row 1: topic 'y' has no rate in rates; "),
        ("interests", {"broker": ["a", None, "c"]}, "interests, row 1: broker is None; give"),
        ("interests", {"broker": ["a", "a\n", "c"]}, "interests, row 1: the broker name 'a\\n' be"),
        ("interests", {"topic": ["x", "x/#/y", "x"]}, "interests, row 1: 'x/#/y' is no filter"),
        ("delays", {"delay_ms": [1, 1, -1]}, "delays, row 2: delay_ms '-1' is negative"),
        ("delays", {"target": list("bac")}, "delays: no delay from 'a' to 'c' is given"),
    ],
)
def test_a_fault_of_a_frame_is_told_by_table_and_row(
    table: str, change: dict[str, list[Any]], fault: str
) -> None:
    frames = {
        "interests": pd.DataFrame({"broker": list("abc"), "topic": list("xyz"), "other": 1}),
        "rates": pd.DataFrame({"topic": list("xyz"), "publications": [1, 2, 3]}),
        "delays": pd.DataFrame({"source": list("aab"), "target": list("bcc"), "delay_ms": 1.5}),
    }
    assert mw.network_from_frames(**frames).brokers == ("a", "b", "c")
    frames[table] = frames[table].assign(**change)
    with pytest.raises(InputFileError, match=f"^{re.escape(fault)}"):
        mw.network_from_frames(**frames)


def test_a_row_of_a_filtered_frame_is_told_by_its_index_too() -> None:
    interests = pd.DataFrame({"broker": list("abc"), "topic": list("xxx")}, index=list("uvw"))
    rates = pd.DataFrame({"topic": ["x", "y"], "publications": [1, "z"]}, index=[7, 9])
    with pytest.raises(InputFileError, match=r"^rates, row 1 \(index 9\): publications 'z' is not"):
        mw.network_from_frames(interests, rates)
    nowhere = rates.assign(publications=2, broker=[None, "a"])
    assert mw.network_from_frames(interests, nowhere).publishers is not None


def test_a_frame_without_rows_or_with_a_column_twice_is_refused(network: Snapshot) -> None:
    interests, rates, _ = mw.network_to_frames(network)
    with pytest.raises(InputFileError, match=r"^interests: there are no rows"):
        mw.network_from_frames(interests[:0], rates)
    with pytest.raises(InputFileError, match=r"^interests: the header repeats 'broker', 'topic'"):
        mw.network_from_frames(pd.concat([interests, interests], axis=1), rates)


@pytest.mark.parametrize("name", DESIGNS)
def test_an_overlay_is_the_same_after_a_journey_through_a_graph(
    name: str, network: Snapshot
) -> None:
    overlay = mw.build(name, network)
    graph = mw.to_networkx(overlay)
    assert sorted(map(sorted, graph.edges)) == sorted(map(sorted, overlay.links))
    back = mw.from_networkx(graph)
    assert (back.design, back.params, back.brokers) == (
        overlay.design, overlay.params, overlay.brokers,
    )  # fmt: skip
    assert back.positions == overlay.positions
    assert {frozenset(link) for link in back.links} == {frozenset(link) for link in overlay.links}


def test_any_graph_is_an_overlay(network: Snapshot) -> None:
    ring = mw.from_networkx(nx.cycle_graph(network.brokers))
    assert ring.design == "gm"
    assert mw.evaluate(ring, network).degree_max == 2


@pytest.mark.parametrize(
    ("graph", "design", "fault"),
    [
        (nx.Graph([("a", "a"), ("a", "b")]), None, "'a' is linked to itself; remove the link."),
        (nx.cycle_graph("abcd"), "tree", "closes a cycle"),
        (nx.Graph([("a", "b"), ("c", "d")]), "star", "overlays of star are of the design 'tree'"),
        (nx.Graph([("a", "b"), ("c", "d")]), "tree", "no links lead from 'a' to 'c'"),
        (nx.Graph([("a", "b")], design="nope"), None, "there is no design 'nope'"),
        (nx.Graph([("a", "b")], params=[1]), None, "from_networkx: Expected `object`"),
        (nx.Graph([(1, "1")]), None, "broker '1' is named twice"),
        (nx.Graph([("a", "b\n")]), None, "ends with a blank"),
        (nx.Graph(), None, "the overlay has no brokers"),
        (nx.DiGraph([("a", "b")]), None, "the graph is a DiGraph; give networkx.Graph(graph)"),
        (nx.MultiGraph([("a", "b")]), None, "the graph is a MultiGraph; give networkx.Graph(gr"),
        ([1], None, "from_networkx: graph is <class 'list'>; it must be a networkx.Graph."),
    ],
)  # fmt: skip
def test_what_files_refuse_is_refused_of_graphs(graph: Any, design: str | None, fault: str) -> None:
    with pytest.raises(CallerError, match=re.escape(fault)):
        mw.from_networkx(graph, design)


def test_a_graph_has_positions_for_all_or_for_none() -> None:
    graph = nx.path_graph("abc")
    graph.nodes["a"]["position"] = 1
    with pytest.raises(CallerError, match="broker 'b' has no position"):
        mw.from_networkx(graph, "chord")


def test_without_networkx_a_sentence_says_what_to_install(
    network: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(OperatorError, match=r"pip install 'meshwright\[networkx\]'"):
        mw.to_networkx(mw.build("chord", network))


def test_a_comparison_and_a_plan_agree_with_each_other(network: Snapshot) -> None:
    star = mw.build("star", network)
    found = mw.compare(network, ["chord", "gm", "tree"], today=star)
    assert found.table.design.iloc[0] == found.recommended
    parts = found.table[["messages", "relays", "delay", "management", "reconfiguration", "links"]]
    assert parts.sum(axis=1).to_numpy() == pytest.approx(found.table.price.to_numpy())
    prices = found.table.set_index("design").price
    made = mw.plan(network, "gm", today=star)
    assert made.price is not None
    assert bool(made.steps) == (prices["gm"] < prices["now"])
    assert made.price.before.total == pytest.approx(prices["now"])


@pytest.mark.parametrize(
    ("verb", "arguments", "fault"),
    [
        ("build", {"k": "2"}, "build: k is '2'; it must be a whole number or None."),
        ("build", {"k": 1.5}, "k is 1.5; it must be a whole number"),
        ("build", {"k": True}, "k is True; it must be a whole number"),
        ("build", {"seed": -1}, "seed is -1; it must be a whole number >= 0"),
        ("build", {"seed": "x"}, "seed is 'x'"),
        ("build", {"design": None}, "design is None; it must be a string"),
        ("build", {"network": "a.csv"}, "network is 'a.csv'; it must be a Snapshot"),
        ("compare", {"weights": {"relay": 1}}, "weights is {'relay': 1}; it must be a PriceW"),
        ("compare", {"degree_max": "3"}, "degree_max is '3'; it must be a whole number >= 0"),
        ("compare", {"degree_max": -1}, "compare: degree_max is -1"),
        ("compare", {"designs": [1]}, "designs is [1]; it must be a sequence of which each is a s"),
        ("plan", {"today": "overlay.json"}, "today is 'overlay.json'; it must be an Overlay or"),
        ("plan", {"objective": "best"}, "objective is 'best'; it must be 'net' or 'cost'"),
        ("evaluate", {"delay_weight": "a"}, "delay_weight is 'a'; it must be a finite number"),
        ("evaluate", {"delay_weight": -1}, "delay_weight is -1; it must be a finite number >= 0"),
        ("evaluate", {"overlay": None}, "overlay is None; it must be an Overlay"),
        ("told_worth", {"plan": np.zeros(3)}, "told_worth: plan is a ndarray; it must be a Plan"),
        ("network_from_frames", {"interests": [1]}, "interests is [1]; it must be a DataFrame"),
        ("read_network", {"interests": 1}, "interests is 1; it must be a string or a Path"),
    ],
)
def test_an_argument_that_is_not_what_it_must_be_is_a_sentence(
    verb: str, arguments: dict[str, Any], fault: str, network: Snapshot
) -> None:
    overlay, (interests, rates, _) = mw.build("chord", network), mw.network_to_frames(network)
    fit: dict[str, dict[str, Any]] = {
        "build": {"design": "harary", "network": network},
        "compare": {"network": network},
        "plan": {"network": network, "design": "chord"},
        "evaluate": {"overlay": overlay, "network": network},
        "told_worth": {},
        "network_from_frames": {"interests": interests, "rates": rates},
        "read_network": {"rates": "rates.csv"},
    }
    with pytest.raises(ArgumentError, match=re.escape(fault)):
        getattr(mw, verb)(**fit[verb] | arguments)


def test_a_call_that_lacks_an_argument_is_python_s_own_error() -> None:
    with pytest.raises(TypeError, match="build: missing a required argument: 'network'"):
        mw.build("chord")


def test_numbers_of_numpy_become_python_s_own(network: Snapshot, tmp_path: Path) -> None:
    overlay = mw.build("harary", network, k=np.int64(2), seed=np.uint8(3))
    assert overlay == mw.build("harary", network, k=2, seed=3)
    mw.write_overlay(overlay, str(tmp_path / "overlay.json"))
    assert mw.read_overlay(str(tmp_path / "overlay.json")) == overlay
    plan = mw.plan(network, "chord")
    mw.write_plan(plan, str(tmp_path / "plan.json"))
    assert mw.read_plan(str(tmp_path / "plan.json")) == plan


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), 10**400, "1", None, True])
def test_a_weight_is_a_finite_number_of_zero_or_more(weight: Any) -> None:
    with pytest.raises(ArgumentError, match="it must be a finite number >= 0"):
        mw.PriceWeights(relay=weight)


def test_what_designs_are_judged_by_is_no_less_than_nothing() -> None:
    with pytest.raises(ArgumentError, match="Wish: degree_limit is -1"):
        Wish(degree_limit=-1)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
            assert cell["outputs"] == [], "a notebook is kept without outputs"
    assert (tmp_path / "overlay.svg").stat().st_size
    assert import_module("networkx").is_connected(names["graph"])
