"""Bytes and plain values become values of a type, in any thread.

msgspec looks at the fields of a type when it first meets it, and a second thread that meets the
type meanwhile, or one that holds it, reads fields that are not there yet: the process crashes. So
types are looked at one at a time, all of them here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_LOOKING = threading.Lock()
_DECODERS: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoded(content: bytes | str, kind: type[T]) -> T:
    """JSON as a value; raises what msgspec raises."""
    found: T = _decoder(kind).decode(content)
    return found


def converted(
    value: Any,
    kind: type[T],
    *,
    strict: bool = True,
    hook: Callable[[type, Any], Any] | None = None,
) -> T:
    """Plain values as a value; strict: text is no number. hook: for types unknown to msgspec."""
    _decoder(kind)
    return msgspec.convert(value, kind, strict=strict, dec_hook=hook)


def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    with _LOOKING:
        known = _DECODERS.get(kind)
        if known is None:
            known = _DECODERS[kind] = msgspec.json.Decoder(kind)
        return known
