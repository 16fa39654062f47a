"""Goals of a plan: hard ones that no plan may break, and soft ones in their order."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

from meshwright.errors import SettingError
from meshwright.model.wording import counted

HardGoal = Literal["k_min", "clients_max", "messages_per_s_max", "degree_max"]
SoftGoal = Literal["cost", "delay", "moved_clients", "moved_brokers", "load_spread", "links"]

Count = Annotated[int, msgspec.Meta(ge=1)]
Amount = Annotated[float, msgspec.Meta(gt=0.0)]

HARD_GOALS: tuple[HardGoal, ...] = get_args(HardGoal)


class Goals(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a plan must keep, each None for any, and what it is chosen by.

    k_min: brokers that must die to part the interested brokers of a topic. clients_max: clients at
    one broker. messages_per_s_max: between brokers, sent and received by one. degree_max: links of
    one broker. prefer: of plans that keep these, the lower in the first of these is taken; of
    equals the lower in the second, and so on.
    """

    k_min: Count | None = None
    clients_max: Count | None = None
    messages_per_s_max: Amount | None = None
    degree_max: Count | None = None
    prefer: Annotated[tuple[SoftGoal, ...], msgspec.Meta(min_length=1)] = ("cost",)

    @property
    def are_hard(self) -> bool:
        """Whether there is anything that a plan could break."""
        return any(getattr(self, name) is not None for name in HARD_GOALS)

    def check(self, within: tuple[str, ...] = ()) -> None:
        """Refuse goals that contradict each other; within: the tables that they stand in."""
        k_min, degree_max = self.k_min, self.degree_max
        if k_min is not None and degree_max is not None and degree_max < k_min:
            raise SettingError(
                (*within, "degree_max"),
                f"k_min = {k_min} takes {counted(k_min, 'link')} of a broker, "
                f"and degree_max = {degree_max} allows fewer",
                remedy="raise degree_max or lower k_min",
            )
        twice = [name for name in self.prefer if self.prefer.count(name) > 1]
        if twice:
            raise SettingError(
                (*within, "prefer"),
                f"prefer names {twice[0]!r} twice",
                remedy="name each goal once",
            )


class BrokenGoal(msgspec.Struct, frozen=True, kw_only=True):
    """A hard goal that a plan would break: where it is broken most, and at how many places.

    where: a topic for k_min, a broker for the others.
    """

    goal: HardGoal
    limit: float
    found: float
    where: str
    place_count: int

    @property
    def sentence(self) -> str:
        """Which goal, and where it is broken."""
        place, worth = _WORDS[self.goal]
        others = self.place_count - 1
        more = f", and {counted(others, f'more {place}')} as well" if others else ""
        return (
            f"the goal {self.goal} = {self.limit:g} is broken at {place} {self.where!r}: "
            f"{worth.format(f'{self.found:,.6g}')}{more}"
        )


_WORDS: dict[HardGoal, tuple[str, str]] = {
    "k_min": ("topic", "the loss of {} of its brokers would part the others"),
    "clients_max": ("broker", "it would have {} clients"),
    "messages_per_s_max": ("broker", "it would send and receive {} messages a second"),
    "degree_max": ("broker", "it would have {} links"),
}
