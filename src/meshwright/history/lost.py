"""Acknowledged and lost: a promise that was not kept.

A publication that a broker acknowledged (QoS 1 and 2) is owed to every client whose matching
subscription was granted before the publication was sent and stands until the end; a session that
ends with its connection stands only while it is connected. A shared subscription is owed it once,
as long as all members that may have taken it are to keep it: who takes it with QoS 0 need not, and
who leaves may take one of QoS 2 along, also one that was sent to it before its broker knew that it
had left. A will counts like a publication where it must be published
(meshwright.history.wills). What a broker that never returns held alone, goes with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from meshwright.history.history import History, Published, Subscribed
from meshwright.history.violation import Violation, seconds
from meshwright.history.wanted import Wanted, group_of
from meshwright.history.wills import wills_owed


def lost(history: History) -> list[Violation]:
    """Every delivery that is owed and did not come, and every session that was forgotten."""
    return [*_publications_lost(history), *_sessions_lost(history)]


def _publications_lost(history: History) -> Iterator[Violation]:
    standing = [
        one
        for one in history.subscriptions
        if one.granted_us is not None and one.end_requested_us is None
    ]
    wanted = Wanted(standing)
    groups = _groups(history)
    delivered = {(one.client, one.publisher, one.sequence) for one in history.deliveries}
    for published in chain(history.publications.values(), wills_owed(history)):
        if published.acknowledged_us is None or not published.qos:
            continue
        event = (published.publisher, published.sequence)
        blamed: set[str] = set()
        for subscription in wanted.by(published.topic, published.properties):
            owner = subscription.client
            if (owner, *event) in delivered or owner in blamed:
                continue
            if not _is_owed(published, subscription):
                continue
            members = groups.get(subscription.filter_text, (subscription,))
            if any(_may_take_along(history, one, published) for one in members):
                continue
            came = any((one.client, *event) in delivered for one in members)
            is_gone = (subscription.filter_text, event) in history.gone_shared
            if not came and not is_gone and not _is_excused(history, published, owner):
                blamed.add(owner)
                yield _violation(published, subscription)


def _is_owed(published: Published, subscription: Subscribed) -> bool:
    assert subscription.granted_us is not None
    is_earlier = subscription.granted_us < published.attempted_us
    return is_earlier and min(subscription.qos, published.qos) > 0


def _groups(history: History) -> dict[str, list[Subscribed]]:
    """The subscriptions of all who ever were in a group, by the filter that they share."""
    found: dict[str, list[Subscribed]] = {}
    for one in history.subscriptions:
        if group_of(one) is not None:
            found.setdefault(one.filter_text, []).append(one)
    return found


def _may_take_along(history: History, one: Subscribed, published: Published) -> bool:
    """Whether a member of a group may have been given a message and not have to keep it.

    What of QoS 1 it has not answered when it leaves is for another member.
    """
    qos = min(one.qos, published.qos)
    need_not_keep = qos == 0 or (qos == 2 and one.end_requested_us is not None)
    return need_not_keep and not _is_known_gone(history, one, published.attempted_us)


def _is_known_gone(history: History, one: Subscribed, time_us: int) -> bool:
    """Whether a subscription was over before a time, also for a broker that was told nothing."""
    if one.ended_us is None or one.ended_us >= time_us:
        return False
    session = history.session_at(one.client, one.requested_us)
    return not any(
        left.client == one.client
        and left.since_us >= one.requested_us
        and (left.until_us is None or left.until_us >= time_us)
        and history.session_at(one.client, left.since_us) == session
        for left in history.abandoned
    )


def _is_excused(history: History, published: Published, client: str) -> bool:
    """True if the only copy went with a broker that never returned."""
    if not history.gone_us:
        return False
    if published.acknowledged_by in history.gone_us or published.broker in history.gone_us:
        return True
    # It may have entered elsewhere than where its publisher was connected.
    if (published.publisher, published.sequence) in history.gone_events:
        return True
    connections = history.connections[client]
    for number, connection in enumerate(connections):
        gone_us = history.gone_us.get(connection.broker)
        if gone_us is None:
            continue
        is_last = number + 1 == len(connections)
        if is_last or connections[number + 1].opened_us > max(gone_us, published.attempted_us):
            return True
    return False


def _violation(published: Published, subscription: Subscribed) -> Violation:
    assert published.acknowledged_us is not None
    assert subscription.granted_us is not None
    return Violation(
        checker="lost",
        sentence=(
            f"{subscription.client} never got {published.publisher}:{published.sequence} on "
            f"{published.topic} (QoS {published.qos}), sent at {seconds(published.attempted_us)} "
            f"and acknowledged by {published.acknowledged_by} at "
            f"{seconds(published.acknowledged_us)}, though {subscription.filter_text!r} was "
            f"granted at {seconds(subscription.granted_us)} and stands"
        ),
        time_us=published.attempted_us,
        event=(published.publisher, published.sequence),
        client=subscription.client,
        topic=published.topic,
    )


def _sessions_lost(history: History) -> Iterator[Violation]:
    for one in history.sessions_lost:
        # It may have followed its client to a broker that was gone before it answered.
        if one.previous_broker not in history.gone_us and one.client not in history.gone_sessions:
            yield Violation(
                checker="lost",
                sentence=(
                    f"the session of {one.client} at {one.previous_broker} was forgotten: "
                    f"{one.broker} answered at {seconds(one.time_us)} that there is none"
                ),
                time_us=one.time_us,
                client=one.client,
            )
