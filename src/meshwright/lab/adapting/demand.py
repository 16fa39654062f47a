"""Trees with clients, and three kinds of traffic between them [OCBR, 2].

groups: brokers anywhere in the tree belong together, and their clients talk within a group, but for
a tenth of the messages. uniform: any few clients talk. content: clients ask for topics and values,
and a message goes from one of those who ask for its topic to all who ask for its value.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from meshwright.filters.filter import parse_filter
from meshwright.filters.index import FilterIndex
from meshwright.model.interests import interests_from_sets
from meshwright.planning.adaptation.values import DispatchTree, Traffic, TreeCosts, tree_from_links

TrafficKind = Literal["groups", "uniform", "content"]
KINDS: tuple[TrafficKind, ...] = ("groups", "uniform", "content")

CLIENTS_PER_BROKER = 3
GROUP_BROKERS = 4
STRANGERS_SHARE = 0.1
CLASSES_PER_BROKER = 6
CLASS_SIZE_MAX = 6
MESSAGES_MAX = 200
TOPICS_PER_BROKER = 0.5
VALUE_MAX = 100


def drawn_tree(broker_count: int, rng: np.random.Generator) -> DispatchTree:
    """Each broker joins a random earlier one; clients are spread evenly."""
    ups = rng.integers(np.arange(1, broker_count)).tolist()
    links = [(up, low) for low, up in enumerate(ups, start=1)]
    hosts = np.tile(np.arange(broker_count), CLIENTS_PER_BROKER).tolist()
    return tree_from_links(broker_count, links, hosts)


def drawn_traffic(kind: TrafficKind, tree: DispatchTree, rng: np.random.Generator) -> Traffic:
    """Classes of clients, and how many messages each has in a period."""
    clients = np.arange(tree.broker_count, tree.vertex_count)
    count = CLASSES_PER_BROKER * tree.broker_count
    if kind == "content":
        rows = _by_content(clients, count, tree.broker_count, rng)
    elif kind == "groups":
        rows = _by_groups(clients, count, tree, rng)
    else:
        rows = [_some(clients, rng) for _ in range(count)]
    messages = rng.integers(1, MESSAGES_MAX, size=count)
    return Traffic(interests_from_sets(rows, tree.vertex_count), messages)


def drifted(
    kind: TrafficKind, tree: DispatchTree, traffic: Traffic, share: float, rng: np.random.Generator
) -> Traffic:
    """The same traffic, but for a share of its classes, which come from traffic drawn anew."""
    fresh = drawn_traffic(kind, tree, rng)
    is_fresh = rng.random(len(traffic.messages)) < share
    rows = [
        (fresh if replaced else traffic).classes.of(row).tolist()
        for row, replaced in enumerate(is_fresh.tolist())
    ]
    messages = np.where(is_fresh, fresh.messages, traffic.messages)
    return Traffic(interests_from_sets(rows, tree.vertex_count), messages)


def drawn_costs(
    tree: DispatchTree, link_weight: int, broker_weight: int, rng: np.random.Generator
) -> TreeCosts:
    """Links cost 1 to 15 by the distance of places in a square, brokers 1 to 5 by chance.

    A client is where its broker was at first.
    """
    places = rng.random((tree.broker_count, 2))
    spans = places[tree.hosts()][:, None] - places[None]
    lengths = np.rint(10.0 * np.hypot(spans[..., 0], spans[..., 1])).astype(np.int64)
    brokers = rng.integers(1, 6, size=tree.broker_count)
    return TreeCosts(link_weight, broker_weight, 1 + lengths, brokers)


def _some(clients: np.ndarray, rng: np.random.Generator) -> list[int]:
    size = int(rng.integers(2, min(CLASS_SIZE_MAX, len(clients)) + 1))
    return [int(client) for client in rng.choice(clients, size=size, replace=False)]


def _by_groups(
    clients: np.ndarray, count: int, tree: DispatchTree, rng: np.random.Generator
) -> list[list[int]]:
    """Who talks with whom, where groups of brokers are drawn first."""
    group_count = max(tree.broker_count // GROUP_BROKERS, 1)
    group_of = rng.permutation(tree.broker_count) % group_count
    groups = [clients[group_of[tree.hosts()[clients]] == group] for group in range(group_count)]
    rows = []
    for _ in range(count):
        chosen = groups[int(rng.integers(group_count))]
        rows.append(_some(clients if rng.random() < STRANGERS_SHARE else chosen, rng))
    return rows


def _by_content(
    clients: np.ndarray, count: int, broker_count: int, rng: np.random.Generator
) -> list[list[int]]:
    """Who gets each message, by the filters that clients have."""
    topic_count = max(round(TOPICS_PER_BROKER * broker_count), 1)
    index: FilterIndex[int] = FilterIndex()
    asking: list[list[int]] = [[] for _ in range(topic_count)]
    for client in clients.tolist():
        topic, low = int(rng.integers(topic_count)), int(rng.integers(VALUE_MAX))
        index.add(client, parse_filter(f"$where/value>={low}&value<{low + VALUE_MAX // 2}/{topic}"))
        asking[topic].append(client)
    rows = []
    used = [topic for topic in range(topic_count) if asking[topic]]
    for _ in range(count):
        topic = used[int(rng.integers(len(used)))]
        value = str(int(rng.integers(VALUE_MAX * 3 // 2)))
        publisher = int(rng.choice(asking[topic]))
        matched = index.match(str(topic), (("value", value),))
        rows.append(list(dict.fromkeys((publisher, *(client for client, _ in matched)))))
    return rows
