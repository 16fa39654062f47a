"""Out of order across topics: where one order was promised for several of them.

It is promised to clients of one broker of all that one of them publishes there, and of topics that
are named so (History.ordered) wherever clients are. What was sent to a client without a promise may
overtake what waits for its answers, and clients may hold QoS 2 back until it is released, so what
comes with each QoS has an order of its own. A message that its publisher sent again may have come
late the first time, or not at all. Between brokers a new subscription may get what was published
before it, though another one had got what came later. Where clients move, what is published on a
topic may wait for what a mover sent elsewhere, and QoS 0 on other topics does not wait for that.
"""

from __future__ import annotations

from meshwright.filters.filter import matches, parse_filter
from meshwright.history.history import Delivered, History, Published, Subscribed
from meshwright.history.violation import Violation, seconds
from meshwright.history.wanted import group_of, wanted_by_client

# Who got it in which session, of whom, sent in which session, with which QoS it came, and whether
# it was sent as one that does not wait.
_Line = tuple[str, int, str, int, int, bool]


def reordered_across(history: History) -> list[Violation]:
    """Every first delivery that comes after one of another topic that was sent later."""
    found: list[Violation] = []
    filters = [parse_filter(text) for text in history.ordered]
    sharing = {one.client for one in history.subscriptions if group_of(one) is not None}
    homes = _Homes(history)
    wanted = wanted_by_client(history.subscriptions)
    seen: set[tuple[str, int, str, int]] = set()
    newest: dict[tuple[_Line, bool], Delivered] = {}
    for one in history.deliveries:
        session = history.session_of(one)
        event = (one.client, session, one.publisher, one.sequence)
        published = history.publications.get((one.publisher, one.sequence))
        if one.is_retained or one.client in sharing or event in seen or published is None:
            continue
        seen.add(event)
        if published.resend_count:
            continue
        source = history.session_at(one.publisher, published.attempted_us)
        is_ordered = any(matches(each, one.topic) for each in filters)
        for is_promised, is_network in (
            (is_ordered, True),
            (homes.are_one(one, published), False),
        ):
            if not is_promised:
                continue
            never_waits = homes.have_movers and not published.qos and not is_network
            line = (one.client, session, one.publisher, source, one.qos, never_waits)
            before = newest.get((line, is_network))
            if before is None or before.sequence < one.sequence:
                newest[line, is_network] = one
            elif before.topic != one.topic and not (
                is_network
                and _is_for_a_new_subscription(
                    wanted[one.client].by(one.topic, published.properties), before, one
                )
            ):
                found.append(_violation(before, one))
                break
    return found


class _Homes:
    """Clients that were at one broker all the time.

    Who let go of a connection somewhere may be served from there, as it has its session there.
    """

    def __init__(self, history: History) -> None:
        self._brokers = {
            client: {one.broker for one in connections}
            for client, connections in history.connections.items()
        }
        self.have_movers = any(len(brokers) > 1 for brokers in self._brokers.values())
        for one in history.abandoned:
            self._brokers.pop(one.client, None)

    def are_one(self, one: Delivered, published: Published) -> bool:
        """Whether a message was published, taken and delivered at one broker."""
        receiver, sender = self._brokers.get(one.client), self._brokers.get(one.publisher)
        return receiver == sender == {published.broker} == {one.broker}


def _is_for_a_new_subscription(
    subscriptions: list[Subscribed], before: Delivered, one: Delivered
) -> bool:
    """True if none that takes a message was granted when the other one was delivered."""
    return not any(
        each.granted_us is not None
        and each.granted_us <= before.time_us
        and (each.ended_us is None or each.ended_us >= one.time_us)
        for each in subscriptions
    )


def _violation(before: Delivered, one: Delivered) -> Violation:
    return Violation(
        checker="reordered",
        sentence=(
            f"{one.client} got {one.publisher}:{one.sequence} on {one.topic} at "
            f"{seconds(one.time_us)} from {one.broker}, after {before.publisher}:{before.sequence} "
            f"on {before.topic} at {seconds(before.time_us)} from {before.broker}"
        ),
        time_us=one.time_us,
        event=(one.publisher, one.sequence),
        client=one.client,
        topic=one.topic,
    )
