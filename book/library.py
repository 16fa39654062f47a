"""docs/API.md, made of the names, signatures and docstrings of what `import meshwright` gives."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable

import meshwright
from book.markdown import WIDTH

HEAD = """# Meshwright as a library

`import meshwright` is quick: a verb loads what it needs when it is first used. This page is made by
`make reference` of the verbs themselves. [A notebook](notebooks/first-plan.ipynb) uses them.

```python
import meshwright as mw

network = mw.read_network("interests.csv", "rates.csv")
found = mw.compare(network)
print(found.table, found.reason)
mw.draw(found.overlay, "overlay.svg", network)
```

A `Count` or a `Seed` is a whole number of zero or more, a `Weight` a finite number of zero or more.
An argument that is not what it must be is an `ArgumentError` of `meshwright.errors`, as all that we
raise is a `MeshwrightError`.
"""


def library_page() -> str:
    """The page."""
    return "\n".join([HEAD, *(_entry(name) for name in sorted(meshwright.LIBRARY, key=str.lower))])


def _entry(name: str) -> str:
    """One name: how it is called, and its docstring."""
    thing = getattr(meshwright, name)
    told = inspect.cleandoc(inspect.getdoc(thing) or "")
    paragraphs = [_filled(paragraph) for paragraph in told.split("\n\n")]
    call = f"{name}{_signature(thing)}"
    if len(call) > WIDTH:
        call = _folded(call)
    return "\n".join([f"## {name}\n", f"```python\n{call}\n```\n", "\n\n".join(paragraphs), ""])


def _signature(thing: Callable[..., object]) -> str:
    """As it is written; defaults that are objects of ours stand by their type."""
    found = inspect.signature(thing)
    parameters = []
    for one in found.parameters.values():
        kind = type(one.default)
        is_ours = kind.__module__.startswith("meshwright")
        told = thing.__annotations__[one.name]
        default = _Written(f"{kind.__name__}()") if is_ours else one.default
        parameters.append(one.replace(default=default, annotation=_written(told)))
    answer = _written(found.return_annotation)
    return str(found.replace(parameters=parameters, return_annotation=answer))


class _Written(str):
    """A default or a type that is shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _written(annotation: object) -> object:
    return _Written(annotation) if isinstance(annotation, str) else annotation


def _folded(call: str) -> str:
    """A long call with an argument to a line."""
    name, rest = call.split("(", 1)
    arguments, answer = rest.rsplit(")", 1)
    lines, depth, start = [], 0, 0
    for at, letter in enumerate(arguments):
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and not depth:
            lines.append(arguments[start : at + 1].strip())
            start = at + 1
    lines.append(arguments[start:].strip() + ",")
    return "\n".join([f"{name}(", *(f"    {line}" for line in lines), f"){answer}"])


def _filled(paragraph: str) -> str:
    return textwrap.fill(" ".join(paragraph.split()), WIDTH)
