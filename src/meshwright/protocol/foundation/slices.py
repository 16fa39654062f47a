"""Long work done a piece in each step, so that other events are taken in between."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from meshwright.protocol.foundation.turn import Turn

GO_ON = ("slices",)
# Some milliseconds of filters to add or drop, or of messages to hand out.
PIECE = 100

# Does a piece of its work; True if there is more of it.
Piece = Callable[[Turn], bool]


class Slices:
    """The unfinished work of one broker; the pieces of several take turns."""

    def __init__(self) -> None:
        self._unfinished: deque[Piece] = deque()

    def begin(self, turn: Turn, work: Piece) -> None:
        """Do the first piece now, and the others in later steps."""
        if work(turn):
            self.add(turn, work)

    def add(self, turn: Turn, work: Piece) -> None:
        """Do all pieces in later steps."""
        self._unfinished.append(work)
        if len(self._unfinished) == 1:
            self._wake(turn)

    def go_on(self, turn: Turn) -> None:
        """Do a piece of what waits longest."""
        work = self._unfinished.popleft()
        if work(turn):
            self._unfinished.append(work)
        if self._unfinished:
            self._wake(turn)

    def _wake(self, turn: Turn) -> None:
        # Later than now: events that have come meanwhile go first.
        turn.timer(GO_ON, turn.now_us + 1)


class StepCount:
    """How often something was done in one step."""

    def __init__(self) -> None:
        self._number = 0
        self._count = 0

    def counts(self, turn: Turn) -> int:
        """Count it once more; returns how often it was done before in this step."""
        if self._number != turn.number:
            self._number, self._count = turn.number, 0
        self._count += 1
        return self._count - 1
