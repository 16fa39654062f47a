"""Small worlds for tests."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.model.overlay import Overlay
from meshwright.sim.brokers.host import Machine, Witness
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.world import World


def small_world(
    build: Callable[[str], Machine],
    brokers: tuple[str, ...] = ("b0", "b1"),
    *,
    seed: int = 0,
    settings: NetworkSettings | None = None,
    witness: Witness | None = None,
) -> World:
    """A world whose brokers are up from the first moment."""
    overlay = Overlay(design="tree", brokers=brokers, links=())
    world = World(overlay, build, settings or NetworkSettings(), streams(seed), witness=witness)
    for name in brokers:
        world.restart(name)
    return world
