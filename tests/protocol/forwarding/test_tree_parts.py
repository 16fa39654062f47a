"""The parts that rendezvous and partition stand on."""

from __future__ import annotations

import numpy as np
import pytest
from broker_pump import EPOCH, Pump

from meshwright.errors import CallerError
from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.overlays.hypercube import hypercube
from meshwright.protocol.forwarding.partition.cube_hosts import cube_hosts
from meshwright.protocol.forwarding.recent_frames import REMEMBERED_MIN, RecentFrames, frame_key
from meshwright.protocol.forwarding.rendezvous.key_routes import key_routes
from meshwright.protocol.forwarding.rendezvous.rendezvous import FromRoot, Rendezvous, ToRoot
from meshwright.protocol.forwarding.topic_trees.demands import (
    HOPS_MAX,
    HOPS_STRAIGHT_MAX,
    Demand,
    Demands,
    End,
    Trail,
)
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Turn


def test_living_brokers_stand_for_their_own_position_and_for_each_that_has_none() -> None:
    rng = np.random.default_rng(0)
    for broker_count in range(1, 20):
        overlay = cube(broker_count)
        everybody = cube_hosts(overlay, frozenset(overlay.brokers))
        expected = hypercube(broker_count).hosts.tolist()
        assert everybody.hosts == [overlay.brokers[index] for index in expected]
        seen = frozenset(rng.choice(overlay.brokers, size=int(rng.integers(1, broker_count + 1))))
        hosts = cube_hosts(overlay, seen).hosts
        assert set(hosts) == seen
        assert all(hosts[overlay.brokers.index(name)] == name for name in seen)


def test_a_dead_dominating_node_is_taken_over_by_its_partner_where_no_sibling_lives() -> None:
    overlay = cube(16)
    hosts = cube_hosts(overlay, frozenset(overlay.brokers) - {"b0", "b8"}).hosts
    assert hosts[0] == "b3"
    assert hosts[8] == "b11"


def test_a_frame_crosses_to_every_dominating_node_once() -> None:
    for broker_count in range(2, 20):
        view = cube_hosts(cube(broker_count), frozenset(cube(broker_count).brokers))
        for start in view.cube.dominators.tolist():
            reached = [(start, -1)]
            for dominator, dimension in reached:
                reached.extend(view.across(dominator, dimension))
            assert sorted(dominator for dominator, _ in reached) == view.cube.dominators.tolist()


def test_brokers_that_see_the_same_share_one_geometry() -> None:
    overlay = ring(9)
    seen = frozenset(overlay.brokers[:5])
    assert key_routes(overlay, seen) is key_routes(ring(9), seen)
    assert cube_hosts(cube(9), seen) is cube_hosts(cube(9), seen)


def test_positions_that_make_no_hypercube_are_refused() -> None:
    with pytest.raises(CallerError, match="correct the positions"):
        cube_hosts(ring(9), frozenset(ring(9).brokers))
    with pytest.raises(CallerError, match="no key geometry"):
        key_routes(cube(9), frozenset(cube(9).brokers))


def test_a_frame_is_dropped_past_the_limit_of_hops() -> None:
    pump = Pump(ring(9), Rendezvous)
    for name in pump.overlay.brokers:
        pump.add(name, "topic")
    pump.drain()
    pump.sent.clear()
    for number, name in enumerate(pump.overlay.brokers, start=1):
        for kind in (ToRoot, FromRoot):
            frame = StreamFrame(kind.__name__, number, Publication("client", number, "topic"))
            pump.machines[name].handle(Turn(0), "b0", kind(EPOCH, frame, HOPS_MAX))
    assert not pump.sent


def test_a_claim_told_from_a_circle_is_told_again_once_it_has_a_straight_way() -> None:
    told: list[Trail] = []
    demands = Demands(
        Demand,
        way=lambda *_: End("above", "above"),
        tell=lambda _turn, _topic, _place, _end, note: told.append(note),
        retract=lambda *_: None,
        changed=lambda _: None,
    )
    for hops in (HOPS_STRAIGHT_MAX + 1, 5, 1):
        source = End(f"after {hops}", f"after {hops}")
        demands.hear(Turn(0), "topic", "place", source, Trail(0, hops))
    demands.hear(Turn(0), "topic", "place", End("lost", "lost"), Trail(0, HOPS_MAX + 1))
    assert [note.hops for note in told] == [HOPS_STRAIGHT_MAX + 1, 5]
    demand = demands.get("topic", "place")
    assert demand is not None
    assert len(demand.sources) == 3


def test_memory_of_frames_is_bounded_and_keeps_the_last() -> None:
    recent = RecentFrames()
    frames = [
        StreamFrame("b0", number % 2 * number, Publication("client", number, "topic"))
        for number in range(5 * REMEMBERED_MIN)
    ]
    for frame in frames:
        assert recent.note(frame_key(frame), 1) == 0
    assert all(recent.note(frame_key(frame), 2) == 1 for frame in frames[-REMEMBERED_MIN:])
    assert recent.note(frame_key(frames[-1]), 1) == 3
    assert recent.note(frame_key(frames[0]), 1) == 0


def cube(broker_count: int) -> Overlay:
    names = tuple(f"b{index}" for index in range(broker_count))
    positions = {name: index for index, name in enumerate(names)}
    return Overlay(design="hypercube", brokers=names, links=(), positions=positions)


def ring(broker_count: int) -> Overlay:
    names = tuple(f"b{index}" for index in range(broker_count))
    positions = {name: 1000 * index for index, name in enumerate(names)}
    return Overlay(design="chord", brokers=names, links=(), positions=positions)
