"""The states of a machine as a table: which of them may follow which."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Generic, TypeVar

State = TypeVar("State", bound=Enum)


class Transitions(Generic[State]):
    """Stands at the head of a file; following: a line for each state, with those after it.

    A state whose line does not name itself is not entered twice in a row. A machine that is over is
    forgotten by its owner, so the last states of most tables have lines with nothing in them.
    """

    __slots__ = ("following",)

    def __init__(self, following: Mapping[State, tuple[State, ...]]) -> None:
        self.following = following

    def checked(self, before: State, after: State) -> State:
        """The state after another; one that the table does not name there is our own mistake."""
        assert after in self.following[before], f"{before} must not become {after}"
        return after
