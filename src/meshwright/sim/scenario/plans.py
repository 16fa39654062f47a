"""Plans that a run is given: another overlay, clients that move, drawn from the seed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Literal

import msgspec
import numpy as np

from meshwright.model.designs import design
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, Step
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.growth import with_broker
from meshwright.planning.designs import build_overlay
from meshwright.protocol.foundation.events import PlanGiven
from meshwright.protocol.reconfiguration.blocking import can_block
from meshwright.sim.world import World

# A builder of links that every topic-connected design may be changed to, whatever its k.
OTHER_LINKS = "harary"
SWAP_COUNT = 2
MOVE_COUNT = 2
# Between two plans on average; while one is under way the next may well be refused.
PLANS_APART_S = 3.0
BLOCKING_SHARE = 0.3
# What is decided about plans after the first one.
ACTIONS = ("apply", "apply", "apply", "undo", "abort")


def schedule_plans(
    world: World,
    overlay: Overlay,
    snapshot: Snapshot,
    rng: np.random.Generator,
    *,
    homes: dict[str, str],
    k: int | None,
    start_us: int,
    end_us: int,
) -> None:
    """Give plans to brokers: a first one, and others that may meet it at any of its steps.

    homes: the brokers of clients, of whom the first plan moves some.
    """
    plan = drawn_plan(overlay, snapshot, rng, k=k)
    action = _mode(overlay, plan.target, rng)
    if action == "apply":
        plan = with_moves(plan, homes, rng)
    at_us, broker = start_us, str(rng.choice(overlay.brokers))
    world.at(at_us, partial(_give, world, broker, PlanGiven(action, plan)))
    while True:
        at_us += int(rng.exponential(PLANS_APART_S) * 1_000_000) + 1
        if at_us >= end_us:
            return
        # Often the same broker again: what it forgot in a crash, it must not give out twice.
        broker = broker if rng.random() < 0.5 else str(rng.choice(overlay.brokers))
        given = _drawn_decision(overlay, snapshot, rng, k=k)
        world.at(at_us, partial(_give, world, broker, given))


def _give(world: World, broker: str, given: PlanGiven) -> None:
    """Hand over a plan, in which those have a place that have joined meanwhile."""
    machine, target = world.hosts[broker].machine, given.plan
    if machine is not None and isinstance(target, Overlay):
        for name in machine.observe().overlay.brokers:
            if name not in target.brokers:
                target = with_broker(target, name)
        given = PlanGiven(given.action, target)
    world.tell(broker, given)


def drawn_plan(
    overlay: Overlay,
    snapshot: Snapshot,
    rng: np.random.Generator,
    *,
    k: int | None,
    swap_count: int = SWAP_COUNT,
) -> Plan:
    """A plan to an overlay that is right for its design, and no better than the one before."""
    target = drawn_target(overlay, snapshot, rng, k=k, swap_count=swap_count)
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


def drawn_target(
    overlay: Overlay,
    snapshot: Snapshot,
    rng: np.random.Generator,
    *,
    k: int | None,
    swap_count: int = SWAP_COUNT,
) -> Overlay:
    """Another overlay of the same design that holds what the design promises."""
    if design(overlay.design).forwarding == "topic_connected":
        other = build_overlay(OTHER_LINKS, snapshot, k=k, rng=rng, order="random")
        return msgspec.structs.replace(overlay, links=other.links)
    return swapped(overlay, rng, swap_count)


def swapped(overlay: Overlay, rng: np.random.Generator, swap_count: int) -> Overlay:
    """The same shape with some brokers in each other's places."""
    count = min(2 * swap_count, len(overlay.brokers) // 2 * 2)
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


def _drawn_decision(
    overlay: Overlay, snapshot: Snapshot, rng: np.random.Generator, *, k: int | None
) -> PlanGiven:
    action = str(rng.choice(ACTIONS))
    if action != "apply":
        return PlanGiven(action, None)
    target = drawn_target(overlay, snapshot, rng, k=k)
    return PlanGiven(_mode(overlay, target, rng), target)


def _mode(source: Overlay, target: Overlay, rng: np.random.Generator) -> str:
    """How an overlay is changed: by epochs, or sometimes as the paper does, where that can be."""
    is_blocking = rng.random() < BLOCKING_SHARE and can_block(source, target)
    return "apply-blocking" if is_blocking else "apply"


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
