"""The arrangement methods by name."""

from __future__ import annotations

from collections.abc import Callable

from meshwright.errors import ProblemError
from meshwright.planning.arrangement.best import best
from meshwright.planning.arrangement.paper import dynatops_greedy, hashed, lsap, ssbr_greedy
from meshwright.planning.arrangement.paths import SwapPath
from meshwright.planning.arrangement.search import Search

Method = Callable[[Search], SwapPath]

OURS = "best"
METHODS: dict[str, Method] = {
    "hash": hashed,
    "lsap": lsap,
    "ssbr-greedy": ssbr_greedy,
    "dynatops-greedy": dynatops_greedy,
    OURS: best,
}


def counts_ways_in(method: str) -> bool:
    """Whether a method lowers what ways in cost, too; those of the paper do not know them."""
    return method == OURS


def arrangement_method(name: str) -> Method:
    """The method of a name."""
    if name not in METHODS:
        raise ProblemError(
            f"There is no arrangement method {name!r}; choose one of {', '.join(METHODS)}."
        )
    return METHODS[name]
