from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import ProblemError
from meshwright.planning.placement.clusters import (
    delay_clusters,
    exchange_messages,
    geographic_clusters,
    nearest_brokers,
    one_cluster,
    random_clusters,
    site_clusters,
    unit_vectors,
)

places = st.tuples(st.integers(-80, 80).map(float), st.integers(-179, 180).map(float))


@settings(max_examples=80)
@given(st.lists(places, min_size=1, max_size=30), st.integers(1, 8), st.integers(0, 9))
def test_clusters_are_whole_blocks_and_one_rest(
    coordinates: list[tuple[float, float]], size: int, seed: int
) -> None:
    count = len(coordinates)
    for clusters in (
        random_clusters(count, size, np.random.default_rng(seed)),
        geographic_clusters(np.array(coordinates), size),
    ):
        sizes = sorted(np.bincount(clusters).tolist(), reverse=True)
        assert sizes[: count // size] == [size] * (count // size)
        assert len(sizes) == math.ceil(count / size)
        assert sum(sizes) == count


def test_geography_puts_neighbours_together_across_the_date_line() -> None:
    coordinates = np.array([[0.0, 179.0], [0.0, 10.0], [0.0, -179.0], [0.0, 11.0]])
    clusters = geographic_clusters(coordinates, 2).tolist()
    assert clusters[0] == clusters[2] != clusters[1] == clusters[3]


def test_brokers_that_are_near_by_delay_share_a_cluster_whatever_their_order() -> None:
    rng = np.random.default_rng(1)
    site = rng.permutation(np.repeat(np.arange(3), 4))
    delays_ms = np.where(site[:, None] == site, 2.0, 80.0) + rng.uniform(0.0, 1.0, (12, 12))
    np.fill_diagonal(delays_ms, 0.0)
    for size, count in ((4, 3), (10, 3), (2, 6), (1, 12)):
        clusters = delay_clusters(delays_ms, size)
        assert len(set(clusters.tolist())) == count
        for cluster in set(clusters.tolist()):
            assert len(set(site[clusters == cluster].tolist())) == 1
    near = delay_clusters(delays_ms / 20.0, 12)  # all within a few milliseconds
    assert set(near.tolist()) == {0}


def test_brokers_of_a_site_share_clusters_and_no_others() -> None:
    sites = ["oslo", "rome", "oslo", "oslo", "rome", "bonn"]
    assert site_clusters(sites, 2).tolist() == [0, 1, 0, 2, 1, 3]
    assert site_clusters(sites, 9).tolist() == [0, 1, 0, 0, 1, 2]


def test_equal_clusters_exchange_brokers_times_size_less_one() -> None:
    assert exchange_messages(random_clusters(100, 5, np.random.default_rng(0))) == 100 * 4
    assert exchange_messages(one_cluster(10)) == 10 * 9


@settings(max_examples=60)
@given(st.lists(places, min_size=1, max_size=8), st.lists(places, min_size=1, max_size=8))
def test_the_nearest_broker_is_nearest_on_the_globe(
    clients: list[tuple[float, float]], brokers: list[tuple[float, float]]
) -> None:
    nearest = nearest_brokers(np.array(clients), np.array(brokers))
    for client, chosen in zip(clients, nearest.tolist(), strict=True):
        angles = [_angle(client, broker) for broker in brokers]
        assert angles[chosen] == pytest.approx(min(angles), abs=1e-6)


def test_of_two_brokers_in_one_place_the_lower_is_nearest() -> None:
    assert nearest_brokers(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]] * 2)).tolist() == [0]


def test_unit_vectors_have_unit_length() -> None:
    vectors = unit_vectors(np.array([[10.0, 20.0], [-45.0, 170.0]]))
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1.0, 1.0])


def test_questions_without_answer_are_refused() -> None:
    with pytest.raises(ProblemError, match="1 or more"):
        random_clusters(4, 0, np.random.default_rng(0))
    with pytest.raises(ProblemError, match="no brokers"):
        nearest_brokers(np.array([[0.0, 0.0]]), np.empty((0, 2)))


def _angle(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Central angle by the haversine formula."""
    (lat_a, lon_a), (lat_b, lon_b) = np.radians(one), np.radians(other)
    share = (
        math.sin((lat_b - lat_a) / 2) ** 2
        + math.cos(lat_a) * math.cos(lat_b) * math.sin((lon_b - lon_a) / 2) ** 2
    )
    return 2 * math.asin(min(1.0, math.sqrt(share)))
