"""The tables of states at the heads of files: complete, and held by those who change state."""

from __future__ import annotations

import pkgutil
from enum import Enum
from importlib import import_module

import pytest

import meshwright.protocol
from meshwright.protocol.foundation.transitions import Transitions


class Door(Enum):
    OPEN = "open"
    SHUT = "shut"
    LOCKED = "locked"


DOORS = Transitions(
    {Door.OPEN: (Door.SHUT,), Door.SHUT: (Door.OPEN, Door.LOCKED), Door.LOCKED: (Door.SHUT,)}
)


def tables() -> dict[str, Transitions[Enum]]:
    modules = pkgutil.walk_packages(meshwright.protocol.__path__, "meshwright.protocol.")
    return {
        f"{module.name}.{name}": value
        for module in modules
        for name, value in vars(import_module(module.name)).items()
        if isinstance(value, Transitions)
    }


TABLES = tables()


def test_a_state_follows_as_its_table_says() -> None:
    assert DOORS.checked(Door.OPEN, Door.SHUT) is Door.SHUT


def test_a_state_that_its_table_does_not_name_is_a_mistake_that_says_so() -> None:
    with pytest.raises(AssertionError, match=r"Door\.OPEN must not become Door\.LOCKED"):
        DOORS.checked(Door.OPEN, Door.LOCKED)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_a_line_for_each_state_in_their_order(name: str) -> None:
    following = TABLES[name].following
    states = type(next(iter(following)))
    assert list(following) == list(states)


@pytest.mark.parametrize("name", TABLES)
def test_every_state_of_a_table_is_reached_from_the_first(name: str) -> None:
    following = TABLES[name].following
    reached, waiting = set(), [next(iter(following))]
    while waiting:
        state = waiting.pop()
        if state not in reached:
            reached.add(state)
            waiting.extend(following[state])
    assert reached == set(following)
