"""Delivered twice, where MQTT does not allow it.

QoS 2 comes once. QoS 1 may come again marked as a duplicate, after a new connection of the
receiver, or because the publisher sent it again. QoS 0 may come again after a new connection, as
what a broker has seen of it is not on disk. What a retained message repeats is no
duplicate, nor is what comes in two sessions of a client: the second knows nothing of the first.
"""

from __future__ import annotations

from meshwright.sim.checkers.violation import Violation, seconds
from meshwright.sim.history import Delivered, History


def duplicated(history: History) -> list[Violation]:
    """Every delivery that repeats an earlier one without an excuse."""
    found: list[Violation] = []
    earlier: dict[tuple[str, str, int], Delivered] = {}
    for one in history.deliveries:
        if one.is_retained:
            continue
        key = (one.client, one.publisher, one.sequence)
        before = earlier.get(key)
        if before is not None and not _is_excused(history, before, one):
            found.append(_violation(before, one))
        earlier[key] = one
    return found


def _is_excused(history: History, before: Delivered, one: Delivered) -> bool:
    is_new_connection = one.connection != before.connection
    if is_new_connection and history.session_of(one) != history.session_of(before):
        return True
    if 2 in (before.qos, one.qos):
        return False
    published = history.publications.get((one.publisher, one.sequence))
    if published is not None and published.qos == 1 and published.resend_count:
        return True
    return is_new_connection or (one.qos == 1 and one.is_duplicate)


def _violation(before: Delivered, one: Delivered) -> Violation:
    return Violation(
        checker="duplicated",
        sentence=(
            f"{one.client} got {one.publisher}:{one.sequence} on {one.topic} with QoS {one.qos} "
            f"at {seconds(before.time_us)} from {before.broker} and again at "
            f"{seconds(one.time_us)} from {one.broker}"
        ),
        time_us=one.time_us,
        event=(one.publisher, one.sequence),
        client=one.client,
        topic=one.topic,
    )
