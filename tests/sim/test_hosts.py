from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from machines import Echo, Scripted
from worlds import small_world

from meshwright.protocol.foundation.effects import (
    Effect,
    OpenLink,
    Report,
    SendPeer,
    SetTimer,
    Write,
)
from meshwright.protocol.foundation.events import (
    DiskSpace,
    Event,
    PeerEnvelope,
    Started,
    Synced,
    TimerFired,
)
from meshwright.sim.checkers.broken import broken
from meshwright.sim.physics.clocks import SkewedClock

SECOND_US = 1_000_000


class Keeper:
    """Writes numbered batches one after the other, and remembers how it was started."""

    starts: list[Started]

    def __init__(self, starts: list[Started]) -> None:
        self.starts = starts
        self.synced: list[int] = []

    def step(self, now_us: int, event: Event) -> list[Effect]:
        del now_us
        if isinstance(event, Started):
            self.starts.append(event)
            return [Write(number, {("last",): number, (number,): "kept"}) for number in (1, 2, 3)]
        if isinstance(event, Synced):
            self.synced.append(event.batch)
        return []


@given(st.integers(0, 30))
def test_batches_are_synced_in_order_and_within_their_time(seed: int) -> None:
    starts: list[Started] = []
    keeper = Keeper(starts)
    world = small_world(lambda _: keeper, ("b0",), seed=seed)
    world.run_until(3_000)
    assert keeper.synced == [1, 2, 3]
    assert world.hosts["b0"].disk.kept[("last",)] == 3


@given(st.integers(0, 4_000), st.integers(0, 5))
def test_a_crash_loses_exactly_the_unsynced_batches(crash_us: int, seed: int) -> None:
    starts: list[Started] = []
    keepers: list[Keeper] = []

    def build(_: str) -> Keeper:
        keepers.append(Keeper(starts))
        return keepers[-1]

    world = small_world(build, ("b0",), seed=seed)
    world.run_until(crash_us)
    synced = list(keepers[0].synced)
    world.crash("b0")
    world.run_until(SECOND_US)
    assert keepers[0].synced == synced
    world.restart("b0")
    assert [start.incarnation for start in starts] == [1, 2]
    expected = {(number,): "kept" for number in synced}
    assert starts[1].disk == expected | ({("last",): synced[-1]} if synced else {})


@given(st.integers(1, 5_000), st.integers(0, 5))
def test_a_stalled_disk_syncs_nothing_until_its_time_and_then_in_order(
    until_us: int, seed: int
) -> None:
    keeper = Keeper([])
    world = small_world(lambda _: keeper, ("b0",), seed=seed)
    world.hosts["b0"].disk.stall(until_us)
    world.run_until(until_us - 1)
    assert keeper.synced == []
    world.run_until(SECOND_US)
    assert keeper.synced == [1, 2, 3]


def test_deleted_keys_are_gone() -> None:
    machine = Scripted([Write(1, {("one",): 1, ("two",): 2}), Write(2, {("one",): None})])
    world = small_world(lambda _: machine, ("b0",))
    world.run_until(SECOND_US)
    assert world.hosts["b0"].disk.kept == {("two",): 2}


def test_timers_fire_once_and_setting_a_key_again_moves_it() -> None:
    machine = Scripted([SetTimer(("a",), 5_000), SetTimer(("b",), 3_000), SetTimer(("a",), 7_000)])
    world = small_world(lambda _: machine, ("b0",))
    world.run_until(SECOND_US)
    assert machine.noted[1:] == [(3_000, TimerFired(("b",))), (7_000, TimerFired(("a",)))]


def test_timers_die_in_a_crash() -> None:
    machines = [Scripted([SetTimer(("a",), 5_000)]), Scripted([SetTimer(("a",), 9_000)])]
    alive = iter(machines)
    world = small_world(lambda _: next(alive), ("b0",))
    world.run_until(1_000)
    world.crash("b0")
    world.restart("b0")
    world.run_until(SECOND_US)
    assert machines[0].times(TimerFired) == []
    assert machines[1].times(TimerFired) == [9_000]


@given(st.integers(0, 10**8), st.integers(-500, 500))
def test_a_broker_reads_only_its_own_clock(offset_us: int, drift_ppm: int) -> None:
    clock = SkewedClock(offset_us, drift_ppm)
    at_us = offset_us + 700_000
    machines = {"b0": Scripted([SetTimer(("a",), at_us)]), "b1": Scripted([])}
    world = small_world(machines.__getitem__)
    world.crash("b0")
    machines["b0"].noted.clear()
    world.hosts["b0"].clock = clock
    world.restart("b0")
    world.run_until(SECOND_US)
    assert machines["b0"].noted[0][0] == clock.local_us(0)
    assert machines["b0"].times(TimerFired)[0] - at_us in (0, 1)
    assert machines["b1"].noted[0][0] == 0


def test_a_broker_that_starts_on_a_full_disk_is_told_so() -> None:
    machine = Scripted([])
    world = small_world(lambda _: machine, ("b0",))
    world.run_until(1)
    host = world.hosts["b0"]
    host.fill_disk()
    host.fill_disk()
    host.empty_disk()
    world.crash("b0")
    world.restart("b0")
    host.empty_disk()
    told = [one.is_full for _, one in machine.noted if isinstance(one, DiskSpace)]
    assert told == [True, True, False]


def test_reports_are_kept_with_time_and_broker_and_change_the_digest() -> None:
    digests = set()
    for limit in (0, 4, 5, 5):
        echoes = {"b0": Echo("b0", ("b1",), limit=limit), "b1": Echo("b1", limit=limit)}
        world = small_world(echoes.__getitem__)
        world.run_until(SECOND_US)
        assert [record for _, _, record in world.records.all] == [
            ("b1" if number % 2 else "b0", number) for number in range(1, limit)
        ]
        digests.add(world.records.digest())
    assert len(digests) == 3


class Fragile:
    """Dies of the first envelope of each life."""

    def __init__(self, name: str) -> None:
        self.name = name

    def step(self, now_us: int, event: Event) -> list[Effect]:
        del now_us
        if isinstance(event, PeerEnvelope):
            raise KeyError(event.envelope)
        return [OpenLink("b1")] if isinstance(event, Started) and self.name == "b0" else []


def test_a_broker_that_raises_an_error_dies_of_it_and_starts_again() -> None:
    world = small_world(Fragile)
    world.run_until(SECOND_US)
    world.network.send("b0", "b1", "surprise")
    world.run_until(SECOND_US + 10_000)
    assert [world.is_up(name) for name in world.hosts] == [True, False]
    world.run_until(3 * SECOND_US)
    assert world.is_up("b1")
    (violation,) = broken(world.breakdowns)
    assert violation.sentence.startswith("b1 died at 1.00")
    assert "of KeyError: 'surprise' (test_hosts.py, line " in violation.sentence
    assert violation.sentence.endswith("as it took in PeerEnvelope")


class Number(int):
    """A number that says what it counts as."""

    counts_as = "publication"


class Numbering(Echo):
    """Echoes such numbers, and reports nothing of them."""

    def step(self, now_us: int, event: Event) -> list[Effect]:
        return [
            SendPeer(one.peer, Number(one.envelope)) if isinstance(one, SendPeer) else one
            for one in super().step(now_us, event)
            if not isinstance(one, Report)
        ]


def test_messages_are_counted_by_class_or_else_by_type() -> None:
    for kind, counts in ((Echo, {"int": 4}), (Numbering, {"publication": 4})):
        echoes = {"b0": kind("b0", ("b1",), limit=4), "b1": kind("b1", limit=4)}
        world = small_world(echoes.__getitem__)
        world.run_until(SECOND_US)
        assert world.counts_by_class() == counts
