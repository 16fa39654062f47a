"""What every way of forwarding answers: one publication, one subscription, and all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.snapshot import Float64Array


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


@dataclass(frozen=True, slots=True, eq=False)
class Totals:
    """Every topic published once by each broker, all summed over the publishers.

    internal, external, entry, delivered, missed, delay_hops, delay_tree_hops, delay_ms: (topic,);
    delays are summed over deliveries too, and a publisher's own interested broker is one of them.
    diameters: (topic,), the longest delay in hops from one interested broker to another.
    loads: (broker,), messages sent and received, times the publications of their topic.
    management: messages of subscribing, over every (topic, interested broker), each as the last.
    k_held: how many brokers must die to part the interested brokers of some topic.
    """

    internal: Int64Array
    external: Int64Array
    entry: Int64Array
    delivered: Int64Array
    missed: Int64Array
    delay_hops: Int64Array
    delay_tree_hops: Int64Array
    delay_ms: Float64Array | None
    diameters: Int64Array
    loads: Float64Array
    management: int
    k_held: int


class Forwarding(Protocol):
    """One overlay under one snapshot; topics and brokers are indexes into the snapshot."""

    def publication(self, topic: int, publisher: int) -> PublicationMessages:
        """The messages of one publication that enters at the publisher's broker."""

    def subscription(self, topic: int, broker: int) -> int:
        """Messages sent when the broker subscribes, the other interested brokers standing."""

    def totals(self) -> Totals:
        """All publishers of all topics at once."""
