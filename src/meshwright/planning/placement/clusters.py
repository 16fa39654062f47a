"""Clusters of brokers that tell each other what their clients want, and who is near [DYNATOPS]."""

from __future__ import annotations

import math

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array


def one_cluster(broker_count: int) -> Int32Array:
    """Every broker knows every other: (broker,)."""
    return np.zeros(broker_count, dtype=np.int32)


def random_clusters(broker_count: int, cluster_size: int, rng: np.random.Generator) -> Int32Array:
    """Random blocks of cluster_size brokers, the last one smaller: (broker,)."""
    _check_size(cluster_size)
    clusters = np.empty(broker_count, dtype=np.int32)
    clusters[rng.permutation(broker_count)] = np.arange(broker_count) // cluster_size
    return clusters


def geographic_clusters(coordinates: Float64Array, cluster_size: int) -> Int32Array:
    """Blocks of at most cluster_size neighbouring brokers, by halving the widest extent: (broker,).

    coordinates: latitude and longitude in degrees, (broker, 2).
    """
    _check_size(cluster_size)
    points = unit_vectors(coordinates)
    clusters = np.empty(len(points), dtype=np.int32)
    for number, block in enumerate(_blocks(points, np.arange(len(points)), cluster_size)):
        clusters[block] = number
    return clusters


def exchange_messages(clusters: Int32Array) -> int:
    """Messages of one T_update: every broker to every other of its cluster, |B|(c - 1)."""
    sizes = np.bincount(clusters)
    return int(np.sum(sizes * (sizes - 1)))


def nearest_brokers(client_places: Float64Array, broker_places: Float64Array) -> Int32Array:
    """The broker nearest to each client over the globe, ties to the lowest: (client,).

    Both hold latitude and longitude in degrees, (place, 2). Cost: clients times brokers.
    """
    clients, brokers = unit_vectors(client_places), unit_vectors(broker_places)
    if not len(brokers):
        raise ProblemError("Nobody is nearest where there are no brokers; give at least one.")
    nearest = np.zeros(len(clients), dtype=np.int32)
    least = np.full(len(clients), np.inf)
    for broker, place in enumerate(brokers):
        distances = np.square(clients - place).sum(axis=1)
        closer = distances < least
        nearest[closer] = broker
        least[closer] = distances[closer]
    return nearest


def unit_vectors(coordinates: Float64Array) -> Float64Array:
    """Points on the unit sphere, where straight distances rank as those over the globe do."""
    latitudes, longitudes = np.radians(np.asarray(coordinates, dtype=np.float64)).T
    columns = (
        np.cos(latitudes) * np.cos(longitudes),
        np.cos(latitudes) * np.sin(longitudes),
        np.sin(latitudes),
    )
    return np.stack(columns, axis=1)


def _blocks(points: Float64Array, members: Int64Array, size: int) -> list[Int64Array]:
    """Members split into the fewest blocks, whole ones first."""
    block_count = math.ceil(len(members) / size)
    if block_count <= 1:
        return [members]
    extents = np.ptp(points[members], axis=0)
    along = points[members, int(np.argmax(extents))]
    ordered = members[np.argsort(along, kind="stable")]
    cut = (block_count // 2) * size
    return _blocks(points, ordered[:cut], size) + _blocks(points, ordered[cut:], size)


def _check_size(cluster_size: int) -> None:
    if cluster_size < 1:
        raise ProblemError(f"A cluster of {cluster_size} brokers serves nobody; choose 1 or more.")
