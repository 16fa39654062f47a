"""What may be asked of designs beside their names, as in `tapestry:base=4:neighbours=nearest`.

A parameter means the same in every design that takes it; a row of `meshwright.model.designs` says
which those are. Builders in planning have the usual values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from difflib import get_close_matches

from meshwright.errors import ProblemError
from meshwright.model.overlay import Parameter

SEPARATOR = ":"


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignParameter:
    """One parameter: what it is, and which values it has.

    kind: of its values; where there are choices, it is one of them. least: of numbers.
    is_fitting: it says how an overlay is fitted to what brokers want, so a network that is founded
    before anybody wants anything cannot follow it yet.
    """

    meaning: str
    kind: type[bool | int | float | str]
    choices: tuple[Parameter, ...] = ()
    least: float = 0.0
    is_fitting: bool = False


PARAMETERS: dict[str, DesignParameter] = {
    "arrangement": DesignParameter(
        meaning="how brokers get positions",
        kind=str,
        choices=("hash", "lsap", "ssbr-greedy", "dynatops-greedy", "best"),
        is_fitting=True,
    ),
    "delay_weight": DesignParameter(
        meaning="messages that one hop of delay is worth when brokers are arranged",
        kind=float,
        is_fitting=True,
    ),
    "base": DesignParameter(
        meaning="values of a digit of identifiers", kind=int, choices=(2, 4, 16, 256)
    ),
    "neighbours": DesignParameter(
        meaning="those nearest to an own image among identifiers, or by round trip",
        kind=str,
        choices=("mirror", "nearest"),
    ),
    "leaf_count": DesignParameter(meaning="neighbours on the ring", kind=int, least=2),
    "cell_degrees": DesignParameter(
        meaning="the side of cells of the map that topics are named after, in degrees",
        kind=float,
        least=1e-6,
    ),
    "low_bit_count": DesignParameter(
        meaning="dimensions of the cube that a partition spans", kind=int, least=1
    ),
    "events": DesignParameter(
        meaning="whom dominating nodes send events to", kind=str, choices=("selective", "broadcast")
    ),
    "subscriptions": DesignParameter(
        meaning="who knows of a subscription: its path, or all of its sub-partition",
        kind=str,
        choices=("path", "sub_partition"),
    ),
    "tie": DesignParameter(
        meaning="the lowest of equal pairs, or the one least linked",
        kind=str,
        choices=("pair", "degree"),
    ),
    "order": DesignParameter(
        meaning="the order of brokers that all topics share",
        kind=str,
        choices=("input", "random", "similarity", "fewest_edges"),
    ),
    "part_count": DesignParameter(
        meaning="parts that are joined on their own first", kind=int, least=1
    ),
    "bulk_topic_count": DesignParameter(
        meaning="topics above which a broker belongs to no part", kind=int
    ),
    "fanout": DesignParameter(meaning="brokers below each", kind=int, least=1),
    "adapted": DesignParameter(
        meaning="whether the tree is fitted to who shares topics", kind=bool, is_fitting=True
    ),
    "degree_max": DesignParameter(meaning="links that a broker may come to have", kind=int),
    "root": DesignParameter(meaning="the broker above all others", kind=str),
    "covering": DesignParameter(
        meaning="whether a filter is not told where a wider one was told", kind=bool
    ),
    "advertisements": DesignParameter(
        meaning="whether a filter is told only towards brokers that publish what it matches",
        kind=bool,
    ),
    "contents_max": DesignParameter(
        meaning="contents of a topic that are advertised one by one, not as a whole", kind=int
    ),
}


def read_params(design: str, texts: list[str], known: tuple[str, ...]) -> dict[str, Parameter]:
    """The values of texts such as base=4, in the order in which a design names its parameters."""
    found: dict[str, Parameter] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if name not in known:
            refuse_param(design, name, known)
        if not equals or name in found:
            raise ProblemError(
                f"{text!r} is not one value of a parameter of {design}; "
                f"write each once, as in {design}{SEPARATOR}{name}={example(name)}."
            )
        found[name] = _value(name, value)
    return {name: found[name] for name in known if name in found}


def refuse_param(design: str, name: str, known: tuple[str, ...]) -> None:
    """Say which parameters a design has, and which of them is most like the one asked for."""
    near = get_close_matches(name, known, n=1)
    advice = f"did you mean {near[0]!r}? It" if near else "it"
    raise ProblemError(
        f"The design {design} has no parameter {name!r}; {advice} takes "
        f"{', '.join(known) or 'none'}."
    )


def example(name: str) -> str:
    """A value that a parameter may have, as it is written."""
    row = PARAMETERS[name]
    if row.choices:
        return str(row.choices[-1])
    if row.kind is str:
        return "b1"
    return "true" if row.kind is bool else f"{max(row.least, 1.0):g}"


def written(value: Parameter) -> str:
    """A value as it is written in a design's name."""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value).lower() if isinstance(value, bool) else f"{value}"


def _value(name: str, text: str) -> Parameter:
    row = PARAMETERS[name]
    if row.choices:
        for choice in row.choices:
            if text == str(choice):
                return choice
        near = get_close_matches(text, map(str, row.choices), n=1)
        hint = f"did you mean {near[0]}? It is" if near else "it is"
        raise ProblemError(
            f"{name} cannot be {text!r}; {hint} one of {', '.join(map(str, row.choices))}."
        )
    if row.kind is bool:
        if text not in ("true", "false"):
            raise ProblemError(f"{name} cannot be {text!r}; it is true or false.")
        return text == "true"
    if row.kind is str:
        return text
    return _number(name, text, row)


def _number(name: str, text: str, row: DesignParameter) -> Parameter:
    whole = row.kind is int
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        number = math.nan
    if not row.least <= number < math.inf:
        kind = "a whole number" if whole else "a number"
        raise ProblemError(f"{name} cannot be {text!r}; it is {kind} from {row.least:g} on.")
    return number
