from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from meshwright.overlays.cohesion import cohesion

NAMES = "abcdefg"
PAIRS = [(one, other) for one in NAMES for other in NAMES if one < other]


@given(st.sets(st.sampled_from(PAIRS)), st.sets(st.sampled_from(NAMES)), st.integers(1, 3))
def test_cohesion_is_the_connectivity_of_the_part_with_the_members(
    links: set[tuple[str, str]], members: set[str], k: int
) -> None:
    whole = nx.Graph(sorted(links))
    whole.add_nodes_from(NAMES)
    part = whole.subgraph(members)
    neighbours = {name: set(whole[name]) for name in NAMES}
    is_complete = part.number_of_edges() == len(members) * (len(members) - 1) // 2
    expected = k if is_complete else min(k, nx.node_connectivity(part))
    assert cohesion(neighbours, members, k) == expected
