"""A change of 100 live brokers under traffic, by epochs and as the paper does it.

All brokers are in this process, on real sockets and with disks of their own, and so are their
clients, in a thread of theirs: what is compared is measured in one run, on one machine.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import uvloop

from benchmarks.table import Row
from meshwright.history.duplicated import duplicated
from meshwright.history.history import History
from meshwright.history.lost import lost
from meshwright.history.reordered import reordered
from meshwright.lab.scripted import Deed, Play, Script, playing
from meshwright.lab.workloads import generate_snapshot
from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.settings import (
    ListenerSettings,
    LiveSettings,
    PeerLinkSettings,
    TelemetrySettings,
)
from meshwright.live.system.addresses import Whereabouts
from meshwright.live.telemetry.plan_log import PlanStepView
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.model.times import SECOND_US
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.designs import build_overlay
from meshwright.protocol.foundation.events import PlanGiven

BROKERS, TOPICS, TOPICS_PER_BROKER = 100, 200, 4
PUBLICATIONS_PER_S = 10
STILL_S = 20.0
# Time for what a change leaves to come to its end.
REST_S = 5.0
# What a change of a whole network in one process may take on a machine that has more to do.
CHANGE_S = 300.0
ENDS = ("done", "aborted", "superseded")
LOOK_EVERY_S = 0.05
ANY_PORT = "127.0.0.1:0"
LEADER = 0
# At one second, brokers of one process would do little else than hear of each other; and on a
# machine with more to do they would take each other for dead.
HEARTBEAT_S = 30.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Span:
    """What was seen between two moments: messages of the switch, and answers to publishers.

    cpu_s: of this whole process. silence_ms: the longest time in which no publisher was answered.
    """

    seconds: float
    cpu_s: float
    messages: int
    answers_ms: list[float]
    silence_ms: float

    def quantile_ms(self, share: float) -> float:
        return float(np.quantile(self.answers_ms, share))


def rows() -> list[Row]:
    snapshot = generate_snapshot(BROKERS, TOPICS, TOPICS_PER_BROKER, "unif", seed=1)
    overlay = build_overlay("chord", snapshot, rng=np.random.default_rng(1))
    plan = arrange(snapshot, "chord", "best", source=overlay, net=False, seed=1)
    with (
        tempfile.TemporaryDirectory() as folder,
        _network(overlay, Path(folder)) as network,
        playing(_script(snapshot), network.addresses()) as play,
    ):
        play.wait_begun()
        still = network.span(play, lambda: network.rest(STILL_S))
        by_epochs = network.span(play, lambda: network.change("apply", plan))
        steps_s = network.steps_s()
        network.rest(REST_S)
        back = network.span(play, lambda: network.change("undo", plan))
        network.rest(REST_S)
        blocking = network.span(play, lambda: network.block(plan))
        history = play.end()
    return list(_rows(plan, history, (still, by_epochs, back, blocking), steps_s))


def _rows(
    plan: Plan, history: History, spans: tuple[Span, Span, Span, Span], steps_s: dict[str, float]
) -> Iterator[Row]:
    still, by_epochs, back, blocking = spans
    name = f"live change of {BROKERS} brokers, {plan.moved} of them moved"
    yield Row(
        f"{name}: messages of the switch by epochs",
        f"{by_epochs.messages:,}",
        "fewer than the paper's",
        f"{blocking.messages:,}",
        met=by_epochs.messages < blocking.messages,
        note=f"and back {back.messages:,}; paper: its four steps in the same run",
    )
    yield Row(
        f"{name}: 99 of 100 answers to publishers during the switch",
        f"{by_epochs.quantile_ms(0.99):.1f} ms",
        "sooner than by the paper's",
        f"{blocking.quantile_ms(0.99):.1f} ms",
        met=by_epochs.quantile_ms(0.99) < blocking.quantile_ms(0.99),
        note=f"before it {still.quantile_ms(0.99):.1f} ms; medians: before "
        f"{still.quantile_ms(0.5):.1f}, during {by_epochs.quantile_ms(0.5):.1f}, paper "
        f"{blocking.quantile_ms(0.5):.1f} ms; slowest: before {max(still.answers_ms):.0f}, "
        f"during {max(by_epochs.answers_ms):.0f}, paper {max(blocking.answers_ms):.0f} ms",
    )
    yield Row(
        f"{name}: longest time in which no publisher was answered",
        f"{by_epochs.silence_ms:.0f} ms",
        "shorter than by the paper's",
        f"{blocking.silence_ms:.0f} ms",
        met=by_epochs.silence_ms < blocking.silence_ms,
        note=f"before it {still.silence_ms:.0f} ms at {PUBLICATIONS_PER_S} publications a second",
    )
    steps = "; ".join(f"{step} after {after_s:.2f} s" for step, after_s in steps_s.items())
    yield Row(
        f"{name}: seconds until it is done",
        f"{by_epochs.seconds:.1f} s",
        "",
        f"{blocking.seconds:.1f} s",
        note=f"of one processor {by_epochs.cpu_s:.1f} s, paper {blocking.cpu_s:.1f} s; {steps}",
    )
    violations = [*lost(history), *duplicated(history), *reordered(history)]
    yield Row(
        f"{name}: lost, doubled or reordered",
        f"{len(violations)} of {len(history.deliveries):,}",
        "0",
        met=not violations,
    )


def _script(snapshot: Snapshot) -> Script:
    """A client at each broker wants its topics; anybody publishes anything, evenly in time."""
    rng = np.random.default_rng(1)
    wants = [
        Deed(0.0, f"client{number}", "want", snapshot.topics[topic])
        for number in range(BROKERS)
        for topic in snapshot.interests.of(number).tolist()
    ]
    count = round(STILL_S * PUBLICATIONS_PER_S)
    told = [
        Deed(
            (number + 1) / PUBLICATIONS_PER_S,
            f"client{int(rng.integers(BROKERS))}",
            "publish",
            snapshot.topics[int(rng.integers(len(snapshot.topics)))],
        )
        for number in range(count)
    ]
    homes = {f"client{number}": str(name) for number, name in enumerate(snapshot.brokers)}
    return Script(homes, (*wants, *told), STILL_S)


class _Network:
    """Brokers that run in a loop of their own."""

    def __init__(self, brokers: list[LiveBroker], loop: asyncio.AbstractEventLoop) -> None:
        self._brokers = brokers
        self._loop = loop
        self._began_us = 0

    def addresses(self) -> dict[str, str]:
        return {
            broker.host.name: broker.host.peers.brokers[broker.host.name].clients
            for broker in self._brokers
        }

    def span(self, play: Play, happens: Callable[[], None]) -> Span:
        """What is seen of messages and publishers while something happens."""
        sent, began_cpu_s, began_us = self._sent(), time.process_time(), play.now_us()
        happens()
        ended_us, cpu_s = play.now_us(), time.process_time() - began_cpu_s
        self.rest(1.0)  # what was published at the end is answered, too
        answers = [
            (one.attempted_us, one.acknowledged_us)
            for one in play.seen().publications.values()
            if one.acknowledged_us is not None
        ]
        during = sorted(at_us for _, at_us in answers if began_us < at_us < ended_us)
        moments = [began_us, *during, ended_us]
        return Span(
            (ended_us - began_us) / SECOND_US,
            cpu_s,
            self._sent() - sent,
            [(at - asked) / 1000 for asked, at in answers if began_us <= asked < ended_us],
            max(later - sooner for sooner, later in pairwise(moments)) / 1000,
        )

    def rest(self, seconds: float) -> None:
        threading.Event().wait(seconds)

    def change(self, action: str, plan: Plan) -> None:
        """Have a plan carried out, and wait until its leader says that it is done."""
        self._run(self._changed(action, plan))

    def block(self, plan: Plan) -> None:
        """Have a plan carried out as the paper does, and wait until it is in force everywhere."""
        self._run(self._blocked(plan))

    def steps_s(self) -> dict[str, float]:
        """When the leader of the last change first took each of its steps."""
        log = self._brokers[LEADER].host
        found: dict[str, float] = {}
        for step in log.plan_log.progress(log.view()).steps:
            if step.time_us >= self._began_us:
                found.setdefault(step.step, (step.time_us - self._began_us) / SECOND_US)
        return found

    async def _changed(self, action: str, plan: Plan) -> None:
        host = self._brokers[LEADER].host
        self._began_us = host.clock.now_us()
        begun = await host.decide(action, plan)
        assert begun.refusal is None, begun.refusal
        async with asyncio.timeout(CHANGE_S):
            while (ended := self._end_of(begun.epoch)) is None:
                await asyncio.sleep(LOOK_EVERY_S)
        assert ended.step == "done", ended.detail

    def _end_of(self, epoch: int) -> PlanStepView | None:
        host = self._brokers[LEADER].host
        steps = host.plan_log.progress(host.view()).steps
        return next((one for one in steps if one.epoch == epoch and one.step in ENDS), None)

    async def _blocked(self, plan: Plan) -> None:
        self._brokers[LEADER].host.tell(PlanGiven("apply-blocking", plan))
        async with asyncio.timeout(CHANGE_S):
            while any(one.host.view().overlay != plan.target for one in self._brokers):
                await asyncio.sleep(LOOK_EVERY_S)

    def _sent(self) -> int:
        return sum(
            broker.host.meter.peer_messages_by_class().get("reconfiguration", 0)
            for broker in self._brokers
        )

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


@contextmanager
def _network(overlay: Overlay, folder: Path) -> Iterator[_Network]:
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="brokers", daemon=True)
    thread.start()

    def run(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    brokers = run(_started(overlay, folder))
    try:
        yield _Network(brokers, loop)
    finally:
        run(_stopped(brokers))
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _started(overlay: Overlay, folder: Path) -> list[LiveBroker]:
    brokers = [
        LiveBroker(
            LiveSettings(
                name=name,
                folder=folder / name,
                listeners=(ListenerSettings(address=ANY_PORT, anonymous=True),),
                peers=PeerLinkSettings(listen=ANY_PORT, heartbeat_s=HEARTBEAT_S),
                telemetry=TelemetrySettings(sys_every_s=0),
            ),
            overlay,
            recorded=lambda _time_us, _record: None,
            refused=lambda _reason, _address: None,
        )
        for name in overlay.brokers
    ]
    known: dict[str, Whereabouts] = {}
    for number, broker in enumerate(brokers):  # one by one, as they all share one thread
        await broker.start()
        peers = broker.host.peers
        peers.brokers |= known
        for name in known:
            peers.open(name)
        known |= peers.brokers
        async with asyncio.timeout(CHANGE_S):
            while len(peers.connected()) < number:
                await asyncio.sleep(LOOK_EVERY_S)
    return brokers


async def _stopped(brokers: list[LiveBroker]) -> None:
    for broker in brokers:
        await broker.stop()
