"""What a message says of itself: its user properties, gathered by attribute.

A number is an optional sign, digits, optionally a point and digits, optionally e or E, a sign and
at most three digits. It is kept exactly, never rounded; nan and inf are only text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

Properties = Iterable[tuple[str, str]]

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Values:
    """All values of one attribute, and the range of those that are numbers."""

    texts: tuple[str, ...]
    smallest: Decimal | None
    largest: Decimal | None


def values_by_attribute(properties: Properties) -> dict[str, Values]:
    """The values of each attribute, to be read only; gathered once, they make a clause cheap."""
    return _gathered(tuple(properties))


# A message is matched at many brokers, and in one process they share the answer.
@lru_cache(maxsize=1_024)
def _gathered(properties: tuple[tuple[str, str], ...]) -> dict[str, Values]:
    texts: dict[str, list[str]] = {}
    for attribute, text in properties:
        texts.setdefault(attribute, []).append(text)
    return {attribute: values_of(*of_attribute) for attribute, of_attribute in texts.items()}


def values_of(*texts: str) -> Values:
    """These texts as the values of one attribute."""
    numbers = [number for text in texts if (number := number_of(text)) is not None]
    return Values(texts, min(numbers, default=None), max(numbers, default=None))


def number_of(text: str) -> Decimal | None:
    """The number that a text spells, or None."""
    return Decimal(text) if _NUMBER.fullmatch(text) else None
