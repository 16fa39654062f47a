"""Between arrangements and overlays: arrays of positions here, names and identifiers there."""

from __future__ import annotations

import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.designs import design
from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.key_geometries import seated_geometry


def arranged_overlay(
    design: str,
    snapshot: Snapshot,
    geometry: KeyGeometry,
    positions: Int32Array,
    params: dict[str, Parameter],
) -> Overlay:
    """The overlay of an arrangement; params are noted beside those of the geometry.

    Links follow the geometry, the lower broker first and in broker order.
    """
    brokers = np.argsort(positions)
    links = np.sort(brokers[geometry.links], axis=1)
    links = links[np.lexsort((links[:, 1], links[:, 0]))]
    names = snapshot.brokers
    identifiers = geometry.identifiers[positions].tolist()
    return Overlay(
        design=design,
        params={**geometry.params, **params},
        brokers=names,
        links=tuple((names[one], names[other]) for one, other in links.tolist()),
        positions=dict(zip(names, identifiers, strict=True)),
    )


def read_seats(
    overlay: Overlay, snapshot: Snapshot, geometry_name: str
) -> tuple[KeyGeometry, Int32Array]:
    """The geometry of an overlay and the arrangement of the snapshot's brokers on it."""
    if design(overlay.design).geometry != geometry_name:
        raise ProblemError(
            f"The overlay to start from is of design {overlay.design!r}, not {geometry_name!r}; "
            "start from one of the same geometry."
        )
    strangers = sorted(set(overlay.brokers) ^ set(snapshot.brokers))
    if strangers:
        raise ProblemError(
            f"Broker {strangers[0]!r} is either in the overlay or in the interests, "
            "but not in both; give both the same brokers."
        )
    seats = overlay.positions or {}
    if set(seats) != set(overlay.brokers) or len(set(seats.values())) != len(seats):
        raise ProblemError(
            "The overlay does not give each broker a position of its own; correct its positions."
        )
    seated = sorted(snapshot.brokers, key=lambda name: seats[name])
    geometry = seated_geometry(overlay, seated)
    identifiers = np.array([seats[name] for name in snapshot.brokers], dtype=np.int64)
    return geometry, np.searchsorted(geometry.identifiers, identifiers).astype(np.int32)
