"""Our own arrangement: never worse than dynatops_greedy and lsap on what it sets out to raise.

The paper's greedy goes on past its bottleneck broker, also from the arrangement of least delay, and
annealed swaps look farther: from there and from where brokers are now. The price of a move is part
of the annealed cost, assignments count as they are too, every path is cut by the prefix rule, and
the best path of all is taken.
"""

from __future__ import annotations

import math

import numpy as np

from meshwright.model.interests import Int32Array
from meshwright.model.snapshot import Float64Array
from meshwright.planning.arrangement.kernels.ways import DelayTables
from meshwright.planning.arrangement.paper import cheapest_assignment, lsap
from meshwright.planning.arrangement.paths import (
    SwapPath,
    best_prefix,
    net_benefits,
    path_towards,
    swap_path,
)
from meshwright.planning.arrangement.reconfiguration import move_price
from meshwright.planning.arrangement.search import (
    AnyTables,
    Search,
    annealed,
    frozen_positions,
    greedy_swaps,
    priced_tables,
)

# Temperatures as shares of the mean cost of a broker.
TEMPERATURE_FIRST = 0.1
TEMPERATURE_LAST = 0.003
# Where delays are known, costs differ more from swap to swap: every other pair of runs begins so.
TEMPERATURE_FIRST_BY_DELAYS = 0.6
# How long one run of annealing goes on and how often it is done again, if the effort allows: that
# is counted in topics looked at, where judging a swap takes as long as a few topics more.
PROPOSALS_PER_BROKER = 3_000
# Of few brokers there are few arrangements: a run looks at each about so often.
PROPOSALS_PER_ARRANGEMENT = 10
# Annealing that must be shorter than this ends above where it began, and is left out.
PROPOSALS_PER_BROKER_MIN = 500
RUN_COUNT_MAX = 4
RUN_COUNT_MAX_BY_DELAYS = 12
EFFORT_TOPICS = 18_000_000
EFFORT_TOPICS_PER_SWAP = 7
# Where delays are known, whole ways are walked: measured from 20 to 1000 brokers, 2 to 4 times.
EFFORT_TIMES_BY_DELAYS = 3
# Swaps judged in vain before a greedy gives up.
FRUITLESS_SWAPS = 500_000


def best(search: Search) -> SwapPath:
    """The path of greatest benefit that several searches find, or an empty one.

    The benefit is net of reconfiguration, or the plain saving if the search is not `net`.
    """
    # The path of the paper's greedy is the beginning of this one, hence never worse.
    paths = [_greedy_path(search.tables, search.start, _tries(search)), lsap(search)]
    if search.problem.broker_count > 1:
        mean_cost = float(paths[0].costs[0]) / search.problem.broker_count
        paths.extend(
            path_towards(search.tables, search.start, target)
            for target in _annealed(search, mean_cost)
        )
    benefits = [_benefits(search, path) for path in paths]
    winner = int(np.argmax([np.max(values) for values in benefits]))
    return best_prefix(paths[winner], benefits[winner])


def _benefits(search: Search, path: SwapPath) -> Float64Array:
    if search.net:
        return net_benefits(search.problem, path)
    benefits: Float64Array = path.costs[0] - path.costs
    return benefits


def _greedy_path(tables: AnyTables, start: Int32Array, tries: int) -> SwapPath:
    return swap_path(tables, start, greedy_swaps(tables, start, tries))


def _annealed(search: Search, mean_cost: float) -> list[Int32Array]:
    """Arrangements from annealing, in turns from the cheapest assignment and from the start.

    The first is that assignment without annealing: where few topics cause most of the cost, and
    brokers want many, annealing may end above it.
    """
    tables = _tables(search)
    origins = (cheapest_assignment(_assignment_costs(search, tables)), search.start)
    run_count, proposal_count = _effort(search)
    targets = [_greedy_path(tables, origins[0], _tries(search)).target]
    for run, rng in enumerate(np.random.default_rng(search.seed).spawn(run_count)):
        proposals = _proposals(search.problem.broker_count, proposal_count, rng)
        is_hot = isinstance(tables, DelayTables) and run % 4 >= 2
        first = TEMPERATURE_FIRST_BY_DELAYS if is_hot else TEMPERATURE_FIRST
        patience = mean_cost * _patience_shares(proposal_count, first, rng)
        cooled = frozen_positions(annealed(tables, origins[run % 2], proposals, patience))
        targets.append(_greedy_path(tables, cooled, _tries(search)).target)
    return targets


def _tables(search: Search) -> AnyTables:
    """Tables in which a move has its price, where moves matter."""
    if not search.net:
        return search.tables
    price = move_price(search.problem.broker_count, search.problem.topic_count)
    return priced_tables(search.tables, search.start, price)


def _assignment_costs(search: Search, tables: AnyTables) -> Float64Array:
    """What each broker pays for each position; by hops, where it counts who sits between."""
    if not isinstance(tables, DelayTables):
        return tables.assignment_costs
    costs: Float64Array = (
        tables.tables.assignment_costs + search.problem.delay_weight * search.problem.delay_costs
    )
    return costs


def _tries(search: Search) -> int:
    return max(1, FRUITLESS_SWAPS // search.problem.broker_count)


def _effort(search: Search) -> tuple[int, int]:
    """How many runs of how many proposals; none where they would be too short."""
    broker_count = search.problem.broker_count
    topics_mean = search.problem.snapshot.interests.pair_count / broker_count
    per_swap = EFFORT_TOPICS_PER_SWAP + 2.0 * topics_mean
    if isinstance(search.tables, DelayTables):
        per_swap *= EFFORT_TIMES_BY_DELAYS
    affordable = math.ceil(EFFORT_TOPICS / per_swap)
    if affordable < PROPOSALS_PER_BROKER_MIN * broker_count:
        return 0, 0
    proposal_count = min(
        affordable,
        PROPOSALS_PER_BROKER * broker_count,
        PROPOSALS_PER_ARRANGEMENT * math.factorial(broker_count),
    )
    most = RUN_COUNT_MAX_BY_DELAYS if search.problem.knows_delays else RUN_COUNT_MAX
    return min(math.ceil(affordable / proposal_count), most), proposal_count


def _proposals(broker_count: int, proposal_count: int, rng: np.random.Generator) -> Int32Array:
    """Pairs of different brokers, evenly drawn: (proposal, 2)."""
    first = rng.integers(broker_count, size=proposal_count, dtype=np.int32)
    shift = rng.integers(1, broker_count, size=proposal_count, dtype=np.int32)
    return np.stack((first, (first + shift) % broker_count), axis=1).astype(np.int32)


def _patience_shares(
    proposal_count: int, temperature: float, rng: np.random.Generator
) -> Float64Array:
    """What a swap may cost, falling geometrically from a temperature but for chance: (proposal,).

    A cost is borne with probability exp(-cost / temperature) if it is less than the temperature
    times an exponential variate.
    """
    temperatures = np.geomspace(temperature, TEMPERATURE_LAST, proposal_count)
    shares: Float64Array = temperatures * rng.exponential(size=proposal_count)
    return shares
