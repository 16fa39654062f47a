"""How brokers of a topic-connected design are joined before anybody wants anything."""

from __future__ import annotations

import networkx as nx
import pytest

from meshwright.errors import ProblemError
from meshwright.model.designs import DESIGNS
from meshwright.model.overlay import Overlay
from meshwright.planning.founding import founding_overlay

CONNECTED = [name for name, row in DESIGNS.items() if row.choose_links is not None]


def founded(name: str, count: int, k: int | None = None) -> tuple[Overlay, nx.Graph]:
    overlay = founding_overlay(name, tuple(f"b{number:03}" for number in range(count)), k=k)
    joined = nx.Graph(overlay.links)
    joined.add_nodes_from(overlay.brokers)
    assert joined.number_of_edges() == len(overlay.links)
    return overlay, joined


@pytest.mark.parametrize("count", [2, 3, 4, 7, 8, 9, 16, 30])
@pytest.mark.parametrize("name", CONNECTED)
def test_no_broker_parts_the_others_and_all_have_as_many_links(name: str, count: int) -> None:
    overlay, joined = founded(name, count)
    assert overlay.params == {"k": DESIGNS[name].k_own}
    k = max(2, DESIGNS[name].k_own)
    assert nx.node_connectivity(joined) >= min(k, count - 1)
    degrees = [degree for _, degree in joined.degree()]
    assert max(degrees) == min(degrees)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("count", [6, 7, 8, 13, 25])
def test_the_k_that_is_asked_for_is_held(k: int, count: int) -> None:
    overlay, joined = founded("harary", count, k)
    assert overlay.params == {"k": k}
    assert nx.node_connectivity(joined) >= min(k, count - 1)
    degrees = [degree for _, degree in joined.degree()]
    assert max(degrees) - min(degrees) <= 1


@pytest.mark.parametrize("count", [8, 20, 64, 150])
def test_ways_grow_as_the_root_of_the_number_of_brokers(count: int) -> None:
    overlay, joined = founded("gm", count)
    assert nx.diameter(joined) <= count**0.5 + 1
    assert len(overlay.links) == 2 * count


def test_one_broker_has_no_links_and_a_k_that_cannot_be_is_refused() -> None:
    assert founded("gm", 1)[0].links == ()
    with pytest.raises(ProblemError, match="gm cannot be built for k = 2"):
        founded("gm", 8, 2)
    with pytest.raises(ProblemError, match="k = 9 is larger than the network of 8 brokers"):
        founded("harary", 8, 9)
