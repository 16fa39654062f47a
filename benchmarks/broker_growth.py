"""What work costs a broker as there is more of it: CPU at some sizes, and the exponent of growth.

An exponent of 1 is twice as much for twice the size. Brokers stand without sockets; what they send
each other and write to disk is made bytes and read again.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Iterator

from benchmarks.growth.peers import BY_PEERS
from benchmarks.growth.tasks import (
    FILTERS,
    ONE_BROKER,
    Task,
    in_many_packets,
    in_one_packet,
    taken_back,
)
from benchmarks.table import Row

SIZES = (250, 500, 1_000, 2_000)
BROKER_COUNTS = (8, 16, 32, 64)
DESIGNS = ("chord", "tree", "gm2", "hypercube")
EXPONENT_TARGET = 1.3
REPEAT = 3
FEW_MS = 5


def rows() -> list[Row]:
    return [growth_row(name, task, sizes) for name, task, sizes in cases()]


def cases() -> Iterator[tuple[str, Task, tuple[int, ...]]]:
    """Every dimension: filters of each kind on each design, what one broker does, and peers."""
    networks = (("one broker", 1, "chord"), *((f"4 brokers, {one}", 4, one) for one in DESIGNS))
    for kind, make in FILTERS.items():
        for place, count, design in networks:
            yield (
                f"filters {kind} in one SUBSCRIBE, {place}",
                in_one_packet(make, count, design),
                SIZES,
            )
        for place, count, design in networks[:2]:
            yield (
                f"filters {kind} in a SUBSCRIBE each, {place}",
                in_many_packets(make, count, design),
                SIZES,
            )
            yield (
                f"filters {kind} in one UNSUBSCRIBE, {place}",
                taken_back(make, count, design),
                SIZES,
            )
    for name, task in ONE_BROKER.items():
        yield name, task, SIZES
    for name, of_design in BY_PEERS.items():
        for design in DESIGNS:
            yield f"{name}, {design}", of_design(design), BROKER_COUNTS


def growth_row(name: str, task: Task, sizes: tuple[int, ...]) -> Row:
    """One line: least CPU of a few runs at each size."""
    costs_s = [min(_cpu_s(task, size) for _ in range(REPEAT)) for size in sizes]
    exponent = fitted_exponent(sizes, costs_s)
    is_tiny = costs_s[-1] * 1_000 < FEW_MS
    return Row(
        f"{name}: {', '.join(f'{size:,}' for size in sizes)}",
        " / ".join(f"{cost_s * 1_000:.0f}" for cost_s in costs_s) + f" ms, exponent {exponent:.2f}",
        f"below {EXPONENT_TARGET}",
        met=is_tiny or exponent < EXPONENT_TARGET,
        note=f"{costs_s[-1] / sizes[-1] * 1e6:.0f} us each at the last",
    )


def fitted_exponent(sizes: tuple[int, ...], costs_s: list[float]) -> float:
    """The slope of the straight line through the logarithms."""
    xs, ys = [math.log(size) for size in sizes], [math.log(cost_s) for cost_s in costs_s]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    above = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return above / sum((x - x_mean) ** 2 for x in xs)


def _cpu_s(task: Task, size: int) -> float:
    work = task(size)
    # What the collector of garbage does depends on all that was made before.
    gc.collect()
    gc.disable()
    try:
        begun_s = time.process_time()
        work()
        return time.process_time() - begun_s
    finally:
        gc.enable()
