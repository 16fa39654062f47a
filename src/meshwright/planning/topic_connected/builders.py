"""Every topic-connected design by name, and the one way to call it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from meshwright.errors import CallerError, ProblemError
from meshwright.model.interests import Int32Array, Interests
from meshwright.planning.topic_connected.best import best
from meshwright.planning.topic_connected.circulants import cycle, harary
from meshwright.planning.topic_connected.greedy import dcbm, gm, gm2, minmax
from meshwright.planning.topic_connected.validation import refuse_large_k


@dataclass(frozen=True, slots=True)
class Builder:
    """A design: its function, the k it can be asked for, and the keywords it takes.

    k_most is None where any k from k_least on will do. takes: which of k and rng it needs.
    """

    build: Callable[..., Int32Array]
    k_least: int
    k_most: int | None
    k_default: int
    takes: tuple[str, ...] = ()
    params: tuple[str, ...] = ()


BUILDERS: dict[str, Builder] = {
    "gm": Builder(gm, 1, 1, 1, params=("tie",)),
    "gm2": Builder(gm2, 2, 2, 2, params=("tie",)),
    "harary": Builder(harary, 1, None, 2, takes=("k", "rng"), params=("order",)),
    "cycle": Builder(cycle, 2, 2, 2, takes=("rng",)),
    "dcbm": Builder(dcbm, 1, 1, 1, takes=("rng",), params=("part_count", "bulk_topic_count")),
    "minmax": Builder(minmax, 1, 1, 1),
    "best": Builder(best, 2, None, 2, takes=("k",)),
}


def build_links(
    design: str,
    interests: Interests,
    *,
    k: int | None = None,
    rng: np.random.Generator,
    **params: object,
) -> Int32Array:
    """Links of a design, (link, 2), lower broker first, in order of addition; k None is its own."""
    if design not in BUILDERS:
        raise CallerError(f"design is {design!r}: choose one of {', '.join(BUILDERS)}")
    builder = BUILDERS[design]
    for name in params:
        if name not in builder.params:
            known = ", ".join(builder.params) or "no parameters"
            raise CallerError(f"the design {design} has no parameter {name!r}; it takes {known}")
    wanted_k = supported_k(design, k, interests.row_count)
    given: dict[str, object] = {"k": wanted_k, "rng": rng}
    return builder.build(interests, **{name: given[name] for name in builder.takes}, **params)


def supported_k(design: str, k: int | None, broker_count: int) -> int:
    """The k that a design builds for when asked for k, or its default."""
    builder = BUILDERS[design]
    if k is None:
        return builder.k_default
    if k < builder.k_least or (builder.k_most is not None and k > builder.k_most):
        fitting = " or ".join(
            name
            for name, other in BUILDERS.items()
            if other.k_least <= k and (other.k_most is None or k <= other.k_most)
        )
        only = "only for" if builder.k_most is not None else "only from"
        advice = f"choose {fitting}" if fitting else "k is at least 1"
        raise ProblemError(
            f"The design {design} cannot be built for k = {k}, {only} k = {builder.k_least}"
            f"{'' if builder.k_most is not None else ' on'}; {advice}."
        )
    refuse_large_k(k, broker_count)
    return k
