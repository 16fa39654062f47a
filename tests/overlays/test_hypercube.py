"""The hypercube of partitions: the published example, the tie rule, hosts and broadcasts."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from meshwright.errors import CallerError, ProblemError
from meshwright.overlays import hypercube as cubes
from meshwright.overlays.hypercube import Hypercube, hypercube

SHAPES = [(count, low) for count in (1, 2, 3, 4, 5, 7, 8, 20, 32, 100) for low in (None, 1)] + [
    (32, 2),
    (32, 4),
    (100, 4),
    (200, 6),
]


@pytest.fixture(params=SHAPES, ids=lambda shape: f"{shape[0]}-{shape[1]}")
def cube(request: pytest.FixtureRequest) -> Hypercube:
    broker_count, low_bit_count = request.param
    return hypercube(broker_count, low_bit_count=low_bit_count)


def test_the_published_example_has_eight_dominating_nodes_of_four_positions_each() -> None:
    cube = hypercube(32, low_bit_count=3)
    assert sorted(cube.dominators.tolist()) == [
        0b00000,
        0b00111,
        0b01000,
        0b01111,
        0b10000,
        0b10111,
        0b11000,
        0b11111,
    ]
    assert len({position >> 3 for position in range(32)}) == 4
    assert all(len(cubes.sub_partition(cube, int(d))) == 4 for d in cube.dominators)
    assert cubes.sub_partition(cube, 0).tolist() == [0b000, 0b001, 0b010, 0b100]
    assert cubes.path(0b01101, int(cube.dominating_nodes[0b01101])) == [0b01101, 0b01111]


def test_both_readings_of_adjacent_dominating_nodes_on_the_published_example() -> None:
    cube = hypercube(32, low_bit_count=3)
    assert len(cubes.dominator_links(cube, "length")) == 9
    assert len(cubes.dominator_links(cube, "cube")) == 3 * 2**3 // 2


@pytest.mark.parametrize(("dimension_count", "low"), [(5, 3), (8, 6), (8, 4), (6, 3), (7, 5)])
def test_the_literal_reading_falls_apart_and_the_cube_never_does(
    dimension_count: int, low: int
) -> None:
    cube = hypercube(1 << dimension_count, low_bit_count=low)
    connected = {}
    for reading in ("cube", "length"):
        joined = nx.Graph()
        joined.add_nodes_from(cube.dominators.tolist())
        joined.add_edges_from(cubes.dominator_links(cube, reading).tolist())
        connected[reading] = nx.is_connected(joined)
    assert connected == {"cube": True, "length": dimension_count - low >= low - 1}


def test_arrays_equal_the_plain_functions(cube: Hypercube) -> None:
    low = cube.low_bit_count
    linked = set()
    for position in range(cube.position_count):
        dominator = cubes.dominating_node(position, low)
        assert cube.hosts[position] == cubes.host(cube.broker_count, position)
        assert cube.dominating_nodes[position] == dominator
        assert cube.parents[position] == cubes.next_hop(position, dominator)
        assert cube.distances[position] == len(cubes.path(position, dominator)) - 1
        for other in cubes.neighbours(position, cube.dimension_count, low):
            ends = sorted((int(cube.hosts[position]), int(cube.hosts[other])))
            if ends[0] != ends[1]:
                linked.add(tuple(ends))
    assert [tuple(link) for link in cube.links.tolist()] == sorted(linked)


def test_each_position_walks_inside_its_sub_partition_to_the_nearest_dominating_node(
    cube: Hypercube,
) -> None:
    low_mask = (1 << cube.low_bit_count) - 1
    for position in range(cube.position_count):
        dominator = int(cube.dominating_nodes[position])
        assert dominator & low_mask in (0, low_mask)
        assert dominator >> cube.low_bit_count == position >> cube.low_bit_count
        partner = cubes.partner(dominator, cube.low_bit_count)
        assert (position ^ dominator).bit_count() <= (position ^ partner).bit_count()
        assert cube.distances[position] <= cube.low_bit_count // 2
        way = cubes.path(position, dominator)
        assert all(cube.dominating_nodes[step] == dominator for step in way)
        assert all(step.bit_count() == 1 for step in (a ^ b for a, b in pairwise(way)))


def test_sub_partitions_are_of_equal_size(cube: Hypercube) -> None:
    sizes = [len(cubes.sub_partition(cube, int(d))) for d in cube.dominators]
    assert sizes == [cube.position_count // len(cube.dominators)] * len(cube.dominators)
    assert len(cube.dominators) == 2 ** (cube.dimension_count - cube.low_bit_count + 1)


def test_a_broadcast_reaches_every_dominating_node_once_over_adjacent_ones(
    cube: Hypercube,
) -> None:
    adjacent = {tuple(link) for link in cubes.dominator_links(cube).tolist()}
    for origin in cube.dominators[:4].tolist():
        parents = cubes.broadcast_parents(cube, origin)
        hops = dict(
            zip(cube.dominators.tolist(), cubes.broadcast_hops(cube, origin).tolist(), strict=True)
        )
        for dominator, parent in zip(cube.dominators.tolist(), parents.tolist(), strict=True):
            if dominator == origin:
                assert (parent, hops[origin]) == (origin, 0)
            else:
                assert (min(dominator, parent), max(dominator, parent)) in adjacent
                assert hops[dominator] == hops[parent] + 1


def test_a_broadcast_forwards_only_over_dimensions_above_the_one_it_came_over() -> None:
    cube = hypercube(32, low_bit_count=3)
    expected = {0: 0}
    pending = [(0, -1)]
    while pending:
        word, arrived_over = pending.pop()
        for dimension in range(arrived_over + 1, 3):
            expected[word ^ (1 << dimension)] = word
            pending.append((word ^ (1 << dimension), dimension))
    parents = [int(cube.dominators[expected[word]]) for word in range(8)]
    assert cubes.broadcast_parents(cube, 0).tolist() == parents


@pytest.mark.parametrize("broker_count", [*range(1, 40), 1000, 1200])
def test_every_broker_hosts_one_or_two_positions(broker_count: int) -> None:
    hosted = np.bincount(hypercube(broker_count).hosts)
    assert len(hosted) == broker_count
    assert set(hosted.tolist()) <= {1, 2}


def test_impossible_shapes_are_refused() -> None:
    with pytest.raises(ProblemError, match="at least one broker"):
        hypercube(0)
    with pytest.raises(ProblemError, match="between 1 and 4"):
        hypercube(32, low_bit_count=5)
    with pytest.raises(CallerError, match="no dominating node"):
        cubes.broadcast_parents(hypercube(32), 1)
