"""What happens to brokers joined by a pump, drawn at random, and what must hold afterwards."""

from __future__ import annotations

import numpy as np
from broker_pump import Pump

from meshwright.planning.evaluation.evaluate import forwarding_of

TOPICS = tuple(f"topic/{index}" for index in range(5))


def change_interests(pump: Pump, rng: np.random.Generator, count: int) -> None:
    """Add and remove at random, with messages under way meanwhile."""
    for _ in range(count):
        name, topic = str(rng.choice(sorted(pump.machines))), str(rng.choice(TOPICS))
        if topic in pump.wanted[name]:
            pump.remove(name, topic)
        else:
            pump.done[name, topic] = 0
            pump.add(name, topic)
        pump.step(int(rng.integers(8)))


def some_of(names: tuple[str, ...], rng: np.random.Generator) -> list[str]:
    """Some, but not all."""
    count = int(rng.integers(0, len(names)))
    return [str(name) for name in rng.choice(names, size=count, replace=False)]


def tell_who_is_alive(pump: Pump, rng: np.random.Generator) -> None:
    """To one after the other in random order, with messages under way meanwhile."""
    for name in rng.permutation(sorted(pump.machines)):
        pump.see(str(name), pump.machines)
        pump.step(int(rng.integers(20)))


def assert_everybody_is_done(pump: Pump) -> None:
    for name in pump.machines:
        for topic in pump.wanted[name]:
            assert pump.done[name, topic] >= 1, (name, topic)


def check_reached(pump: Pump) -> None:
    """Every frame comes once to all who want it, and to nobody twice."""
    for topic in TOPICS:
        for origin in pump.machines:
            pump.publish(origin, topic)
            assert pump.receivers(topic) <= set(pump.arrivals)
            assert max(pump.arrivals.values()) == 1


def check_counts(pump: Pump) -> None:
    """Every frame comes to all who want it, over as many messages as the closed form says.

    A receiver that the closed form sees missed, because links do not join it, costs one more.
    """
    overlay = pump.living_overlay()
    expected = forwarding_of(overlay, pump.snapshot(TOPICS))
    for topic_index, topic in enumerate(TOPICS):
        for index, origin in enumerate(overlay.brokers):
            messages = pump.publish(origin, topic)
            due = expected.publication(topic_index, index)
            missed_count = int(np.count_nonzero(due.delays_hops < 0))
            assert messages == due.total + missed_count, (topic, origin)
            assert pump.receivers(topic) <= set(pump.arrivals)
            assert max(pump.arrivals.values()) == 1
