"""What an arrangement method is given to work with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from meshwright.model.interests import Int32Array
from meshwright.planning.arrangement.kernels.descents import descents_of
from meshwright.planning.arrangement.kernels.swaps import Tables
from meshwright.planning.arrangement.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What a method is asked: a better arrangement than the start, (broker,).

    net: whether reconfiguration counts, for methods that have the choice.
    """

    problem: Problem
    start: Int32Array
    tables: Tables
    seed: int
    net: bool


def new_search(problem: Problem, start: Int32Array, *, seed: int = 0, net: bool = True) -> Search:
    """A search from a start."""
    return Search(problem, frozen_positions(start), search_tables(problem), seed, net)


def frozen_positions(positions: Int32Array) -> Int32Array:
    """A read-only copy: kernels are compiled for this one kind of array."""
    frozen = np.array(positions, dtype=np.int32)
    frozen.setflags(write=False)
    return frozen


@lru_cache(maxsize=1)
def search_tables(problem: Problem) -> Tables:
    """What the kernels read; searches and costs of one problem ask for it one after another."""
    interests = problem.snapshot.interests
    members = interests.transposed()
    roots, trees = np.unique(problem.roots, return_inverse=True)
    parents, depths = problem.geometry.parents[roots], problem.geometry.hops[roots]
    descents, places, sizes = descents_of(parents, depths)
    tables = Tables(
        offsets=interests.offsets,
        topics=interests.columns,
        member_offsets=members.offsets,
        members=members.columns,
        publications=problem.snapshot.publications,
        trees=trees.astype(np.int32),
        roots=roots.astype(np.int32),
        parents=parents,
        depths=depths,
        descents=descents,
        places=places,
        sizes=sizes,
        assignment_costs=problem.delay_weight * problem.delay_costs,
    )
    return _frozen(tables)


def priced_tables(tables: Tables, start: Int32Array, move_price: float) -> Tables:
    """The same, where a broker pays a price anywhere but at its start: (broker,)."""
    assignment_costs = tables.assignment_costs + move_price
    brokers = np.arange(len(start))
    assignment_costs[brokers, start] = tables.assignment_costs[brokers, start]
    return _frozen(tables._replace(assignment_costs=assignment_costs))


def _frozen(tables: Tables) -> Tables:
    for table in tables:
        table.setflags(write=False)
    return tables
