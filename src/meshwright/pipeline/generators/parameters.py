"""Everything that a person may choose about a generated trace; the defaults are the paper's.

What the paper leaves open is chosen by us: see docs/papers/dynatops.md.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import msgspec

from meshwright.errors import OperatorError, ProblemError
from meshwright.model.times import SECOND_US

PatternName = Literal["uniform", "zipf", "multimodal"]
PublishBy = Literal["equal", "popularity"]
POLE, DATE_LINE = 90.0, 180.0
MIDDLE_DAYS_MIN = 1.0
HOURS_OF_A_DAY = 24


class SharedParameters(msgspec.Struct, frozen=True, kw_only=True):
    """What both models have."""

    users: int
    begin: str = "2010-08-01T00:00:00Z"
    publications_per_hour: float = 1.0
    """Of each topic, on average over topics."""
    publish_by: PublishBy = "equal"
    payload_bytes: int = 100
    seed: int = 0

    def begin_us(self) -> int:
        """The begin in microseconds since 1970."""
        try:
            begin = datetime.fromisoformat(self.begin)
        except ValueError:
            raise OperatorError(
                f"{self.begin!r} is no time; write it as in 2010-08-01T00:00:00Z."
            ) from None
        aware = begin if begin.tzinfo is not None else begin.replace(tzinfo=UTC)
        return round(aware.timestamp()) * SECOND_US


class PoissonParameters(SharedParameters, frozen=True, kw_only=True):
    """Users who change one of their topics now and then [DYNATOPS, 1.6]."""

    users: int = 50_000
    publications_per_hour: float = 30.0
    """The paper does not say; below about 18 no broker's move pays within ten hours."""
    brokers: int = 100
    topics: int = 1000
    topics_per_user: int = 5
    hours: float = 100.0
    changes_per_hour: float = 0.1
    """Of each user."""
    pattern: PatternName = "uniform"
    zipf_exponent: float = 1.0
    modes: int = 100
    leaving_share: float = 0.1
    """Multimodal: changes that draw the new topic from another mode than the user's own."""
    delay_ms: float = 1.0

    def expected_rows(self) -> float:
        """Rows of the trace, on average: each change ends one subscription and begins another."""
        changes = self.changes_per_hour * self.hours
        by_users = self.users * (1 + self.topics_per_user + 2 * changes)
        by_topics = self.topics * self.publications_per_hour * self.hours
        return by_users + by_topics + self.brokers**2

    def refuse_impossible(self) -> None:
        """Say what cannot be drawn."""
        self.begin_us()
        room = self.topics
        if self.pattern == "multimodal":
            if self.modes > self.topics or self.modes == 1:
                raise ProblemError(
                    f"{self.topics} topics do not fall into {self.modes} modes; "
                    f"choose between 2 and {self.topics} modes."
                )
            room = self.topics // self.modes
        if self.topics_per_user >= room:
            where = "its mode" if self.pattern == "multimodal" else "all topics"
            raise ProblemError(
                f"A user of {self.topics_per_user} topics finds no other among the {room} of "
                f"{where}; choose fewer topics for each user, or more topics."
            )


class LocationParameters(SharedParameters, frozen=True, kw_only=True):
    """Users who wander over a grid of cells, one broker in each [DYNATOPS, 1.6]."""

    users: int = 40_000
    rows: int = 20
    columns: int = 60
    cell_degrees: float = 1.0
    south: float = 25.0
    west: float = -125.0
    days: float = 92.0
    visits_per_user: float = 11.25
    checkins_per_visit: float = 1.5
    population_exponent: float = 1.0
    """Homes fall on cells by rank to this negative power."""
    explore_share: float = 0.26
    explore_decay: float = 0.21
    """A user who knows S cells goes to a new one with probability share * S ** -decay."""
    jump_exponent: float = 1.0
    """A new cell is farther than d cells with probability d ** -exponent."""
    short_share: float = 0.5
    short_median_hours: float = 6.0
    short_sigma: float = 0.6
    middle_share: float = 0.4
    middle_days_max: float = 7.0
    long_exponent: float = 1.5
    long_days_max: float = 92.0
    friends: int = 4
    venues_per_cell: int = 50
    rtt_shape: float = 10.0
    rtt_least_ms: float = 5.0
    rtt_ms_per_km: float = 0.02

    def expected_rows(self) -> float:
        """Rows of the trace, about: most are check-ins, publications and delays between cells."""
        cells = self.rows * self.columns
        checkins = self.visits_per_user * self.checkins_per_visit
        by_users = self.users * (1 + checkins + self.friends)
        by_cells = cells * self.publications_per_hour * self.days * HOURS_OF_A_DAY
        return by_users + by_cells + cells**2

    def refuse_impossible(self) -> None:
        """Say what cannot be drawn."""
        self.begin_us()
        north = self.south + self.rows * self.cell_degrees
        east = self.west + self.columns * self.cell_degrees
        if max(-self.south, north) > POLE or max(-self.west, east) > DATE_LINE:
            raise ProblemError(
                f"The grid from {self.south:g}, {self.west:g} to {north:g}, {east:g} leaves the "
                "world; choose fewer or smaller cells, or another corner."
            )
        if any(end / self.cell_degrees % 1 for end in (self.south, self.west)):
            raise ProblemError(
                f"The corner {self.south:g}, {self.west:g} lies inside a cell; choose multiples of "
                f"{self.cell_degrees:g} degrees."
            )
        if self.short_share + self.middle_share > 1.0:
            raise ProblemError(
                "Short and middle stays are more than all stays; choose shares with a sum up to 1."
            )
        if not MIDDLE_DAYS_MIN <= self.middle_days_max < self.long_days_max:
            raise ProblemError("Stays must grow: choose 1 <= --middle-days-max < --long-days-max.")
        if self.friends >= self.users:
            raise ProblemError(
                f"{self.users} users cannot have {self.friends} friends each; choose fewer."
            )
