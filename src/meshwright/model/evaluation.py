"""What one overlay costs for one snapshot: the same row of metrics for every design."""

from __future__ import annotations

import msgspec


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """Closed-form figures of one overlay under one snapshot; a hop on a link is one message.

    Messages are sums over the horizon's publications: internal ones are received by interested
    brokers, external ones by brokers that only relay, entry ones carry a publication from its
    publisher's broker to where dissemination starts.
    Delays are means over deliveries: delay_hops_mean from the publisher's broker,
    delay_tree_hops_mean from where dissemination starts.
    cost = messages_external + delay_weight * (tree delay summed over publications and members);
    the delay is in hops and, where the snapshot knows delays, a hop counts by its own.
    The publisher's broker is any broker, with equal chance; if interested, it is a delivery too.
    management_messages_mean: the price of one broker's subscribing to one topic, over all interests
    there are, each as the last to come.
    diameter: the most hops from one interested broker to another, of each topic.
    k_held: how many brokers must die to part the interested brokers of some topic.
    A design that forwards along one tree or to one root holds 1.
    load_spread: standard deviation of the messages a broker sends and receives, over their mean.
    deliveries_missed: to interested brokers that the overlay's links do not reach.
    """

    design: str
    messages_internal: float
    messages_external: float
    messages_entry: float
    messages_per_publication: float
    delay_hops_mean: float
    delay_tree_hops_mean: float
    delay_ms_mean: float | None
    cost: float
    management_messages_mean: float
    degree_mean: float
    degree_max: int
    diameter_mean: float
    diameter_max: int
    k_held: int
    load_spread: float
    deliveries_missed: float = 0.0
