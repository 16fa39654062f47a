"""Algorithm 1 in plain loops: the twin that the kernel must agree with."""

from __future__ import annotations

import math

from meshwright.planning.placement.clients import NO_BROKER, PlacementProblem
from meshwright.planning.placement.strategies import ROUNDING, PlacementRules


def plain_similarity(
    problem: PlacementProblem, rules: PlacementRules, homes: list[int], *, bounded: bool
) -> list[int]:
    """homes: the cluster of every client, as numbered in the problem."""
    clusters = problem.clusters.tolist()
    asking = [
        problem.asking is None or bool(problem.asking[client]) or broker == NO_BROKER
        for client, broker in enumerate(problem.clients.brokers.tolist())
    ]
    chosen = problem.clients.brokers.tolist()
    held = [0] * len(clusters)
    for broker, home in zip(chosen, homes, strict=True):
        if broker != NO_BROKER and clusters[broker] == home:
            held[broker] += 1
    for client in range(len(chosen)):
        if asking[client]:
            chosen[client] = _choice(problem, rules, (client, homes), held if bounded else None)
            current = int(problem.clients.brokers[client])
            if current != NO_BROKER and clusters[current] == homes[client]:
                held[current] -= 1
            held[chosen[client]] += 1
    return chosen


def cap_of(problem: PlacementProblem, rules: PlacementRules, homes: list[int], home: int) -> int:
    mean = homes.count(home) / problem.clusters.tolist().count(home)
    return max(math.ceil(mean), math.ceil((1.0 + rules.load_slack) * mean - ROUNDING))


def _choice(
    problem: PlacementProblem,
    rules: PlacementRules,
    asker: tuple[int, list[int]],
    held: list[int] | None,
) -> int:
    client, homes = asker
    current = int(problem.clients.brokers[client])
    home = homes[client]
    candidates = [b for b, c in enumerate(problem.clusters.tolist()) if c == home]
    if held is not None:
        cap = cap_of(problem, rules, homes, home)
        candidates = [b for b in candidates if held[b] - (b == current) < cap]
    scores = {b: _score(problem, rules, client, b) for b in candidates}
    others = [b for b in candidates if b != current]
    best = min(others, key=lambda b: (-scores[b][0], scores[b][1], b), default=current)
    if current not in scores or best == current:
        return best
    gain = scores[best][0] - scores[current][0]
    worth = gain > 0 and (held is None or gain >= rules.gain_min - ROUNDING)
    return best if worth else current


def _score(
    problem: PlacementProblem, rules: PlacementRules, client: int, broker: int
) -> tuple[float, int]:
    """Utility and viewed load of a broker without the client's own share."""
    viewed = problem.clients if problem.viewed is None else problem.viewed
    counted_here = int(viewed.brokers[client]) == broker == int(problem.clients.brokers[client])
    own = set(viewed.interests.of(client).tolist()) if counted_here else set()
    wanted = problem.clients.interests.of(client).tolist()
    hits = sum(int(problem.view.reference_counts[broker, t]) - (t in own) > 0 for t in wanted)
    load = int(problem.view.loads[broker]) - len(own)
    total = max(int(problem.view.loads.sum()), 1)
    return hits / max(len(wanted), 1) - rules.load_weight / total * load, load
