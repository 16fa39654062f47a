"""The parts that topic-connected and acyclic forwarding stand on, and the table of all machines."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import networkx as nx
import numpy as np
import pytest
from broker_kinds import some_links
from broker_pump import EPOCH, Pump

from meshwright.filters.filter import Filter, parse_filter
from meshwright.model.designs import DESIGNS
from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.overlays.graph import graph
from meshwright.planning.evaluation.kernels.pushes import Rows
from meshwright.planning.evaluation.kernels.ways import nearest, ways_between
from meshwright.protocol.forwarding.acyclic.acyclic import Acyclic, AlongTree, FilterChange
from meshwright.protocol.forwarding.acyclic.answers import Answers
from meshwright.protocol.forwarding.machines import MACHINES, MESSAGES
from meshwright.protocol.forwarding.topic_connected.offers import Offer, Push
from meshwright.protocol.forwarding.topic_connected.push_trees import (
    GROUPS_BELOW,
    joined_brokers,
    push_tree,
    ways_in,
)
from meshwright.protocol.forwarding.topic_connected.topic_connected import HandIn, TopicConnected
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Turn

every_seed = pytest.mark.parametrize("seed", range(5))


def test_every_design_has_a_machine_and_every_message_an_epoch() -> None:
    assert {row.forwarding for row in DESIGNS.values()} == set(MACHINES)
    for machine in set(MACHINES.values()):
        assert isinstance(machine, type)
    assert all(kind.__struct_fields__[0] == "epoch" for kind in MESSAGES)


@every_seed
def test_a_push_tree_spans_the_crowd_by_shortest_ways_inside_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    overlay = drawn_overlay(rng)
    joined = joined_brokers(overlay)
    crowd = rng.choice(overlay.brokers, size=int(rng.integers(1, 18)), replace=False).tolist()
    bits = joined.crowd([*crowd, "stranger"])
    assert joined.named(bits) == set(crowd)
    assert [joined.names[index] for index in joined.receivers(bits)] == [
        name for name in overlay.brokers if name in crowd
    ]
    inner = nx.Graph(overlay.links).subgraph(crowd)
    for entry in crowd:
        tree = push_tree(joined, entry, bits)
        assert set(tree.parents) == set(crowd)
        hops = depths(tree.parents)
        if entry in inner:
            for name, distance in nx.single_source_shortest_path_length(inner, entry).items():
                assert hops[name] == distance
        children = {(parent, child) for parent, below in tree.children.items() for child in below}
        assert children == {
            (parent, child) for child, parent in tree.parents.items() if child != entry
        }
        straight = [pair for pair in children if not inner.has_edge(*pair)]
        assert all(
            sum(parent == one for one, _ in straight) <= GROUPS_BELOW for parent, _ in straight
        )


@every_seed
def test_ways_in_are_those_of_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    overlay = drawn_overlay(rng)
    joined = joined_brokers(overlay)
    seen = [name for name in overlay.brokers if rng.random() < 0.8] or list(overlay.brokers)
    receivers = [name for name in seen if rng.random() < 0.3]
    rank = {name: index for index, name in enumerate(seen)}
    ends = [(rank[a], rank[b]) for a, b in overlay.links if a in rank and b in rank]
    linked = graph(len(seen), np.array(ends, dtype=np.int32).reshape(-1, 2))
    columns = np.array([rank[name] for name in receivers], dtype=np.int32)
    ways = ways_in(joined, frozenset(seen), joined.crowd(receivers))
    if not receivers:
        assert ways == {}
        return
    expected = ways_between(Rows(linked.offsets, linked.neighbours), np.zeros((0, 0)))
    members, hops = np.empty((2, len(seen)), dtype=np.int32)
    nearest(expected, columns, members, hops)
    for name, index in rank.items():
        entry = rank[ways[name].entry]
        assert entry == columns[members[index]]
        assert rank[ways[name].next_hop] == expected.next_hops[entry, index]


def test_brokers_that_see_the_same_share_one_tree() -> None:
    overlay = line("gm", 9)
    joined = joined_brokers(overlay)
    assert joined_brokers(line("gm", 9)) is joined
    crowd = joined.crowd(overlay.brokers)
    assert push_tree(joined, "b0", crowd) is push_tree(joined, "b0", crowd)


def test_frames_are_dropped_past_the_limit_of_hops() -> None:
    for design, machine in (("gm", TopicConnected), ("tree", Acyclic)):
        pump = Pump(line(design, 5), machine)
        for name in pump.overlay.brokers:
            pump.add(name, "topic")
        pump.drain()
        pump.sent.clear()
        everybody = joined_brokers(pump.overlay).crowd(pump.overlay.brokers)
        last = joined_brokers(pump.overlay).crowd(["b4"])
        for number, kind in enumerate((Push, HandIn, AlongTree), start=1):
            frame = StreamFrame("b0", number, Publication("client", number, "topic"))
            messages: dict[type, Any] = {
                Push: Push(EPOCH, frame, "b0", everybody, 10),
                HandIn: HandIn(EPOCH, frame, last, 10),
                AlongTree: AlongTree(EPOCH, frame, 5),
            }
            if (kind is AlongTree) == (machine is Acyclic):
                pump.machines["b1"].handle(Turn(0), "b0", messages[kind])
        assert not pump.sent
        assert pump.arrivals["b1"] >= 1


def test_a_wait_ends_with_the_last_answer_to_what_was_told_before_it() -> None:
    answers, calls = Answers(), []
    turn = Turn(0)
    answers.wait(turn, ["a", "b"], lambda _: calls.append("nothing told"))
    assert [answers.number("a"), answers.number("a"), answers.number("b")] == [1, 2, 1]
    answers.wait(turn, ["a", "b"], lambda _: calls.append("both"))
    answers.wait(turn, ["a", "b"], lambda _: calls.append("but the source"), source="a")
    answers.number("b")
    answers.answered(turn, "b", 1)
    assert calls == ["nothing told", "but the source"]
    answers.answered(turn, "a", 1)
    assert len(calls) == 2
    answers.answered(turn, "a", 2)
    assert calls[2:] == ["both"]
    answers.wait(turn, ["a"], lambda _: calls.append("all answered"))
    assert calls[3:] == ["all answered"]


def test_a_wait_for_one_who_will_not_answer_goes_on_for_others() -> None:
    answers, calls = Answers(), []
    turn = Turn(0)
    answers.number("a")
    answers.wait(turn, ["a"], lambda _: calls.append("moved"))
    answers.wait(turn, ["a"], lambda _: calls.append("of the source"), source="b")
    waits = answers.withdraw(["a"])
    answers.number("b")
    answers.resume(turn, waits, ["b", "c"])
    assert calls == ["of the source"]
    answers.answered(turn, "b", 1)
    assert calls == ["of the source", "moved"]
    answers.wait(turn, ["a", "b"], lambda _: calls.append("nothing left"))
    assert calls[2:] == ["nothing left"]


def test_nothing_is_done_for_a_source_that_began_anew() -> None:
    answers, calls = Answers(), []
    turn = Turn(0)
    answers.number("a")
    answers.wait(turn, ["a"], lambda _: calls.append("for b"), source="b")
    answers.resume(turn, answers.renew("b"), ["a"])
    answers.answered(turn, "a", 1)
    assert calls == []


def test_messages_keep_their_meaning_on_a_wire() -> None:
    frame = StreamFrame("b0", 1, Publication("client", 1, "topic"))
    filters = (parse_filter("$where/x>2.50/a/+"), Filter("a?b"))
    for message in (
        Push(EPOCH, frame, "b0", b"\x05", 2),
        Offer(EPOCH, (("b0", "topic", 1),), (("client", 2),)),
        FilterChange(EPOCH, 1, filters, ()),
    ):
        wire = msgspec.msgpack.encode(message)
        assert msgspec.msgpack.decode(wire, type=type(message)) == message


def drawn_overlay(rng: np.random.Generator) -> Overlay:
    names = tuple(f"b{index}" for index in rng.permutation(18))
    return Overlay(design="gm", brokers=names, links=some_links(names, rng))


def line(design: str, broker_count: int) -> Overlay:
    names = tuple(f"b{index}" for index in range(broker_count))
    return Overlay(design=design, brokers=names, links=tuple(pairwise(names)))


def depths(parents: dict[str, str]) -> dict[str, int]:
    """Hops of each from the root, which is its own parent."""
    found = {}
    for name in parents:
        here, count = name, 0
        while parents[here] != here:
            here, count = parents[here], count + 1
        found[name] = count
    return found
