"""Brokers that come and go: what can be asked of a network, without planning anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from meshwright.errors import ProblemError
from meshwright.model.wording import counted

BROKER_COUNT_MIN = 2


@dataclass(frozen=True, slots=True)
class BrokerChange:
    """Brokers that come, and brokers that go."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def is_none(self) -> bool:
        return not (self.added or self.removed)

    def check(self, brokers: Sequence[str]) -> None:
        """Refuse what cannot be done to a network of these brokers."""
        for name in self.removed:
            if name not in brokers:
                raise ProblemError(
                    f"There is no broker {name!r} to remove; there are {', '.join(brokers)}."
                )
        for name in self.added:
            if name in brokers:
                raise ProblemError(f"Broker {name!r} is in the network already; add another.")
        twice = [name for name in self.added if self.added.count(name) > 1]
        if twice:
            raise ProblemError(f"Broker {twice[0]!r} is added twice; name each once.")
        left = len(brokers) + len(self.added) - len(set(self.removed))
        if left < BROKER_COUNT_MIN:
            raise ProblemError(
                f"{counted(left, 'broker')} would be left, and a network has at least "
                f"{BROKER_COUNT_MIN}; remove fewer."
            )


NO_CHANGE = BrokerChange()
