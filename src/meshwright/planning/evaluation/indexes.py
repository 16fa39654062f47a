"""From the names of an overlay to the broker indexes of a snapshot."""

from __future__ import annotations

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot


def link_indexes(overlay: Overlay, snapshot: Snapshot) -> Int32Array:
    """Links as pairs of broker indexes, in the overlay's order: (link, 2)."""
    indexes = _broker_indexes(overlay, snapshot)
    pairs = [(indexes[one], indexes[other]) for one, other in overlay.links]
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def cube_positions(overlay: Overlay, snapshot: Snapshot) -> Int32Array:
    """The position of each broker on a hypercube, in the snapshot's order: (broker,)."""
    _broker_indexes(overlay, snapshot)
    seats = overlay.positions or {}
    if sorted(seats.values()) != list(range(len(overlay.brokers))):
        raise ProblemError(
            f"On a hypercube the positions of {len(overlay.brokers)} brokers are 0 to "
            f"{len(overlay.brokers) - 1}, one each; correct them."
        )
    return np.array([seats[name] for name in snapshot.brokers], dtype=np.int32)


def _broker_indexes(overlay: Overlay, snapshot: Snapshot) -> dict[str, int]:
    """The index of each broker in the snapshot, once both are found to name the same."""
    differing = sorted(set(overlay.brokers) ^ set(snapshot.brokers))
    if differing:
        holder = "overlay" if differing[0] in overlay.brokers else "snapshot"
        raise ProblemError(
            f"Broker {differing[0]!r} is in the {holder} alone; "
            "evaluate an overlay with the interests of exactly its brokers."
        )
    return {name: index for index, name in enumerate(snapshot.brokers)}
