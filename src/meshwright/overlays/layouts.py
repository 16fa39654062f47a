"""Where each broker stands on the page: rings, cubes, layers and stress layouts as plain arrays.

All points lie in the unit disc, (broker, 2). Links are index pairs, (link, 2).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

from meshwright.model.designs import DESIGNS
from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array
from meshwright.overlays.graph import components, graph
from meshwright.overlays.tree import path, tree

STRESS_BROKERS_MAX = 1500
STRESS_ROUNDS = 80
# Each dimension of a cube is drawn so much shorter than the one before it, so that none hides.
CUBE_SHRINK = 0.68


def overlay_links(overlay: Overlay) -> Int32Array:
    """Links of an overlay as indexes of its brokers: (link, 2)."""
    indexes = {name: index for index, name in enumerate(overlay.brokers)}
    pairs = [(indexes[one], indexes[other]) for one, other in overlay.links]
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def overlay_points(overlay: Overlay, *, seed: int) -> Float64Array:
    """Cubes and rings where brokers have positions, layers for trees, else by hop distances."""
    links = overlay_links(overlay)
    count = len(overlay.brokers)
    if overlay.positions is not None:
        identifiers = np.array([overlay.positions[name] for name in overlay.brokers])
        known = DESIGNS.get(overlay.design)
        is_cube = known is not None and known.geometry == "hypercube"
        return cube_points(identifiers) if is_cube else ring_points(identifiers)
    if is_tree(count, links):
        return layered_points(count, links)
    if count <= STRESS_BROKERS_MAX:
        return stress_points(count, links, seed=seed)
    return ring_points(np.arange(count))


def ring_points(identifiers: np.ndarray) -> Float64Array:
    """Brokers on a circle, clockwise from the top in the order of their identifiers."""
    ranks = np.argsort(np.argsort(identifiers, kind="stable"), kind="stable")
    angles = np.pi / 2 - 2 * np.pi * ranks / len(ranks)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def cube_points(identifiers: np.ndarray) -> Float64Array:
    """Brokers at the corners of a cube of many dimensions, each of which has its direction."""
    dimensions = max(int(identifiers.max()).bit_length(), 1)
    bits = (identifiers[:, None] >> np.arange(dimensions)[::-1]) & 1
    angles = np.pi / 12 + np.pi * np.arange(dimensions) / max(dimensions, 2)
    lengths = CUBE_SHRINK ** np.arange(dimensions)
    directions = lengths[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points: Float64Array = (2 * bits - 1) @ directions
    return points / max(float(np.hypot(points[:, 0], points[:, 1]).max()), 1e-9)


def layered_points(count: int, links: Int32Array) -> Float64Array:
    """A tree on concentric layers around its middle; a branch gets room by its leaves.

    The first branch goes up, so that a chain stands upright, with room for names beside it.
    """
    root = tree_middle(count, links)
    hung = tree(count, links, root=root)
    order, parents = hung.order, hung.parents
    leaves = np.zeros(count, dtype=np.float64)
    for broker in order[:0:-1]:
        leaves[broker] = max(leaves[broker], 1.0)
        leaves[parents[broker]] += leaves[broker]
    begins = np.zeros(count, dtype=np.float64)
    used = np.zeros(count, dtype=np.float64)
    for broker in order[1:]:
        parent = parents[broker]
        begins[broker] = begins[parent] + used[parent]
        used[parent] += leaves[broker]
    turns = (begins + leaves / 2) / max(leaves[root], 1.0)
    angles = np.pi / 2 - 2 * np.pi * (turns - turns[order[min(1, count - 1)]])
    radii = hung.depths / max(int(hung.depths.max()), 1)
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points: Float64Array = radii[:, None] * directions
    return points


def stress_points(count: int, links: Int32Array, *, seed: int) -> Float64Array:
    """Distances on the page close to hop distances: stress majorisation from a random start.

    Brokers that no path joins are put two hops beyond the widest part.
    """
    hops = shortest_path(_matrix(count, links), directed=False, unweighted=True)
    joined = np.isfinite(hops)
    hops[~joined] = hops[joined].max() + 2.0
    weights = 1.0 / np.maximum(hops, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    pseudo_inverse = np.linalg.inv(laplacian + 1.0 / count) - 1.0 / count
    points = np.random.default_rng(seed).normal(size=(count, 2))
    for _ in range(STRESS_ROUNDS):
        gaps = cdist(points, points)
        pulls = -weights * hops / np.maximum(gaps, 1e-9)
        np.fill_diagonal(pulls, 0.0)
        np.fill_diagonal(pulls, -pulls.sum(axis=1))
        points = pseudo_inverse @ (pulls @ points)
    points -= points.mean(axis=0)
    return points / max(float(np.sqrt((points**2).sum(axis=1)).max()), 1e-9)


def is_tree(count: int, links: Int32Array) -> bool:
    """True where the links join all brokers without a cycle."""
    return len(links) == count - 1 and not components(graph(count, links)).any()


def tree_middle(count: int, links: Int32Array) -> int:
    """The broker with the fewest hops to the farthest one; the lowest of equals.

    It stands in the middle of a longest path, and so does the only other that may equal it.
    """
    one_end = int(np.argmax(tree(count, links).depths))
    hung = tree(count, links, root=one_end)
    longest = path(hung, int(np.argmax(hung.depths)), one_end)
    return min(longest[(len(longest) - 1) // 2], longest[len(longest) // 2])


def _matrix(count: int, links: Int32Array) -> csr_array:
    ones = np.ones(len(links), dtype=np.int8)
    return coo_array((ones, (links[:, 0], links[:, 1])), shape=(count, count)).tocsr()
