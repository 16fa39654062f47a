from __future__ import annotations

import numpy as np
import pytest

from meshwright.lab.workloads import generate_snapshot
from meshwright.overlays.key_geometries import key_geometry
from meshwright.planning.arrangement.paper import ssbr_greedy
from meshwright.planning.arrangement.problem import arrangement_problem, hash_positions
from meshwright.planning.arrangement.search import new_search
from meshwright.planning.arrangement.servers import shared_greedy


@pytest.mark.parametrize("server_count", [1, 2, 3, 7])
@pytest.mark.parametrize("seed", range(3))
def test_servers_find_together_the_swaps_that_one_finds(server_count: int, seed: int) -> None:
    snapshot = generate_snapshot(20, 30, 4, "multimodal", seed=seed)
    problem = arrangement_problem(snapshot, key_geometry("chord", 20))
    start = hash_positions(snapshot.brokers)
    alone = ssbr_greedy(new_search(problem, start)).swaps
    assert len(alone) > 0
    found = shared_greedy(problem, start, server_count)
    assert found.swaps.tolist() == alone.tolist()
    assert found.round_messages == 4 * (server_count - 1) * (len(alone) + 1)
    assert 20 <= found.report_messages <= 20 * server_count
    assert 1 / server_count <= found.largest_share < 2 / server_count + 1e-9


def test_a_server_without_topics_changes_nothing() -> None:
    snapshot = generate_snapshot(6, 2, 1, "unif", seed=0)
    problem = arrangement_problem(snapshot, key_geometry("chord", 6))
    start = np.arange(6, dtype=np.int32)
    one, many = (shared_greedy(problem, start, count) for count in (1, 5))
    assert one.swaps.tolist() == many.swaps.tolist()
