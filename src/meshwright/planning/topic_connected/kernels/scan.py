"""Which pair a greedy builder adds next, by a level sweep over a matrix of falling scores.

A score never rises, so neither does the maximum: at each level one pass over the pairs finds all
that are added there, in the order of the step-by-step greedy with ties to the lowest pair.
The score of a pair is the sum of its two cells. Builders lower whichever cell lies in the row they
are working on, and the sweep folds the lower cell into the upper one when it comes by: both walk
along rows, which is what makes them fast.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.planning.topic_connected.kernels.membership import Membership

LOWEST_PAIR, LOWEST_DEGREE_SUM, LOWEST_MAXIMUM_DEGREE = 0, 1, 2
LEVEL, ROW, COLUMN, LIMIT = 0, 1, 2, 3
NO_SUM = 1 << 30


class Scan(NamedTuple):
    """Where a sweep stands.

    scores: signed, (broker, broker). row_bounds: at least the highest score of each row.
    row_sums: at most the lowest degree sum of a candidate in each row. degrees: of each broker so
    far. cursor: level, row, column (-1: row not yet entered), and a limit on degrees.
    """

    scores: NDArray[Any]
    row_bounds: Int32Array
    row_sums: Int32Array
    degrees: Int32Array
    cursor: Int64Array


@njit(cache=True)
def count_shared_topics(members: Membership, scores: NDArray[Any], weight: int) -> None:
    """Add to the upper cell of each pair the number of topics that it shares, times a weight."""
    for broker in range(len(scores)):
        for index in range(members.broker_offsets[broker], members.broker_offsets[broker + 1]):
            end = members.topic_offsets[members.broker_topics[index] + 1]
            for slot in range(members.broker_slots[index] + 1, end):
                scores[broker, members.slot_brokers[slot]] += weight


@njit(cache=True)
def new_scan(scores: NDArray[Any], degrees: Int32Array, tie: int) -> Scan:
    """A sweep about to start; degrees are those of the links that stand already."""
    broker_count = len(scores)
    row_bounds = np.empty(broker_count, dtype=np.int32)
    row_sums = np.zeros(broker_count, dtype=np.int32)
    scan = Scan(scores, row_bounds, row_sums, degrees, np.zeros(4, dtype=np.int64))
    if tie == LOWEST_MAXIMUM_DEGREE and broker_count > 0:
        scan.cursor[LIMIT] = degrees.max()
    _restart(scan)
    return scan


@njit(cache=True)
def next_pair(scan: Scan, tie: int) -> tuple[int, int]:
    """The pair to add next, or (-1, -1) when no pair scores; its degrees are counted up."""
    if tie == LOWEST_PAIR:
        left, right = _next_lowest_pair(scan)
    elif tie == LOWEST_DEGREE_SUM:
        left, right = _next_lowest_degree_sum(scan)
    else:
        left, right = _next_below_limit(scan)
    if left >= 0:
        scan.degrees[left] += 1
        scan.degrees[right] += 1
    return left, right


@njit(cache=True)
def _next_lowest_pair(scan: Scan) -> tuple[int, int]:
    """The pair of highest score; of equals the lowest."""
    row_bounds, cursor = scan.row_bounds, scan.cursor
    broker_count = len(row_bounds)
    while cursor[LEVEL] > 0:
        level = cursor[LEVEL]
        for row in range(cursor[ROW], broker_count):
            column = _entered(scan, row)
            while column < broker_count:
                if _reaches_level(scan.scores, row, column, level):
                    cursor[ROW] = row
                    cursor[COLUMN] = column + 1
                    return row, column
                column += 1
        cursor[LEVEL] = min(level - 1, row_bounds.max())
        cursor[ROW] = 0
    return -1, -1


@njit(cache=True)
def _next_lowest_degree_sum(scan: Scan) -> tuple[int, int]:
    """The pair of highest score; of equals the one of lowest degree sum, then the lowest.

    Degree sums only rise: at each level one pass a sum, over rows that may have such a candidate.
    """
    row_bounds, row_sums, degrees, cursor = scan[1:]
    broker_count = len(row_bounds)
    while cursor[LEVEL] > 0:
        level, limit = cursor[LEVEL], cursor[LIMIT]
        for row in range(cursor[ROW], broker_count):
            if cursor[COLUMN] < 0:
                if row_sums[row] > limit:
                    continue
                row_sums[row] = NO_SUM
            column = _entered(scan, row)
            while column < broker_count:
                if _reaches_level(scan.scores, row, column, level):
                    degree_sum = degrees[row] + degrees[column]
                    if degree_sum <= limit:
                        cursor[ROW] = row
                        cursor[COLUMN] = column + 1
                        return row, column
                    row_sums[row] = min(row_sums[row], degree_sum)
                column += 1
        cursor[ROW] = 0
        cursor[LIMIT] = row_sums.min()
        if cursor[LIMIT] == NO_SUM:
            cursor[LEVEL] = min(level - 1, row_bounds.max())
            cursor[LIMIT] = 0
            row_sums[:] = 0
    return -1, -1


@njit(cache=True)
def _next_below_limit(scan: Scan) -> tuple[int, int]:
    """The pair of highest score among those that raise the highest degree least, then the lowest.

    While a pair of brokers below the highest degree scores, no other is taken: pairs only leave
    that set, so it is swept level by level; then the limit rises by one and the sweep restarts.
    """
    row_bounds, _, degrees, cursor = scan[1:]
    broker_count = len(row_bounds)
    while True:
        while cursor[LEVEL] > 0:
            level = cursor[LEVEL]
            for row in range(cursor[ROW], broker_count):
                column = _entered(scan, row)
                while column < broker_count and degrees[row] < cursor[LIMIT]:
                    if degrees[column] < cursor[LIMIT] and _reaches_level(
                        scan.scores, row, column, level
                    ):
                        cursor[ROW] = row
                        cursor[COLUMN] = column + 1
                        return row, column
                    column += 1
            cursor[LEVEL] = min(level - 1, row_bounds.max())
            cursor[ROW] = 0
        _restart(scan)
        if cursor[LEVEL] == 0:
            return -1, -1
        cursor[LIMIT] += 1


@njit(cache=True)
def _reaches_level(scores: NDArray[Any], row: int, column: int, level: int) -> bool:
    """Whether a pair scores the level; folds its lower cell into the upper one on the way."""
    if scores[row, column] < level:
        return False
    scores[row, column] += scores[column, row]
    scores[column, row] = 0
    return bool(scores[row, column] == level)


@njit(cache=True)
def _entered(scan: Scan, row: int) -> int:
    """The column to go on from in a row; past the end if the row cannot reach the level."""
    column = int(scan.cursor[COLUMN])
    scan.cursor[COLUMN] = -1
    if column >= 0:
        return column
    level = scan.cursor[LEVEL]
    if scan.row_bounds[row] < level or _upper_bound(scan, row) < level:
        return len(scan.row_bounds)
    return row + 1


@njit(cache=True)
def _upper_bound(scan: Scan, row: int) -> int:
    """The highest upper cell of a row; a loop without branches, which the compiler vectorises."""
    highest = scan.scores[row, row]
    for column in range(row + 1, len(scan.scores)):
        highest = max(highest, scan.scores[row, column])
    scan.row_bounds[row] = highest
    return int(highest)


@njit(cache=True)
def _restart(scan: Scan) -> None:
    """Fold every pair and go back to the first row of the highest level that is left."""
    scores, cursor = scan.scores, scan.cursor
    cursor[LEVEL] = 0
    for row in range(len(scores)):
        for column in range(row + 1, len(scores)):
            scores[row, column] += scores[column, row]
            scores[column, row] = 0
        cursor[LEVEL] = max(cursor[LEVEL], _upper_bound(scan, row))
    cursor[ROW] = 0
    cursor[COLUMN] = -1
