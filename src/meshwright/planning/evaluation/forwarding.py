"""What every way of forwarding answers: one publication, one subscription, and all of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array, Snapshot

# Whole numbers where every broker publishes alike.
Sums: TypeAlias = NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class PublicationMessages:
    """The messages of one publication, counted exactly; a hop between two brokers is one.

    entry: from the publisher's broker to where dissemination starts. internal and external:
    received by interested and by relaying brokers during dissemination; where it starts receives
    nothing. delays_hops: from the publisher's broker to each interested broker, ascending, -1 for
    one that is never reached: (member,).
    """

    entry: int
    internal: int
    external: int
    delays_hops: Int32Array

    @property
    def total(self) -> int:
        return self.entry + self.internal + self.external

    @property
    def total_live(self) -> int:
        """What live brokers send: they connect straight to those whom the overlay does not reach.

        Whoever in a part gets it hands it on there, so that is one more message for each.
        """
        return self.total + int(np.count_nonzero(self.delays_hops < 0))


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Every topic published once by each broker, summed over the publishers: (topic,) each.

    Where the snapshot knows where publications enter, as many as there are brokers are shared out
    by that, and sums are fractions. Delays are summed over deliveries too, and a publisher's own
    interested broker is one of them; those in milliseconds are None where the snapshot knows none.
    """

    internal: Sums
    external: Sums
    entry: Sums
    delivered: Sums
    missed: Sums
    delay_hops: Sums
    delay_tree_hops: Sums
    delay_ms: Float64Array | None
    delay_tree_ms: Float64Array | None


@dataclass(frozen=True, slots=True, eq=False)
class Totals(Traffic):
    """The traffic, and what else there is to know of an overlay.

    diameters: (topic,), the longest delay in hops from one interested broker to another.
    loads: (broker,), messages sent and received, times the publications of their topic.
    management: messages of subscribing, over every (topic, interested broker), each as the last.
    k_held: how many brokers must die to part the interested brokers of some topic.
    """

    diameters: Int64Array
    loads: Float64Array
    management: int
    k_held: int


class Carrier(Protocol):
    """What a replay asks of one overlay under one snapshot, all topics at once."""

    def traffic(self) -> Traffic:
        """All publishers of all topics at once."""

    def subscriptions(self, topics: Int64Array, brokers: Int64Array) -> Int64Array:
        """Messages of each broker's subscribing, the other interested brokers standing: (pair,)."""


class Forwarding(Protocol):
    """One overlay under one snapshot; topics and brokers are indexes into the snapshot."""

    def publication(self, topic: int, publisher: int) -> PublicationMessages:
        """The messages of one publication that enters at the publisher's broker."""

    def subscription(self, topic: int, broker: int) -> int:
        """Messages sent when the broker subscribes, the other interested brokers standing."""

    def totals(self) -> Totals:
        """All publishers of all topics at once."""


def weighed_delays(traffic: Traffic, snapshot: Snapshot) -> Float64Array:
    """Tree delays as a cost has them, in hops: (topic,).

    Where delays are known, a hop counts as its delay over that of the mean hop.
    """
    hop_ms = snapshot.hop_ms
    if traffic.delay_tree_ms is None or hop_ms is None:
        return traffic.delay_tree_hops.astype(np.float64)
    delays: Float64Array = traffic.delay_tree_ms / hop_ms
    return delays


def parts_of(traffic: Traffic) -> dict[str, Any]:
    """The parts of the traffic by name, to make totals of."""
    return {field.name: getattr(traffic, field.name) for field in fields(traffic)}
