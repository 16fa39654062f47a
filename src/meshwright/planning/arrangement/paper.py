"""The arrangements of the paper: hashing, optimal delay, and its two greedies [DYNATOPS]."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.paths import (
    SwapPath,
    best_prefix,
    net_benefits,
    path_towards,
    swap_path,
)
from meshwright.planning.arrangement.problem import hash_positions
from meshwright.planning.arrangement.search import Search, frozen_positions, greedy_swaps


def hashed(search: Search) -> SwapPath:
    """To the arrangement by hash, whatever it costs."""
    target = hash_positions(search.problem.snapshot.brokers)
    return path_towards(search.tables, search.start, target)


def lsap(search: Search) -> SwapPath:
    """To the least delay: a linear sum assignment, blind to relays [DYNATOPS, Lemma 3.1]."""
    target = cheapest_assignment(search.problem.delay_costs)
    return path_towards(search.tables, search.start, target)


def ssbr_greedy(search: Search) -> SwapPath:
    """The costliest broker makes its best swap, until that gains nothing [DYNATOPS, Alg. 2]."""
    return swap_path(search.tables, search.start, greedy_swaps(search.tables, search.start, 1))


def dynatops_greedy(search: Search) -> SwapPath:
    """The prefix of ssbr_greedy's path with the greatest net benefit [DYNATOPS, Alg. 4]."""
    path = ssbr_greedy(search)
    return best_prefix(path, net_benefits(search.problem, path))


def cheapest_assignment(costs: Float64Array) -> Int32Array:
    """The arrangement of least total cost, where (broker, position) costs do not interact."""
    _, positions = linear_sum_assignment(costs)
    return frozen_positions(positions.astype(np.int32))
