"""All checkers of histories over one, and what they count."""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.history.across_topics import reordered_across
from meshwright.history.duplicated import duplicated
from meshwright.history.history import History
from meshwright.history.lost import lost
from meshwright.history.manners import unmannerly
from meshwright.history.reordered import reordered
from meshwright.history.unexpected import unexpected
from meshwright.history.violation import Violation
from meshwright.history.wills import wills_amiss

FOUND = ("lost", "duplicated", "reordered", "unexpected")
TOTALS = ("attempted", "acknowledged", "delivered", *FOUND)


def violations(history: History) -> list[Violation]:
    """Every promise to clients that was not kept."""
    return [
        *lost(history),
        *duplicated(history),
        *reordered(history),
        *reordered_across(history),
        *unexpected(history),
        *unmannerly(history),
        *wills_amiss(history),
    ]


def totals(history: History, found: Iterable[Violation]) -> dict[str, int]:
    """How much was tried and came through, and how much of what was found is of each kind."""
    checkers = [violation.checker for violation in found]
    return {
        "attempted": len(history.publications),
        "acknowledged": history.acknowledged_count(),
        "delivered": len(history.deliveries),
        **{name: checkers.count(name) for name in FOUND},
    }
