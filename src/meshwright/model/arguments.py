"""Arguments that are what their annotations say, or one sentence about the one that is not."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from meshwright.errors import ArgumentError

Count = Annotated[int, msgspec.Meta(ge=0)]
Seed = Annotated[int, msgspec.Meta(ge=0)]
Weight = Annotated[float, msgspec.Meta(ge=0.0)]

MISFIT = object()
UNIONS = (UnionType, Union)
WORDS: dict[Any, str] = {
    NoneType: "None",
    bool: "True or False",
    int: "a whole number",
    float: "a finite number",
    str: "a string",
}


def fitted(owner: str, name: str, value: Any, wanted: Any) -> Any:
    """The value as its annotation says, numbers as Python's own; owner: who takes it."""
    found = _fitted(value, wanted)
    if found is MISFIT:
        raise ArgumentError(owner, name, _shown(value), told(wanted))
    return found


def check_fields(owner: Any) -> None:
    """Refuse a value of ours with a field that is not what its annotation says."""
    kind: Callable[..., Any] = type(owner)
    for name, wanted in declared(kind).items():
        fitted(kind.__name__, name, getattr(owner, name), wanted)


@cache
def declared(owner: Callable[..., Any]) -> dict[str, Any]:
    """What a function or a class says of its arguments."""
    return get_type_hints(owner, include_extras=True)


def told(wanted: Any) -> str:
    """An annotation in words."""
    inner = get_args(wanted)
    match get_origin(wanted):
        case None:
            return WORDS.get(wanted) or _with_article(wanted.__name__)
        case kind if kind is Annotated:
            return f"{told(inner[0])} >= {inner[1].ge:g}"
        case kind if kind is Literal:
            return " or ".join(map(repr, inner))
        case kind if kind in UNIONS:
            return " or ".join(map(told, inner))
    return f"a sequence of which each is {told(inner[0])}"


def _fitted(value: Any, wanted: Any) -> Any:
    inner = get_args(wanted)
    match get_origin(wanted):
        case kind if kind is Annotated:
            found = _fitted(value, inner[0])
            return found if found is MISFIT or found >= inner[1].ge else MISFIT
        case kind if kind in UNIONS:
            tried = (_fitted(value, one) for one in inner)
            return next((found for found in tried if found is not MISFIT), MISFIT)
        case kind if kind is Literal:
            is_fit = isinstance(value, str) and value in inner
        case kind if kind is Sequence:
            is_fit = isinstance(value, Sequence)
            is_fit = is_fit and all(_fitted(one, inner[0]) is not MISFIT for one in value)
        case _ if wanted in {int, float}:
            return _number(value, wanted)
        case _:
            is_fit = wanted is Any or isinstance(value, wanted)
    return value if is_fit else MISFIT


def _number(value: Any, wanted: type) -> Any:
    """Python's own number for one of NumPy's, too; True is none, and neither is nan."""
    if isinstance(value, bool):
        return MISFIT
    if wanted is int:
        return int(value) if isinstance(value, Integral) else MISFIT
    try:
        found = float(value) if isinstance(value, Real) else math.nan
    except OverflowError:
        return MISFIT
    return found if math.isfinite(found) else MISFIT


def _shown(value: Any) -> str:
    """Plain values as they are written, of others what kind they are."""
    kind = type(value)
    return reprlib.repr(value) if kind.__module__ == "builtins" else _with_article(kind.__name__)


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
