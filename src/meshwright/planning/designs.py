"""What builds the overlays of the designs, found by the names in `meshwright.model.designs`."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

import numpy as np

from meshwright.model.designs import check_k, check_params, design, joined_as
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.snapshot import Snapshot


def build_overlay(
    name: str,
    snapshot: Snapshot,
    *,
    k: int | None = None,
    rng: np.random.Generator,
    **params: Parameter,
) -> Overlay:
    """The overlay of a design for a snapshot's brokers; params are those of its builder.

    k is how many brokers must die to part a topic: None for the design's own.
    """
    chosen = design(name)
    check_params(name, params)
    asked: dict[str, Any] = {**chosen.given, **params}
    if chosen.forwarding == "topic_connected":
        asked["k"] = k
    else:
        check_k(name, k)
    build: Callable[..., Overlay] = resolve_name(chosen.build)
    return build(joined_as(name), snapshot, rng=rng, **asked)
