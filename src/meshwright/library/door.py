"""The door of the library: no verb is called with arguments that are not what it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from meshwright.model.arguments import declared, fitted


def opened(thing: Any) -> Any:
    """A verb that looks at its arguments first; a class looks at its fields itself."""
    return _checked(thing) if inspect.isfunction(thing) else thing


def _checked(verb: Callable[..., Any]) -> Callable[..., Any]:
    signature, wanted = inspect.signature(verb), declared(verb)

    @wraps(verb)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{verb.__name__}: {error}") from None
        given = {
            name: fitted(verb.__name__, name, value, wanted[name])
            for name, value in bound.arguments.items()
        }
        bound.arguments.update(given)
        return verb(*bound.args, **bound.kwargs)

    return call
