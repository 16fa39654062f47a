"""Values that many claims have: the mean of some rows, and two of them beside each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

Value = Callable[[pd.DataFrame], float]


def mean_of(column: str, **where: Any) -> Value:
    """The mean of a column over the rows that have these values."""

    def value(rows: pd.DataFrame) -> float:
        for name, wanted in where.items():
            rows = rows[rows[name] == wanted]
        return float(rows[column].mean())

    return value


def ratio(one: Value, other: Value) -> Value:
    """The first over the second."""
    return lambda rows: one(rows) / other(rows)


def difference(one: Value, other: Value) -> Value:
    """The first less the second."""
    return lambda rows: one(rows) - other(rows)
