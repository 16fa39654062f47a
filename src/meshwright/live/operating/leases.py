"""Which manager may give orders: one at a time, and never again one whose number was passed.

A manager asks for a lease with a number, and asks again before it runs out. Another one gets it
with a higher number, once the former has run out. Orders with a lower number than the highest that
was seen are refused; the highest is on disk, so that a broker that restarts refuses them too. How
long a lease lasts is not: numbers, not clocks, keep the orders of two managers apart.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from meshwright.errors import InputFileError, OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.reading import read_if_there
from meshwright.files.writing import write_whole
from meshwright.model.times import SECOND_US

LEASE_NAME = "lease.json"
SECONDS_MAX = 3_600.0
NUMBER_MAX = 2**63 - 1


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The highest number, and whose it is; "" while only an order told it."""

    manager: str = ""
    number: int = 0


class LeaseView(msgspec.Struct, frozen=True, kw_only=True):
    """A manager's lease: it runs out in left_s."""

    manager: str
    number: int
    left_s: float


class Leases:
    """What one broker knows of managers; raises OperatorError for what it refuses."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LEASE_NAME
        self._seen = Seen()
        self._ends_us = 0

    def open(self) -> None:
        """Go on from what was seen in earlier lives."""
        content = read_if_there(self._path)
        if content is None:
            return
        try:
            self._seen = decoded(content, Seen)
        except msgspec.MsgspecError as error:
            raise InputFileError(
                str(self._path),
                f"this is no manager's lease ({error})",
                remedy="restore it from a copy, or delete it if no manager runs",
            ) from None

    def view(self, now_us: int) -> LeaseView:
        """The last lease; number 0: there was none."""
        left_s = max(0, self._ends_us - now_us) / SECOND_US
        return LeaseView(manager=self._seen.manager, number=self._seen.number, left_s=left_s)

    def ask(self, now_us: int, wanted: Seen, seconds: float) -> LeaseView:
        """Give a lease, or a longer one; 0 seconds give it back."""
        seen = self._seen
        if wanted.number < seen.number:
            raise OperatorError(
                f"the number {wanted.number} of {wanted.manager} is behind {seen.number}"
                + (f" of {seen.manager}" if seen.manager else "")
            )
        if seen.manager not in ("", wanted.manager):
            left_s = self.view(now_us).left_s
            if left_s > 0:
                raise OperatorError(f"{seen.manager} holds the lease for {left_s:.1f} s more")
            if wanted.number == seen.number:
                raise OperatorError(
                    f"the number {wanted.number} is that of {seen.manager}; {wanted.manager} needs "
                    "a higher one"
                )
        self._remember(wanted)
        self._ends_us = now_us + round(seconds * SECOND_US)
        return self.view(now_us)

    def check(self, number: int) -> None:
        """Refuse the order of a manager whose number was passed."""
        if number < self._seen.number:
            raise OperatorError(
                f"the order's lease {number} is behind {self._seen.number}"
                + (f", which {self._seen.manager} holds" if self._seen.manager else "")
            )
        if number > self._seen.number:
            self._remember(Seen("", number))

    def _remember(self, seen: Seen) -> None:
        if seen != self._seen:
            write_whole({self._path: msgspec.json.encode(seen)}, is_private=True)
            self._seen = seen
