"""Wills: published when they must be, never when they must not, and after what their client sent.

A broker counts from when it hears of the end of a connection, or from when it is up again after
a crash: never before the client knew, but for the way of its last packet. So these races are left
open, as MQTT leaves them: a goodbye that did not reach its broker, or not its disk before a crash;
a return that was asked for in time and answered too late; a CONNECT of which the client never heard
whether it was accepted. A client whose session stays at another broker, its home, is gone for that
as soon as the two brokers lose each other, whatever it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from meshwright.history.history import (
    Delivered,
    EventKey,
    History,
    Published,
    Willed,
    published_will,
)
from meshwright.history.violation import Violation, seconds, wrong_delivery
from meshwright.history.wanted import group_of

# A packet to or from a client is never longer under way, nor a clock that far off in a minute.
LINE_SLACK_US = 100_000
# What is not on disk after this time never comes there: disks stall, and then their brokers crash.
DISK_SLACK_US = 2_500_000

NEVER_US = 1 << 62


class Following(NamedTuple):
    """When the client of a will was accepted again, and when it asked for a new session."""

    back_us: int
    anew_us: int


def wills_owed(history: History) -> Iterator[Published]:
    """Wills that must be published, each as of the earliest time when that may have been."""
    for own in _by_client(history).values():
        may_be_replaced = False
        for place, will in enumerate(own):
            following = own[place + 1].sent_us if place + 1 < len(own) else None
            # One given before and abandoned unanswered may be seen to after this one.
            may_be_replaced |= _is_left_behind(will)
            if _is_owed(history, will, None if may_be_replaced else following):
                assert will.opened_us is not None
                assert will.ended_us is not None
                is_at_home = will.keeper == will.broker
                earliest_us = will.ended_us - LINE_SLACK_US if is_at_home else will.opened_us
                yield published_will(will, earliest_us)


def wills_amiss(history: History) -> list[Violation]:
    """Every delivery of a will that must not have been published, or not so early."""
    if not history.wills:
        return []
    following = _following(history)
    found = []
    for one in history.deliveries:
        will = history.wills.get((one.publisher, one.sequence))
        why = _why_not(history, will, one, following) if will is not None else None
        if why is not None:
            found.append(wrong_delivery("wills", one, why))
    return [*found, *_overtaking(history)]


def _by_client(history: History) -> dict[str, list[Willed]]:
    found: dict[str, list[Willed]] = {}
    for will in history.wills.values():
        found.setdefault(will.client, []).append(will)
    return found


def _following(history: History) -> dict[EventKey, Following]:
    """What the client of each will did next."""
    found: dict[EventKey, Following] = {}
    for own in _by_client(history).values():
        next_us, anew_us = NEVER_US, NEVER_US
        for will in reversed(own):
            found[will.publisher, will.sequence] = Following(next_us, anew_us)
            next_us = next_us if will.opened_us is None else will.opened_us
            anew_us = will.sent_us if will.is_clean_start else anew_us
        # A CONNECT that was abandoned before it was answered may be seen to long after the next.
        late = [one.sent_us for one in own if _is_left_behind(one)]
        for will in own if late else ():
            event = (will.publisher, will.sequence)
            anew_us = min(late[0], found[event].anew_us)
            found[event] = Following(found[event].back_us, anew_us)
    return found


def _is_left_behind(will: Willed) -> bool:
    """Whether its CONNECT was abandoned before it was answered."""
    return will.is_abandoned and will.opened_us is None


def _is_owed(history: History, will: Willed, following_us: int | None) -> bool:
    """Whether a will must be published; following_us: its client tried to connect again.

    It is None if that never was, or if a CONNECT of before may have replaced the will.
    """
    if will.opened_us is None or will.ended_us is None or will.is_taken_back:
        return False
    if not will.delay_us:
        # A take-over does not save it either [MQTT 5, 3.1.4].
        return True
    if will.is_abandoned or will.keeper != will.broker or following_us is None:
        return False
    known_us = max(will.ended_us, will.heard_us or 0)
    for outage in history.outages:
        if outage.broker != will.keeper or not _is_after(outage.until_us, will.opened_us):
            continue
        if outage.since_us > following_us:
            break
        if outage.until_us is None:
            return False
        known_us = max(known_us, outage.until_us)
    return following_us > known_us + will.delay_us + LINE_SLACK_US


def _is_after(time_us: int | None, other_us: int) -> bool:
    return time_us is None or time_us > other_us


def _why_not(
    history: History, will: Willed, one: Delivered, following: dict[EventKey, Following]
) -> str | None:
    """Why a will must not have come when it did, if so."""
    if will.is_refused:
        return f"{will.broker} refused the connection it was given for"
    if will.opened_us is None or not _is_certain(history, will):
        return None
    if will.ended_us is None:
        return "the connection it was given for stands"
    if will.is_taken_back and will.heard_us is not None and not _was_forgotten(history, will):
        return f"{will.broker} heard its client say goodbye at {seconds(will.heard_us)}"
    back_us, anew_us = following[will.publisher, will.sequence]
    due_us = min(will.ended_us + will.delay_us, anew_us) - LINE_SLACK_US
    if one.time_us < due_us:
        return f"it was not due before {seconds(due_us)}"
    if back_us < due_us:
        return f"its client was back at {seconds(back_us)}, and it was due {seconds(due_us)}"
    return None


def _is_certain(history: History, will: Willed) -> bool:
    """Whether the broker that keeps a will knew of the end of its connection, and not too early."""
    if will.keeper is None or will.keeper == will.broker:
        return will.keeper is not None
    ends = (will.keeper, will.broker)
    return not history.has_losses and not any(one.broker in ends for one in history.outages)


def _was_forgotten(history: History, will: Willed) -> bool:
    """Whether a broker may have forgotten a goodbye in a crash."""
    assert will.heard_us is not None
    return any(
        outage.broker == will.keeper
        and will.heard_us <= outage.since_us <= will.heard_us + DISK_SLACK_US
        for outage in history.outages
    )


def _overtaking(history: History) -> Iterator[Violation]:
    """Every will that came before something that its client had published and knew to be safe.

    As everywhere, order is that of one topic and QoS, in one session of either.
    """
    sharing = {one.client for one in history.subscriptions if group_of(one) is not None}
    first: dict[tuple[str, int, str, str], list[tuple[Delivered, Willed]]] = {}
    seen: set[tuple[str, int, EventKey]] = set()
    for one in history.deliveries:
        if one.is_retained or one.client in sharing or not one.qos:
            continue
        event, session = (one.publisher, one.sequence), history.session_of(one)
        if (one.client, session, event) in seen:
            continue
        seen.add((one.client, session, event))
        will = history.wills.get(event)
        if will is not None:
            first.setdefault((one.client, session, will.client, one.topic), []).append((one, will))
            continue
        published = history.publications.get(event)
        if published is None or published.resend_count:
            continue
        for came, earlier in first.get((one.client, session, one.publisher, one.topic), ()):
            is_same = _session(history, earlier) == history.session_at(
                one.publisher, published.attempted_us
            )
            if is_same and _goes_before(published, one, earlier, came):
                event_text = f"{one.publisher}:{one.sequence}"
                reason = f"{event_text} came later, though acknowledged before"
                yield wrong_delivery("wills", came, reason)
                break


def _session(history: History, will: Willed) -> int | None:
    """The session of a will; None for a new one of which its client never heard."""
    if will.opened_us is None and will.is_clean_start:
        return None
    return history.session_at(will.client, will.opened_us or will.sent_us)


def _goes_before(published: Published, one: Delivered, will: Willed, came: Delivered) -> bool:
    return (
        published.qos == will.qos
        and one.qos == came.qos
        and published.acknowledged_us is not None
        and will.ended_us is not None
        and published.acknowledged_us <= will.ended_us
    )
