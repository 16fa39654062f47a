"""Delivered twice, where MQTT does not allow it.

QoS 2 comes once. QoS 1 may come again marked as a duplicate, after a new connection of the
receiver, or because the publisher sent it again. QoS 0 may come again after a new connection, as
what a broker has seen of it is not on disk. What a retained message repeats is no duplicate, nor
what comes in two sessions of a client: the second knows nothing of the first. Each shared
subscription of a client brings a copy of its own [MQTT 5, 4.8.2], which of QoS 2 one member gets.
"""

from __future__ import annotations

from meshwright.history.history import Delivered, EventKey, History, Subscribed
from meshwright.history.violation import Violation, seconds
from meshwright.history.wanted import Wanted, group_of, wanted_by_client


def duplicated(history: History) -> list[Violation]:
    """Every delivery that repeats an earlier one without an excuse."""
    return [*_repeated(history), *_handed_twice(history)]


def _repeated(history: History) -> list[Violation]:
    found: list[Violation] = []
    wanted: dict[str, Wanted] | None = None
    earlier: dict[tuple[str, str, int], list[Delivered]] = {}
    for one in history.deliveries:
        if one.is_retained:
            continue
        key = (one.client, one.publisher, one.sequence)
        copies = earlier.setdefault(key, [])
        if copies and _is_in_another_session(history, copies[-1], one):
            copies.clear()
        again = [place for place, it in enumerate(copies) if _is_excused(history, it, one)]
        if again:
            copies[again[0]] = one
            continue
        copies.append(one)
        if len(copies) > 1:
            wanted = wanted or wanted_by_client(history.subscriptions)
            if len(copies) > _copy_count(history, wanted.get(one.client), one):
                found.append(_violation(copies[-2], one))
    return found


def _handed_twice(history: History) -> list[Violation]:
    """Every message of QoS 2 that more members got than there are shared subscriptions for it."""
    if not any(group_of(one) for one in history.subscriptions):
        return []
    takers: dict[EventKey, dict[str, Delivered]] = {}
    for one in history.deliveries:
        if one.qos == 2 and not one.is_retained:
            takers.setdefault((one.publisher, one.sequence), {}).setdefault(one.client, one)
    wanted = Wanted(history.subscriptions)
    found: list[Violation] = []
    for event, by_client in takers.items():
        published = history.published(event)
        if published is None:
            continue
        matching = wanted.by(published.topic, published.properties)
        alone = {one.client for one in matching if group_of(one) is None}
        members = [one for client, one in by_client.items() if client not in alone]
        if len(members) > len(_shared_texts(matching)):
            found.append(_violation(members[-2], members[-1]))
    return found


def _copy_count(history: History, own: Wanted | None, one: Delivered) -> int:
    """How many of the same message a client may get, for its subscriptions that match."""
    published = history.published((one.publisher, one.sequence))
    if own is None or published is None:
        return 1
    matching = [
        each
        for each in own.by(published.topic, published.properties)
        if each.requested_us <= one.time_us
    ]
    return len(_shared_texts(matching)) + any(group_of(each) is None for each in matching)


def _shared_texts(subscriptions: list[Subscribed]) -> set[str]:
    return {one.filter_text for one in subscriptions if group_of(one) is not None}


def _is_in_another_session(history: History, before: Delivered, one: Delivered) -> bool:
    is_new_connection = one.connection != before.connection
    return is_new_connection and history.session_of(one) != history.session_of(before)


def _is_excused(history: History, before: Delivered, one: Delivered) -> bool:
    if 2 in (before.qos, one.qos):
        return False
    published = history.published((one.publisher, one.sequence))
    if published is not None and published.qos == 1 and published.resend_count:
        return True
    return one.connection != before.connection or (one.qos == 1 and one.is_duplicate)


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
