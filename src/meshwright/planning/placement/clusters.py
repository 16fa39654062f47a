"""Clusters of brokers that tell each other what their clients want, and who is near [DYNATOPS]."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array

# Brokers within this are near each other, whatever the others are.
NEAR_MS = 5.0


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


def delay_clusters(delays_ms: Float64Array, cluster_size: int) -> Int32Array:
    """Blocks of at most cluster_size brokers that are near each other, by delay: (broker,).

    The nearest are put together first. Brokers that are farther apart than NEAR_MS, and than half
    of the longest way, are never in one cluster, so that no client is sent across the world.
    delays_ms: one way, (broker, broker).
    """
    _check_size(cluster_size)
    count = len(delays_ms)
    ways = np.maximum(delays_ms, delays_ms.T)
    limit = max(NEAR_MS, float(ways.max(initial=0.0)) / 2)
    blocks = {broker: [broker] for broker in range(count)}
    block_of = list(range(count))
    firsts, seconds = np.triu_indices(count, k=1)
    for pair in np.argsort(ways[firsts, seconds], kind="stable").tolist():
        one, other = block_of[firsts[pair]], block_of[seconds[pair]]
        if one == other or len(blocks[one]) + len(blocks[other]) > cluster_size:
            continue
        if float(ways[np.ix_(blocks[one], blocks[other])].max()) <= limit:
            for broker in blocks[other]:
                block_of[broker] = one
            blocks[one] += blocks.pop(other)
    return _numbered(block_of)


def site_clusters(sites: Sequence[str], cluster_size: int) -> Int32Array:
    """The brokers of each site, in blocks of at most cluster_size: (broker,)."""
    _check_size(cluster_size)
    seen: Counter[str] = Counter()
    blocks = []
    for site in sites:
        blocks.append((site, seen[site] // cluster_size))
        seen[site] += 1
    return _numbered(blocks)


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


def _numbered(blocks: Sequence[Hashable]) -> Int32Array:
    """Blocks by number, in the order in which they come: (broker,)."""
    numbers = {block: number for number, block in enumerate(dict.fromkeys(blocks))}
    return np.array([numbers[block] for block in blocks], dtype=np.int32)


def _check_size(cluster_size: int) -> None:
    if cluster_size < 1:
        raise ProblemError(f"A cluster of {cluster_size} brokers serves nobody; choose 1 or more.")
