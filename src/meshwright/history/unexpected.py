"""Delivered to someone who did not ask for it, or something that nobody sent.

A subscription may count from its request. After its end was confirmed, only what was sent before
may still come, and nothing once the session itself is gone.
"""

from __future__ import annotations

from meshwright.history.history import Delivered, History, Published, Subscribed
from meshwright.history.violation import Violation, seconds, wrong_delivery
from meshwright.history.wanted import wanted_by_client


def unexpected(history: History) -> list[Violation]:
    """Every delivery that no subscription explains."""
    found: list[Violation] = []
    wanted = wanted_by_client(history.subscriptions)
    for one in history.deliveries:
        published = history.published((one.publisher, one.sequence))
        own = wanted.get(one.client)
        if published is None:
            reason: str | None = "nobody published it"
        elif published.topic != one.topic:
            reason = f"it was published on {published.topic}"
        elif one.qos > published.qos:
            reason = f"it was published with QoS {published.qos}"
        else:
            matching = own.by(one.topic, published.properties) if own is not None else []
            is_explained = any(_explains(each, published, one) for each in matching)
            reason = None if is_explained else _known(matching)
        if reason is not None:
            found.append(wrong_delivery("unexpected", one, reason))
    return found


def _explains(subscription: Subscribed, published: Published, one: Delivered) -> bool:
    if subscription.requested_us > one.time_us or one.qos > subscription.qos:
        return False
    if subscription.ended_us is None:
        return True
    last = subscription.connection_last
    is_in_session = last is None or one.connection <= last
    return published.attempted_us <= subscription.ended_us and is_in_session


def _known(matching: list[Subscribed]) -> str:
    if not matching:
        return "no subscription matches it"
    ends = ", ".join(
        f"{each.filter_text!r} (QoS {each.qos}) from {seconds(each.requested_us)}"
        + ("" if each.ended_us is None else f" to {seconds(each.ended_us)}")
        for each in matching
    )
    return f"what matches does not explain it: {ends}"
