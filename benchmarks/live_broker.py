"""A live broker beside Mosquitto and amqtt, one core each, the same load on another core.

What counts is the CPU time of a broker for each delivery, interleaved with Mosquitto's, median of
five; MESHWRIGHT_CASES names the cases to run, if not all.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace

from benchmarks.live import servers
from benchmarks.live.load import MQTT_5, Case, Outcome, measure
from benchmarks.live.servers import Server
from benchmarks.table import Row

ROUND_COUNT = 5
AMQTT_SHARE = 25
LATENCY_RATIO_MAX = 1.25
AMQTT_RATIO_MIN = 50.0

Start = Callable[[], AbstractContextManager[Server]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """A case, who takes part, and how much cheaper than Mosquitto ours is to be.

    rate_min: deliveries a second that are asked for instead.
    """

    case: Case
    goal: float | None = None
    rate_min: int | None = None
    ours: Start = servers.meshwright
    theirs: Start | None = servers.mosquitto
    has_amqtt: bool = False


def lock_step(case: Case) -> Case:
    """One message, and the next when it has arrived."""
    return replace(case, chunk=1, window=1)


def mixed(message_count: int) -> Case:
    """One publisher on ten topics with messages of seven sizes."""
    return Case(
        topic_count=10,
        payload_bytes=(16, 700, 64, 250, 32, 120, 90),
        message_count=message_count,
        chunk=70,
        window=490,
    )


def pairs(message_count: int) -> Case:
    """Fifty publishers, each with a subscriber of its own."""
    return Case(
        publisher_count=50,
        subscriber_count=50,
        message_count=message_count,
        chunk=100,
        window=400,
    )


CONTESTS = {
    "1 to 1": Contest(case=Case(message_count=100_000), goal=8.0, has_amqtt=True),
    "1 to 1, 10 topics, mixed sizes": Contest(case=mixed(70_000), goal=2.5),
    "1 to 1, lock-step": Contest(case=lock_step(Case(message_count=4_000)), goal=0.85),
    "1 to 100": Contest(
        case=Case(subscriber_count=100, message_count=3_000), goal=20.0, has_amqtt=True
    ),
    "1 to 100, lock-step": Contest(
        case=lock_step(Case(subscriber_count=100, message_count=150)), goal=1.1
    ),
    "50 to 50": Contest(case=pairs(100_000), goal=6.0, has_amqtt=True),
    "50 to 50, lock-step": Contest(case=lock_step(pairs(8_000)), goal=0.85),
    "1 to 1, QoS 1 in memory": Contest(
        case=Case(qos=1, message_count=60_000), goal=4.0, has_amqtt=True
    ),
    "1 to 1, QoS 1 in memory, lock-step": Contest(
        case=lock_step(Case(qos=1, message_count=3_000)), goal=0.85
    ),
    "1 to 1, QoS 1 synced": Contest(
        case=Case(qos=1, message_count=60_000, chunk=500, window=4_000),
        rate_min=50_000,
        ours=lambda: servers.meshwright(durability="synced"),
        theirs=None,
    ),
    "1 to 1, 16 KiB": Contest(
        case=Case(payload_bytes=(16_384,), message_count=15_000, chunk=8, window=32), goal=0.75
    ),
    "2 joined, 10 topics, mixed sizes": Contest(
        case=mixed(70_000),
        goal=3.0,
        ours=lambda: servers.meshwright(count=2),
        theirs=lambda: servers.mosquitto(is_bridged=True),
    ),
    "1 to 1, MQTT 5": Contest(case=Case(message_count=80_000, version=MQTT_5)),
    "1 to 1, TLS": Contest(
        case=Case(message_count=60_000),
        ours=lambda: servers.meshwright(has_tls=True),
        theirs=lambda: servers.mosquitto(has_tls=True),
    ),
}


def rows() -> list[Row]:
    servers.generator_core()
    wanted = os.environ.get("MESHWRIGHT_CASES", "")
    chosen = {
        name: contest
        for name, contest in CONTESTS.items()
        if not wanted or name in wanted.split(";")
    }
    found: list[Row] = []
    for name, contest in chosen.items():
        found += _rows_of(name, contest)
    return found


def _rows_of(name: str, contest: Contest) -> list[Row]:
    ours: list[Outcome] = []
    theirs: list[Outcome] = []
    with ExitStack() as stack:
        server = stack.enter_context(contest.ours())
        other = None
        if contest.theirs is not None and servers.mosquitto_program() is not None:
            other = stack.enter_context(contest.theirs())
        for _ in range(ROUND_COUNT):
            ours.append(measure(server, contest.case))
            if other is not None:
                theirs.append(measure(other, contest.case))
    found = [_row(name, contest, ours, theirs)]
    if contest.has_amqtt:
        found.append(_amqtt_row(name, contest.case, ours))
    return found


def _row(name: str, contest: Contest, ours: list[Outcome], theirs: list[Outcome]) -> Row:
    cpu_us = _median_us(ours)
    rate = statistics.median(one.deliveries / one.wall_s for one in ours)
    measured = f"{cpu_us:.2f} us, {rate:,.0f}/s"
    note = ""
    met: bool | None = None
    if contest.rate_min is not None:
        return Row(name, measured, f"{contest.rate_min:,}/s", met=rate >= contest.rate_min)
    if theirs:
        ratios = [a.cpu_us / b.cpu_us for a, b in zip(theirs, ours, strict=True)]
        ratio = statistics.median(ratios)
        measured = f"{ratio:.2f}x; {measured}"
        note = f"Mosquitto {_median_us(theirs):.2f} us, {_rate(theirs):,.0f}/s"
        met = None if contest.goal is None else ratio >= contest.goal
    if contest.case.is_lock_step:
        note += _latency_note(ours, theirs)
        if theirs and met is not None:
            met = met and _percentile(ours, 50) <= LATENCY_RATIO_MAX * _percentile(theirs, 50)
    return Row(
        name, measured, "-" if contest.goal is None else f"{contest.goal}x", met=met, note=note
    )


def _amqtt_row(name: str, case: Case, ours: list[Outcome]) -> Row:
    """The same with fewer messages: it takes its time."""
    count = max(case.chunk * case.publisher_count, case.message_count // AMQTT_SHARE)
    fewer = replace(case, message_count=count)
    with servers.amqtt() as server:
        outcome = measure(server, fewer)
    ratio = outcome.cpu_us / _median_us(ours)
    target = f"{AMQTT_RATIO_MIN:.0f}x"
    note = f"amqtt {outcome.cpu_us:.0f} us"
    return Row(f"{name}, amqtt", f"{ratio:.0f}x", target, met=ratio >= AMQTT_RATIO_MIN, note=note)


def _median_us(outcomes: list[Outcome]) -> float:
    return statistics.median(one.cpu_us for one in outcomes)


def _rate(outcomes: list[Outcome]) -> float:
    return statistics.median(one.deliveries / one.wall_s for one in outcomes)


def _percentile(outcomes: list[Outcome], percent: int) -> float:
    latencies = sorted(latency for one in outcomes for latency in one.latencies_us)
    return latencies[len(latencies) * percent // 100]


def _latency_note(ours: list[Outcome], theirs: list[Outcome]) -> str:
    words = [f"p50/p99 {_percentile(ours, 50):.0f}/{_percentile(ours, 99):.0f} us"]
    if theirs:
        words.append(f"Mosquitto's {_percentile(theirs, 50):.0f}/{_percentile(theirs, 99):.0f} us")
    return "; " + ", ".join(words)
