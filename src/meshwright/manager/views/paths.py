"""Which way a message takes through brokers that run, on the overlay in force or another one."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from meshwright.errors import OperatorError
from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.filters.topics import check_topic_name
from meshwright.model.overlay import Overlay
from meshwright.protocol.forwarding.rehearsal import Hop, Rehearsal
from meshwright.protocol.inspection import BrokerView


class PathView(msgspec.Struct, frozen=True, kw_only=True):
    """The way of one message; relays: brokers that hand it on and do not want it."""

    topic: str
    source: str
    design: str
    hops: tuple[Hop, ...]
    wanted_at: tuple[str, ...]
    relays: tuple[str, ...]


def path_of(
    views: Mapping[str, BrokerView], topic: str, source: str, overlay: Overlay | None = None
) -> PathView:
    """The way of a message that is published at a broker; overlay: None for the one in force."""
    check_topic_name(topic)
    if source not in views:
        raise OperatorError(f"No broker {source!r} runs here; those that do: {', '.join(views)}.")
    first = views[source]
    joined = overlay or first.overlay
    alive = [name for name in first.alive if name in views and name in joined.brokers]
    if source not in alive:
        raise OperatorError(f"{source!r} is not in that overlay; choose another broker.")
    wanted_at = tuple(name for name in alive if _wants(views[name], topic))
    hops = Rehearsal(joined, alive, topic=topic, receivers=wanted_at).hops_from(source)
    reached = {source, *(hop.target for hop in hops)}
    return PathView(
        topic=topic,
        source=source,
        design=joined.design,
        hops=hops,
        wanted_at=wanted_at,
        relays=tuple(sorted(reached - {source, *wanted_at})),
    )


def _wants(view: BrokerView, topic: str) -> bool:
    filters = (parse_filter(interest.filter) for interest in view.interests)
    return any(matches(Filter(one.topic_filter), topic) for one in filters)
