"""The one way to call what chooses the links of a topic-connected design."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from pkgutil import resolve_name

import numpy as np

from meshwright.errors import CallerError, ProblemError
from meshwright.model.designs import DESIGNS, check_params, design
from meshwright.model.identifiers import topic_key
from meshwright.model.interests import Int32Array, Interests
from meshwright.planning.topic_connected.validation import refuse_large_k


def build_links(
    name: str,
    interests: Interests,
    *,
    k: int | None = None,
    rng: np.random.Generator,
    topics: Sequence[str] | None = None,
    **params: object,
) -> Int32Array:
    """Links of a design, (link, 2), lower broker first, in order of addition; k None is its own.

    topics: their names, for a design that draws by them; without, by their numbers.
    """
    reference = design(name).choose_links
    if reference is None:
        raise CallerError(f"the design {name} does not choose links; choose one of {_choosing()}")
    check_params(name, params)
    choose: Callable[..., Int32Array] = resolve_name(reference)
    given: dict[str, object] = {"k": supported_k(name, k, interests.row_count), "rng": rng}
    taken = signature(choose).parameters
    if topics is not None and "topic_keys" in taken:
        given["topic_keys"] = np.array([topic_key(topic) for topic in topics], dtype=np.int64)
    return choose(interests, **{one: given[one] for one in given if one in taken}, **params)


def supported_k(name: str, k: int | None, broker_count: int) -> int:
    """The k that a design builds for when asked for k, or its own."""
    row = design(name)
    if k is None:
        return row.k_own
    if not row.can_be_asked(k):
        fitting = " or ".join(
            other
            for other, entry in DESIGNS.items()
            if entry.forwarding == "topic_connected" and entry.can_be_asked(k)
        )
        only = "only for" if row.k_most is not None else "only from"
        advice = f"choose {fitting}" if fitting else "k is at least 1"
        raise ProblemError(
            f"The design {name} cannot be built for k = {k}, {only} k = {row.k_least}"
            f"{'' if row.k_most is not None else ' on'}; {advice}."
        )
    refuse_large_k(k, broker_count)
    return k


def _choosing() -> str:
    return ", ".join(name for name, row in DESIGNS.items() if row.choose_links is not None)
