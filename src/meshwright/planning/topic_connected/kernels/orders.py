"""Orders of the brokers in which the circulants of their topics share many links."""

from __future__ import annotations

import numpy as np
from numba import njit

from meshwright.model.interests import Int32Array
from meshwright.planning.topic_connected.kernels.membership import Membership


@njit(cache=True)
def fewest_links_order(members: Membership, reach: int) -> Int32Array:
    """Append, each time, the broker that would be linked to fewest; of equals the lowest.

    A newcomer is linked to the last `reach` brokers of each of its topics. For every waiting broker
    the topics that would link it to each placed one are counted, and kept up to date: the cost is a
    few steps for each pair of brokers and topic that they share, not for each turn.
    """
    broker_count = len(members.broker_offsets) - 1
    topic_count = len(members.topic_offsets) - 1
    order = np.empty(broker_count, dtype=np.int32)
    waiting = np.ones(broker_count, dtype=np.bool_)
    new_links = np.zeros(broker_count, dtype=np.int32)
    tie_counts = np.zeros((broker_count, broker_count), dtype=np.int32)
    lasts = np.full((topic_count, reach), -1, dtype=np.int32)
    turns = np.zeros(topic_count, dtype=np.int32)
    for place in range(broker_count):
        chosen = -1
        for broker in range(broker_count):
            if waiting[broker] and (chosen < 0 or new_links[broker] < new_links[chosen]):
                chosen = broker
        order[place] = chosen
        waiting[chosen] = False
        for index in range(members.broker_offsets[chosen], members.broker_offsets[chosen + 1]):
            topic = members.broker_topics[index]
            passed = lasts[topic, turns[topic]]
            lasts[topic, turns[topic]] = chosen
            turns[topic] = (turns[topic] + 1) % reach
            for slot in range(members.topic_offsets[topic], members.topic_offsets[topic + 1]):
                broker = members.slot_brokers[slot]
                if not waiting[broker]:
                    continue
                tie_counts[broker, chosen] += 1
                new_links[broker] += tie_counts[broker, chosen] == 1
                if passed >= 0:
                    tie_counts[broker, passed] -= 1
                    new_links[broker] -= tie_counts[broker, passed] == 0
    return order


@njit(cache=True)
def similarity_order(members: Membership) -> Int32Array:
    """From broker 0 on, append who shares most topics with the last; of equals the lowest."""
    broker_count = len(members.broker_offsets) - 1
    order = np.zeros(broker_count, dtype=np.int32)
    waiting = np.ones(broker_count, dtype=np.bool_)
    for place in range(broker_count):
        shared = np.zeros(broker_count, dtype=np.int32)
        if place > 0:
            last = order[place - 1]
            for index in range(members.broker_offsets[last], members.broker_offsets[last + 1]):
                topic = members.broker_topics[index]
                for slot in range(members.topic_offsets[topic], members.topic_offsets[topic + 1]):
                    shared[members.slot_brokers[slot]] += 1
        chosen = -1
        for broker in range(broker_count):
            if waiting[broker] and (chosen < 0 or shared[broker] > shared[chosen]):
                chosen = broker
        order[place] = chosen
        waiting[chosen] = False
    return order
