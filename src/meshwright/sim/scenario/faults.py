"""Faults by name: each is a value, drawn from the seed, that begins and ends inside the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec
import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.times import SECOND_US

STALL_MAX_US = 2_000_000
# What a broker has promised when it says so, and the steps of a plan in their order.
ANSWERS = ("Connack", "Suback", "Unsuback", "Puback", "Pubrec", "Pubcomp", "Publish", "Pubrel")
PLAN_STEPS = ("asked", "granted", "prepared", "decided", "switched", "drained", "done")
# Silence counts as death after four seconds, and then much is different.
PARTITION_MEANS_S = (2.0, 10.0)
# Clients that go to each broker that joins.
VISITS = 6


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Something that goes wrong at a time."""

    at_us: int


class Crash(Fault, frozen=True):
    """A broker's process dies, and starts again with what its disk kept.

    Its disk may stall before, so that a crash finds much that is not synced.
    """

    broker: str
    dies_us: int
    until_us: int


class Ambush(Fault, frozen=True):
    """A broker dies as soon as it has reached a moment, whichever broker is the first to.

    moment: a packet that it sends a client, or a step of a plan that it reports. away_us: how long
    it is down; None if it never returns. until_us: nobody lies in wait any more, and who was down
    is up again.
    """

    moment: str
    away_us: int | None
    until_us: int


class NeverReturns(Fault, frozen=True):
    """A broker is gone for good, with its disk."""

    broker: str


class Partition(Fault, frozen=True):
    """Nothing passes between these brokers and all others; connections do not notice."""

    brokers: tuple[str, ...]
    until_us: int


class Disconnect(Fault, frozen=True):
    """The connection between two brokers breaks."""

    one: str
    other: str


class ClientDisconnect(Fault, frozen=True):
    """The connection of a client breaks."""

    client: str


class Slow(Fault, frozen=True):
    """The wire between two brokers gets slower."""

    one: str
    other: str
    extra_us: int
    until_us: int


class Stuck(Fault, frozen=True):
    """Nothing passes between two brokers; their connection does not notice."""

    one: str
    other: str
    until_us: int


class Skew(Fault, frozen=True):
    """A broker's clock is off, and runs too fast or too slow, from the start."""

    broker: str
    offset_us: int
    drift_ppm: int


class DiskFull(Fault, frozen=True):
    """A broker's disk has no room left for a while."""

    broker: str
    until_us: int


class Join(Fault, frozen=True):
    """A broker that was never there before comes, and after a while some clients go to it.

    visits: clients, and when each of them turns up at the newcomer.
    """

    broker: str
    visits: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Field:
    """Whom faults may hit, and between which times; what heals has healed by the end.

    has_plans: whether plans are given meanwhile. newcomers: those of the brokers that are not there
    from the start.
    """

    brokers: tuple[str, ...]
    clients: tuple[str, ...]
    start_us: int
    end_us: int
    has_plans: bool = False
    newcomers: tuple[str, ...] = ()

    def times(self, rng: np.random.Generator, count: int) -> list[int]:
        """Times at which faults begin."""
        return sorted(rng.integers(self.start_us, self.end_us, size=count).tolist())

    def healed_us(self, at_us: int, rng: np.random.Generator, mean_s: float) -> int:
        """When a fault ends that began at a time."""
        lasts_us = int(rng.exponential(mean_s) * SECOND_US) + 1
        return min(at_us + lasts_us, self.end_us)

    def count(self, per_minute: float) -> int:
        """How many faults fit into the run; at least one."""
        return max(1, round(per_minute * (self.end_us - self.start_us) / (60 * SECOND_US)))

    def pairs(self, rng: np.random.Generator, count: int) -> list[tuple[str, str]]:
        """Two different brokers for each fault; none if there are no two."""
        if len(self.brokers) < 2:
            return []
        drawn = [rng.choice(len(self.brokers), size=2, replace=False) for _ in range(count)]
        return [(self.brokers[int(one)], self.brokers[int(other)]) for one, other in drawn]


Scheduler = Callable[[np.random.Generator, Field], Iterable[Fault]]


def plan_faults(names: Iterable[str], field: Field, rng: np.random.Generator) -> tuple[Fault, ...]:
    """All faults of a run in order of time; each name has its own stream of chance."""
    wanted = set(names)
    unknown = sorted(wanted - set(FAULTS))
    if unknown:
        raise ProblemError(f"There is no fault {unknown[0]!r}; choose from {', '.join(FAULTS)}.")
    drawn: list[Fault] = []
    for name, stream in zip(FAULTS, rng.spawn(len(FAULTS)), strict=True):
        if name in wanted:
            drawn.extend(FAULTS[name](stream, field))
    return tuple(sorted(drawn, key=lambda fault: fault.at_us))


def crashes(rng: np.random.Generator, field: Field) -> list[Fault]:
    """Brokers that die and come back, alone or several at once."""
    found: list[Fault] = []
    for at_us in field.times(rng, field.count(20)):
        stall_us = int(rng.integers(STALL_MAX_US)) if rng.random() < 0.5 else 0
        dies_us = min(at_us + stall_us, field.end_us - 1)
        found.append(
            Crash(
                at_us=at_us,
                broker=field.brokers[int(rng.integers(len(field.brokers)))],
                dies_us=dies_us,
                until_us=field.healed_us(dies_us, rng, 2.0),
            )
        )
    return found


def ambushes(rng: np.random.Generator, field: Field) -> list[Fault]:
    """Brokers that die right after they promised something, or in the midst of a plan."""
    found: list[Fault] = []
    for at_us in field.times(rng, field.count(30)):
        moments = PLAN_STEPS if field.has_plans and rng.random() < 0.5 else ANSWERS
        moment = str(rng.choice(moments))
        away_us = int(rng.exponential(1.0) * SECOND_US) + 1
        found.append(Ambush(at_us=at_us, moment=moment, away_us=away_us, until_us=field.end_us))
    return found


def losses(rng: np.random.Generator, field: Field) -> list[Fault]:
    """One broker that never returns, perhaps in the midst of a plan; a lone broker stays."""
    if len(field.brokers) < 2:
        return []
    if field.has_plans and rng.random() < 0.5:
        moment = str(rng.choice(PLAN_STEPS))
        at_us, until_us = field.start_us, field.end_us
        return [Ambush(at_us=at_us, moment=moment, away_us=None, until_us=until_us)]
    broker = field.brokers[int(rng.integers(len(field.brokers)))]
    return [NeverReturns(at_us=field.times(rng, 1)[0], broker=broker)]


def partitions(rng: np.random.Generator, field: Field) -> list[Fault]:
    """Some brokers cut off from the others, for a moment or until they are given up for dead."""
    found: list[Fault] = []
    for at_us in field.times(rng, field.count(6)):
        size = int(rng.integers(1, max(2, len(field.brokers) // 2 + 1)))
        chosen = rng.choice(len(field.brokers), size=min(size, len(field.brokers)), replace=False)
        found.append(
            Partition(
                at_us=at_us,
                brokers=tuple(field.brokers[index] for index in sorted(chosen.tolist())),
                until_us=field.healed_us(at_us, rng, float(rng.choice(PARTITION_MEANS_S))),
            )
        )
    return found


def disconnects(rng: np.random.Generator, field: Field) -> list[Fault]:
    """Connections that break, between brokers and of clients."""
    times = field.times(rng, field.count(60))
    found: list[Fault] = [
        Disconnect(at_us=at_us, one=one, other=other)
        for at_us, (one, other) in zip(times, field.pairs(rng, len(times)), strict=False)
    ]
    if field.clients:
        for at_us in field.times(rng, field.count(60)):
            client = field.clients[int(rng.integers(len(field.clients)))]
            found.append(ClientDisconnect(at_us=at_us, client=client))
    return found


def slow_wires(rng: np.random.Generator, field: Field) -> list[Fault]:
    """Wires that are slower for a while, by up to a second."""
    times = field.times(rng, field.count(20))
    return [
        Slow(
            at_us=at_us,
            one=one,
            other=other,
            extra_us=int(rng.integers(10_000, SECOND_US)),
            until_us=field.healed_us(at_us, rng, 3.0),
        )
        for at_us, (one, other) in zip(times, field.pairs(rng, len(times)), strict=False)
    ]


def stuck_wires(rng: np.random.Generator, field: Field) -> list[Fault]:
    """Wires through which nothing passes for a while."""
    times = field.times(rng, field.count(20))
    return [
        Stuck(at_us=at_us, one=one, other=other, until_us=field.healed_us(at_us, rng, 3.0))
        for at_us, (one, other) in zip(times, field.pairs(rng, len(times)), strict=False)
    ]


def skews(rng: np.random.Generator, field: Field) -> list[Fault]:
    """Every clock is off, by up to a minute and 500 millionths."""
    return [
        Skew(
            at_us=0,
            broker=broker,
            offset_us=int(rng.integers(0, 60 * SECOND_US)),
            drift_ppm=int(rng.integers(-500, 501)),
        )
        for broker in field.brokers
    ]


def full_disks(rng: np.random.Generator, field: Field) -> list[Fault]:
    """Disks without room for a while."""
    return [
        DiskFull(
            at_us=at_us,
            broker=field.brokers[int(rng.integers(len(field.brokers)))],
            until_us=field.healed_us(at_us, rng, 2.0),
        )
        for at_us in field.times(rng, field.count(10))
    ]


def joins(rng: np.random.Generator, field: Field) -> list[Fault]:
    """Brokers of new names, one after the other or all at once, and clients that go to them."""
    half_us = (field.start_us + field.end_us) // 2
    times = rng.integers(field.start_us, half_us, size=len(field.newcomers)).tolist()
    if rng.random() < 0.5:
        times = times[:1] * len(times)
    found: list[Fault] = []
    for at_us, broker in zip(times, field.newcomers, strict=True):
        count = min(VISITS, len(field.clients))
        chosen = rng.choice(len(field.clients), size=count, replace=False).tolist()
        turns_up = rng.integers(half_us, field.end_us, size=count).tolist()
        visits = tuple(
            (field.clients[one], when) for one, when in zip(chosen, turns_up, strict=True)
        )
        found.append(Join(at_us=at_us, broker=broker, visits=visits))
    return found


FAULTS: dict[str, Scheduler] = {
    "crash": crashes,
    "partition": partitions,
    "disconnect": disconnects,
    "slow": slow_wires,
    "stuck": stuck_wires,
    "skew": skews,
    "disk_full": full_disks,
    "never_returns": losses,
    "ambush": ambushes,
    "joins": joins,
}
