"""Brokers on this machine that are started again when they fail, each on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from meshwright.live.processes.local_network import LocalNetwork
from meshwright.protocol.foundation.transitions import Transitions

DELAY_FIRST_S = 1.0
DELAY_MAX_S = 60.0
# Who has run for so long is not failing over and over.
STEADY_S = 60.0


class Condition(Enum):
    """What is known of a broker's process."""

    RUNNING = auto()
    FAILED = auto()  # and is started again when its delay is over
    STOPPED = auto()  # because somebody asked it to


CONDITIONS = Transitions(
    {
        Condition.RUNNING: (Condition.FAILED, Condition.STOPPED),
        Condition.FAILED: (Condition.RUNNING,),
        Condition.STOPPED: (),
    }
)


@dataclass(slots=True)
class _Watched:
    """One broker: since when it is in its condition, and how often it has failed in a row."""

    condition: Condition
    since_s: float
    failures: int = 0

    def become(self, condition: Condition, now_s: float) -> None:
        self.condition = CONDITIONS.checked(self.condition, condition)
        self.since_s = now_s

    @property
    def delay_s(self) -> float:
        """Grows with every failure: a broker that cannot run must not use up the machine."""
        return min(DELAY_FIRST_S * 2.0 ** (self.failures - 1), DELAY_MAX_S)


class Supervision:
    """Keeps the brokers of a network running; say: tells the operator what happened."""

    def __init__(self, network: LocalNetwork, say: Callable[[str], None], now_s: float) -> None:
        self._network = network
        self._say = say
        self._watched = {
            broker.name: _Watched(Condition.RUNNING, now_s) for broker in network.brokers
        }

    @property
    def is_over(self) -> bool:
        """True once every broker was stopped on purpose."""
        return all(one.condition is Condition.STOPPED for one in self._watched.values())

    def look(self, now_s: float) -> None:
        """See who has ended, and start whose delay is over; the others are left alone."""
        for name, one in self._watched.items():
            if one.condition is Condition.RUNNING:
                self._look_at(name, one, now_s)
            elif one.condition is Condition.FAILED and now_s >= one.since_s + one.delay_s:
                self._network.spawn_again(name)
                one.become(Condition.RUNNING, now_s)
                self._say(f"{name} is started again.")

    def _look_at(self, name: str, one: _Watched, now_s: float) -> None:
        code = self._network.exit_code(name)
        if code is None:
            if now_s >= one.since_s + STEADY_S:
                one.failures = 0
        elif code == 0:
            one.become(Condition.STOPPED, now_s)
            self._say(f"{name} has stopped.")
        else:
            one.failures += 1
            one.become(Condition.FAILED, now_s)
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            self._say(
                f"{name} has ended {how} and is started again in {one.delay_s:g} s; the others go "
                f"on. See {self._network.log_of(name)}"
            )
