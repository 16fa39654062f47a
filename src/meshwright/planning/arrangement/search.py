"""What an arrangement method is given to work with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import numpy as np

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.delays import (
    anneal_by_delays,
    greedy_by_delays,
    walk_costs_by_delays,
)
from meshwright.planning.arrangement.kernels.descents import descents_of
from meshwright.planning.arrangement.kernels.search import anneal, greedy, walk_costs
from meshwright.planning.arrangement.kernels.swaps import Tables
from meshwright.planning.arrangement.kernels.ways import DelayTables, Hops, hops_of
from meshwright.planning.arrangement.problem import Problem

AnyTables = Tables | DelayTables
T = TypeVar("T", Tables, Hops)


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What a method is asked: a better arrangement than the start, (broker,).

    net: whether reconfiguration counts, for methods that have the choice.
    """

    problem: Problem
    start: Int32Array
    tables: AnyTables
    seed: int
    net: bool


def new_search(problem: Problem, start: Int32Array, *, seed: int = 0, net: bool = True) -> Search:
    """A search from a start."""
    plain = search_tables(problem)
    tables: AnyTables = plain
    if problem.knows_delays:
        hop_costs = problem.delay_weight * problem.hop_costs
        hop_costs.setflags(write=False)
        tables = DelayTables(plain, hop_costs, _frozen(hops_of(plain.parents)))
    return Search(problem, frozen_positions(start), tables, seed, net)


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
        assignment_costs=problem.entry_costs
        if problem.knows_delays
        else problem.delay_weight * problem.delay_costs + problem.entry_costs,
    )
    return _frozen(tables)


def priced_tables(tables: AnyTables, start: Int32Array, move_price: float) -> AnyTables:
    """The same, where a broker pays a price anywhere but at its start: (broker,)."""
    if isinstance(tables, DelayTables):
        priced = _priced(tables.tables, start, move_price)
        return tables._replace(tables=priced)
    return _priced(tables, start, move_price)


def _priced(tables: Tables, start: Int32Array, move_price: float) -> Tables:
    assignment_costs = tables.assignment_costs + move_price
    brokers = np.arange(len(start))
    assignment_costs[brokers, start] = tables.assignment_costs[brokers, start]
    return _frozen(tables._replace(assignment_costs=assignment_costs))


def _frozen(tables: T) -> T:
    for table in tables:
        table.setflags(write=False)
    return tables


def greedy_swaps(tables: AnyTables, start: Int32Array, tries: int) -> Int32Array:
    """Swaps of the bottleneck broker until `tries` were in vain: (swap, 2)."""
    swaps: Int32Array = (
        greedy_by_delays(tables, start, tries)
        if isinstance(tables, DelayTables)
        else greedy(tables, start, tries)
    )
    return swaps


def annealed(
    tables: AnyTables, start: Int32Array, proposals: Int32Array, patience: Float64Array
) -> Int32Array:
    """Positions after the proposed swaps that were borne with: (broker,)."""
    positions: Int32Array = (
        anneal_by_delays(tables, start, proposals, patience)
        if isinstance(tables, DelayTables)
        else anneal(tables, start, proposals, patience)
    )
    return positions


def costs_along(tables: AnyTables, start: Int32Array, swaps: Int32Array) -> Float64Array:
    """Cost at the start and after each of the swaps: (swap + 1,)."""
    costs: Float64Array = (
        walk_costs_by_delays(tables, start, swaps)
        if isinstance(tables, DelayTables)
        else walk_costs(tables, start, swaps)
    )
    return costs
