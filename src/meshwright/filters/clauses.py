"""Content clauses: what a filter asks of the user properties of a message.

`location=roomA&value>25`: = and != compare text, ^= the beginning of text, < <= > >= numbers. A
clause holds if some value of its attribute satisfies it: a property may be repeated, and another
value may satisfy another clause. Text that is no number satisfies no bound. Neither attribute nor
value is empty. Characters that mean something here or in a topic filter (% & = < > / + #, in an
attribute also ! and ^) are written as % and two hexadecimal digits: `unit=m%2Fs`. An attribute has
at most one =, one ^=, one lower and one upper bound; a second one is doubled, and refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from meshwright.errors import FilterError
from meshwright.filters.values import Values, number_of, values_of

Side = Literal["equal", "unequal", "prefix", "lower", "upper"]
Bound = tuple[Decimal, int]  # a number, and a step to just above or just below it

SIDES: dict[str, Side] = {
    "=": "equal",
    "!=": "unequal",
    "^=": "prefix",
    ">": "lower",
    ">=": "lower",
    "<": "upper",
    "<=": "upper",
}
STEPS = {">": 1, ">=": 0, "<": -1, "<=": 0}
JOINT = "&"
CLAUSES_MAX = 32  # comparing two filters costs the product of their clause counts

# Every number below zero is written with this sign in front; 0 may be.
MINUS = "-"
ZERO: Bound = (Decimal(0), 0)

_CLAUSE = re.compile(r"([^=<>]*?)(<=|>=|!=|\^=|=|<|>)(.*)", re.DOTALL)
_SPECIAL = re.compile(r"[%&=<>/+#]")
_SPECIAL_IN_ATTRIBUTE = re.compile(r"[%&=<>/+#!^]")
_ESCAPE = re.compile(r"%([0-7][0-9A-Fa-f])?")


@dataclass(frozen=True, slots=True, order=True)
class Clause:
    """One comparison; the spelling of a number counts in equality, but never in meaning."""

    attribute: str
    operator: str
    operand: str
    side: Side = field(init=False, repr=False, compare=False)
    bound: Bound | None = field(init=False, repr=False, compare=False)  # None compares text

    def __post_init__(self) -> None:
        object.__setattr__(self, "side", SIDES[self.operator])
        object.__setattr__(self, "bound", None)
        if self.operator in STEPS:
            number = number_of(self.operand)
            assert number is not None, self.operand
            object.__setattr__(self, "bound", (number, STEPS[self.operator]))

    def __str__(self) -> str:
        attribute = _escaped(self.attribute, _SPECIAL_IN_ATTRIBUTE)
        return f"{attribute}{self.operator}{_escaped(self.operand)}"


Clauses = tuple[Clause, ...]


def parse_clauses(text: str, suffix: str) -> Clauses:
    """Clauses of the suffix of a filter text, in canonical order."""
    parts = suffix.split(JOINT)
    if len(parts) > CLAUSES_MAX:
        raise FilterError(
            text, f"there are {len(parts)} clauses", remedy=f"use at most {CLAUSES_MAX}"
        )
    clauses: dict[tuple[str, ...], Clause] = {}
    for part in parts:
        clause = _parse_clause(text, part)
        # An attribute may be asked to differ from many values.
        only_one = (clause.operand,) if clause.side == "unequal" else ()
        if clauses.setdefault((clause.attribute, clause.side, *only_one), clause) is not clause:
            raise FilterError(
                text,
                f"the clause {part!r} doubles another",
                remedy="give an attribute at most one =, one ^=, one lower and one upper bound",
            )
    return tuple(sorted(clauses.values()))


def clauses_hold(clauses: Clauses, values: Mapping[str, Values]) -> bool:
    """True if every clause holds for a message with these values by attribute."""
    for clause in clauses:
        of_attribute = values.get(clause.attribute)
        if of_attribute is None or not _holds(clause, of_attribute):
            return False
    return True


def clauses_cover(wide: Clauses, narrow: Clauses) -> bool:
    """True if `wide` holds for every message for which `narrow` does; exact.

    Each wide clause must follow from a single narrow one: if none implies it, a message that
    repeats the property, with a value for each narrow clause, can avoid it.
    """
    return all(any(_implies(have, want) for have in narrow) for want in wide)


def clauses_union(one: Clauses, other: Clauses) -> Clauses | None:
    """Clauses that hold where all of one or all of the other hold, or None if there are none.

    What both imply remains. The rest means "p or q" for each p left of one and q of the other.
    That adds nothing only if p and q together take all that a remaining clause does: every number,
    where a bound remains (`value>20` and `value>10&value<=30` make `value>10`), or every text
    (`room^=a&room!=a1` and `room^=a&room!=a2` make `room^=a`).
    """
    one_left = [clause for clause in one if not clauses_cover((clause,), other)]
    other_left = [clause for clause in other if not clauses_cover((clause,), one)]
    left = {*one_left, *other_left}
    kept = _tightest(clause for clause in (*one, *other) if clause not in left)
    asked = {clause.attribute for clause in kept}
    bounded = {clause.attribute for clause in kept if clause.bound is not None}

    def adds_nothing(p: Clause, q: Clause) -> bool:
        if p.attribute != q.attribute:
            return False
        takes_all = p.attribute in asked and (_takes_the_rest(p, q) or _takes_the_rest(q, p))
        return takes_all or (p.attribute in bounded and (_span(p, q) or _span(q, p)))

    return kept if all(adds_nothing(p, q) for p in one_left for q in other_left) else None


def _parse_clause(text: str, part: str) -> Clause:
    if not part:
        raise FilterError(
            text, "a clause is empty", remedy="write $where/attribute=value&attribute>number/filter"
        )
    found = _CLAUSE.fullmatch(part)
    if found is None:
        raise FilterError(
            text, f"the clause {part!r} has no operator", remedy="use one of = != ^= < <= > >="
        )
    attribute, operator, operand = found.groups()
    if not attribute:
        raise FilterError(
            text,
            f"the clause {part!r} names no attribute",
            remedy=f"write a name before {operator!r}",
        )
    if not operand or operand[0] in "=<>":
        raise FilterError(
            text, f"the clause {part!r} has no value", remedy=f"write one after {operator!r}"
        )
    attribute, operand = _plain(text, attribute), _plain(text, operand)
    if operator in STEPS and number_of(operand) is None:
        raise FilterError(
            text,
            f"{operand!r} in the clause {part!r} is not a decimal number",
            remedy="write a number such as 25, -0.5 or 1e6, or compare text with =",
        )
    return Clause(attribute, operator, operand)


def _escaped(plain: str, special: re.Pattern[str] = _SPECIAL) -> str:
    return special.sub(lambda found: f"%{ord(found[0]):02X}", plain)


def _plain(text: str, escaped: str) -> str:
    """What an attribute or a value says."""

    def character(found: re.Match[str]) -> str:
        if found[1] is None or found[1] == "00":
            raise FilterError(
                text,
                "'%' begins no escape of an ASCII character",
                remedy="write %25 for it, and % with two hexadecimal digits for any other",
            )
        return chr(int(found[1], 16))

    return _ESCAPE.sub(character, escaped)


def _holds(clause: Clause, values: Values) -> bool:
    """True if some value satisfies the clause: for a bound the outermost number decides."""
    if clause.bound is None:
        if clause.side == "equal":
            return clause.operand in values.texts
        if clause.side == "prefix":
            return any(text.startswith(clause.operand) for text in values.texts)
        return any(text != clause.operand for text in values.texts)
    if values.smallest is None or values.largest is None:
        return False
    if clause.side == "lower":
        return (values.largest, 0) >= clause.bound
    return (values.smallest, 0) <= clause.bound


def _implies(narrow: Clause, wide: Clause) -> bool:
    """True if every value that satisfies `narrow` satisfies `wide`; exact."""
    if narrow.attribute != wide.attribute:
        return False
    if narrow.side == "equal":
        return _holds(wide, values_of(narrow.operand))
    if wide.side == "unequal":
        return not _holds(narrow, values_of(wide.operand))
    if wide.side == "prefix":
        if narrow.bound is not None:
            return narrow.side == "upper" and narrow.bound < ZERO and wide.operand == MINUS
        return narrow.side == "prefix" and narrow.operand.startswith(wide.operand)
    if narrow.bound is None or wide.bound is None or narrow.side != wide.side:
        return False
    return narrow.bound >= wide.bound if wide.side == "lower" else narrow.bound <= wide.bound


def _tightest(clauses: Iterable[Clause]) -> Clauses:
    """The clauses without those that another one implies, in canonical order."""
    kept: list[Clause] = []
    for clause in sorted(clauses):
        if not any(_implies(other, clause) for other in kept):
            kept = [other for other in kept if not _implies(clause, other)] + [clause]
    return tuple(kept)


def _takes_the_rest(one: Clause, other: Clause) -> bool:
    """True if `one` takes all texts but one, which `other` takes; they are of one attribute."""
    return one.side == "unequal" and _holds(other, values_of(one.operand))


def _span(lower: Clause, other: Clause) -> bool:
    """True if a lower bound and an upper bound, or a minus, together take every number."""
    if lower.side != "lower" or lower.bound is None:
        return False
    if other.side == "prefix":
        return other.operand == MINUS and lower.bound <= ZERO
    number, step = lower.bound
    return other.side == "upper" and other.bound is not None and (number, step - 1) <= other.bound
