"""What `import meshwright` gives: quick to import, there and back again, and as it is described."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import meshwright as mw
from meshwright.errors import MeshwrightError, OperatorError
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import DESIGNS
from meshwright.model.snapshot import Snapshot

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
    with pytest.raises(OperatorError, match="choose net or cost"):
        mw.plan(network, "gm", objective="best")


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
