"""Out of order: for each publisher, topic and QoS, sent and received, first deliveries keep order.

That holds in each session of the receiver and of the publisher: a new one knows nothing of the one
before. MQTT promises no order to the members of a shared subscription, and none of retained
messages. Who subscribes while a publisher sends QoS 1 again may have missed the first copy of one
message and not of the next, or have got that copy as a retained message.
"""

from __future__ import annotations

from meshwright.history.history import Delivered, History, Published, Subscribed
from meshwright.history.violation import Violation, seconds
from meshwright.history.wanted import Wanted, group_of, wanted_by_client


def reordered(history: History) -> list[Violation]:
    """Every first delivery that comes after one that was sent later."""
    found: list[Violation] = []
    sharing = {one.client for one in history.subscriptions if group_of(one) is not None}
    wanted: dict[str, Wanted] | None = None
    seen: set[tuple[str, int, str, int]] = set()
    retained: set[tuple[str, int, str, int]] = set()
    newest: dict[tuple[str, int, str, int, str, tuple[int, int]], Delivered] = {}
    for one in history.deliveries:
        session = history.session_of(one)
        event = (one.client, session, one.publisher, one.sequence)
        published = history.publications.get((one.publisher, one.sequence))
        if one.is_retained:
            retained.add(event)
            continue
        if one.client in sharing or event in seen or published is None:
            continue
        if published.qos == 1 and published.resend_count:
            wanted = wanted or wanted_by_client(history.subscriptions)
            matching = _matching(wanted.get(one.client), published)
            own = [each for each in matching if _is_of(history, each, session)]
            if event in retained or not _was_there(own, published):
                continue
        seen.add(event)
        source = history.session_at(one.publisher, published.attempted_us)
        qualities = (published.qos, one.qos)
        key = (one.client, session, one.publisher, source, one.topic, qualities)
        before = newest.get(key)
        if before is None or before.sequence < one.sequence:
            newest[key] = one
        else:
            found.append(_violation(before, one, published.qos))
    return found


def _matching(own: Wanted | None, published: Published) -> list[Subscribed]:
    return own.by(published.topic, published.properties) if own is not None else []


def _is_of(history: History, one: Subscribed, session: int) -> bool:
    """Whether a subscription was granted in a session of its client."""
    return one.granted_us is not None and history.session_at(one.client, one.granted_us) == session


def _was_there(matching: list[Subscribed], published: Published) -> bool:
    """Whether a client was owed a message when it was sent for the first time.

    Who asked for it without a promise may have missed that copy, too.
    """
    sent_us = published.attempted_us
    return any(
        one.qos
        and one.granted_us is not None
        and one.granted_us < sent_us
        and (one.end_requested_us is None or one.end_requested_us > sent_us)
        for one in matching
    )


def _violation(before: Delivered, one: Delivered, qos: int) -> Violation:
    return Violation(
        checker="reordered",
        sentence=(
            f"{one.client} got {one.publisher}:{one.sequence} on {one.topic} (sent with QoS {qos}) "
            f"at {seconds(one.time_us)} from {one.broker}, after {before.publisher}:"
            f"{before.sequence} at {seconds(before.time_us)} from {before.broker}"
        ),
        time_us=one.time_us,
        event=(one.publisher, one.sequence),
        client=one.client,
        topic=one.topic,
    )
