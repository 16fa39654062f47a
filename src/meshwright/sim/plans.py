"""Plans that a run is given: another overlay of the same design, drawn from the seed."""

from __future__ import annotations

import msgspec
import numpy as np

from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, Step
from meshwright.model.snapshot import Snapshot
from meshwright.planning.designs import build_overlay, design

# A builder of links that every topic-connected design may be changed to, whatever its k.
OTHER_LINKS = "harary"
SWAP_COUNT = 2


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
    changes = [("add_link", link) for link in target.links if link not in before]
    changes += [("remove_link", link) for link in source.links if link not in after]
    return tuple(
        Step(
            action="add_link" if action == "add_link" else "remove_link",
            brokers=link,
            why="drawn by chance",
            algorithm="chance",
            metric="none",
            before=0.0,
            after=0.0,
        )
        for action, link in changes
    )
