"""Plans that a run is given: another overlay, clients that move, drawn from the seed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
import numpy as np

from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, Step
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay, design

# A builder of links that every topic-connected design may be changed to, whatever its k.
OTHER_LINKS = "harary"
SWAP_COUNT = 2
MOVE_COUNT = 2


def drawn_plan(
    overlay: Overlay, snapshot: Snapshot, rng: np.random.Generator, *, k: int | None
) -> Plan:
    """A plan to an overlay that is right for its design, and no better than the one before."""
    if design(overlay.design).forwarding == "topic_connected":
        other = build_overlay(OTHER_LINKS, snapshot, k=k, rng=rng, order="random")
        target = msgspec.structs.replace(overlay, links=other.links)
    else:
        target = swapped(overlay, rng)
    return Plan(
        source=overlay,
        target=target,
        steps=_steps(overlay, target),
        cost=PlanCost(
            before=0.0,
            after=0.0,
            overhead_external_before=0.0,
            overhead_external_after=0.0,
            delay_before=0.0,
            delay_after=0.0,
        ),
        reconfiguration_cost=0.0,
        net_benefit=0.0,
        moved=len(set(overlay.links) ^ set(target.links)),
        summary="Another overlay, drawn by chance.",
    )


def with_moves(plan: Plan, homes: dict[str, str], rng: np.random.Generator) -> Plan:
    """A plan in which some clients go from their homes to other brokers besides."""
    clients = [list(homes)[index] for index in rng.permutation(len(homes))[:MOVE_COUNT]]
    brokers = plan.target.brokers
    targets = [brokers[index] for index in rng.integers(len(brokers), size=len(clients))]
    moves = [(client, homes[client], to) for client, to in zip(clients, targets, strict=True)]
    steps = (*plan.steps, *_by_chance("move_client", moves))
    return msgspec.structs.replace(plan, steps=steps)


def swapped(overlay: Overlay, rng: np.random.Generator) -> Overlay:
    """The same shape with some brokers in each other's places."""
    count = min(2 * SWAP_COUNT, len(overlay.brokers) // 2 * 2)
    chosen = [overlay.brokers[index] for index in rng.permutation(len(overlay.brokers))[:count]]
    pairs = list(zip(chosen[::2], chosen[1::2], strict=True))
    seats = {name: name for name in overlay.brokers}
    for one, other in pairs:
        seats[one], seats[other] = other, one
    links = [tuple(sorted((seats[one], seats[other]))) for one, other in overlay.links]
    positions = overlay.positions
    if positions is not None:
        positions = {name: positions[seats[name]] for name in overlay.brokers}
    return msgspec.structs.replace(
        overlay, links=tuple((one, other) for one, other in links), positions=positions
    )


def _steps(source: Overlay, target: Overlay) -> tuple[Step, ...]:
    before, after = set(source.links), set(target.links)
    return (
        *_by_chance("add_link", [link for link in target.links if link not in before]),
        *_by_chance("remove_link", [link for link in source.links if link not in after]),
    )


def _by_chance(
    action: Literal["add_link", "remove_link", "move_client"], involved: Iterable[tuple[str, ...]]
) -> list[Step]:
    return [
        Step(
            action=action,
            brokers=names,
            why="drawn by chance",
            algorithm="chance",
            metric="none",
            before=0.0,
            after=0.0,
        )
        for names in involved
    ]
