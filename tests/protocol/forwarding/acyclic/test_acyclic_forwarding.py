"""Forwarding on a tree: what covering keeps back, advertisements, and pieces joined again."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from broker_kinds import tree_links
from broker_pump import Pump
from broker_stories import assert_everybody_is_done, some_of, tell_who_is_alive

from meshwright.errors import ProblemError
from meshwright.filters.covering import covers
from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.publication import Publication
from meshwright.protocol.forwarding.acyclic.acyclic import (
    HELD_MAX,
    Acyclic,
    AdvertisementChange,
    ChangeInstalled,
    FilterChange,
)
from meshwright.protocol.forwarding.acyclic.living_tree import living_root, living_tree, next_hop
from meshwright.protocol.forwarding.acyclic.own_advertisements import OwnAdvertisements, may_send

FILTERS = (
    "a", "a/b", "a/c", "a/+", "a/#", "#", "+/b", "$where/x=1/a/b", "$where/x>2/a/b",
    "$where/x>5/a/b", "$where/x=1/a/+", "$s/a",
    "$share/group/a/b",
)  # fmt: skip
MESSAGES = (
    ("a", ()),
    ("a/b", ()),
    ("a/b", (("x", "1"),)),
    ("a/b", (("x", "4"),)),
    ("a/c", (("x", "1"),)),
    ("c/b", (("x", "9"),)),
    ("$s/a", ()),
)
MODES: dict[str, dict[str, Parameter]] = {
    "covering": {},
    "plain": {"covering": False},
    "advertised": {"advertisements": True},
    "advertised plain": {"advertisements": True, "covering": False},
    "advertised contents": {"advertisements": True, "contents_max": 2},
    "rooted": {"root": "b1"},
    "rooted plain": {"root": "b1", "covering": False},
    "rooted advertised": {"root": "b1", "advertisements": True},
    "rooted advertised contents": {"root": "b1", "advertisements": True, "contents_max": 2},
}
every_mode = pytest.mark.parametrize("params", MODES.values(), ids=MODES)
every_seed = pytest.mark.parametrize("seed", range(5))


@every_mode
@every_seed
def test_frames_come_to_exactly_those_who_want_them_and_the_brokers_between(
    params: dict[str, Parameter], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(rng, params)
    change_filters(pump, rng, 60)
    pump.drain()
    assert_everybody_is_done(pump)
    check_laws(pump)
    check_reached_exactly(pump, rng)


@every_mode
@every_seed
def test_pieces_are_joined_again_when_brokers_die_and_the_old_tree_when_they_return(
    params: dict[str, Parameter], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(rng, params)
    for _ in range(3):
        change_filters(pump, rng, 30)
        dead = some_of(pump.overlay.brokers, rng)
        for name in dead:
            pump.kill(name)
        tell_who_is_alive(pump, rng)
        change_filters(pump, rng, 10)
        pump.drain()
        assert_everybody_is_done(pump)
        check_laws(pump)
        check_reached_exactly(pump, rng)
        for name in dead:
            pump.revive(name, pump.machines)
            pump.step(int(rng.integers(20)))
        tell_who_is_alive(pump, rng)
        pump.drain()
        assert_everybody_is_done(pump)
        check_laws(pump)
    check_reached_exactly(pump, rng)
    planned = {(min(link), max(link)) for link in pump.overlay.links}
    assert {(min(link), max(link)) for link in pump.living_overlay().links} == planned


@every_mode
@every_seed
def test_a_broker_that_restarts_unseen_learns_all_again(
    params: dict[str, Parameter], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(rng, params)
    change_filters(pump, rng, 40)
    pump.drain()
    check_reached_exactly(pump, rng)
    change_filters(pump, rng, 20)
    for name in some_of(pump.overlay.brokers, rng):
        pump.revive(name, pump.overlay.brokers)
        pump.step(int(rng.integers(20)))
    pump.drain()
    assert_everybody_is_done(pump)
    check_laws(pump)
    check_reached_exactly(pump, rng)


@every_mode
@every_seed
def test_a_filter_is_done_once_every_origin_reaches_it(
    params: dict[str, Parameter], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(rng, params)
    for origin in pump.overlay.brokers:
        pump.publish(origin, "a/b")
    change_filters(pump, rng, 30)
    for name in pump.overlay.brokers:
        pump.done[name, "a/b"] = 0
        pump.add(name, "a/b")
        while not pump.done[name, "a/b"]:
            pump.step(1)
        origin = str(rng.choice(pump.overlay.brokers))
        pump.send_out(origin, "a/b")
        while name != origin and pump.queue and not pump.arrivals[name]:
            pump.step(1)
        assert name == origin or pump.arrivals[name] == 1
        pump.remove(name, "a/b")
        pump.step(int(rng.integers(20)))


def test_only_a_filter_that_nothing_told_covers_is_told() -> None:
    pump = chain(4)
    for text, messages in (("a/+", 3), ("a/b", 0), ("$where/x=1/a/b", 0), ("a/#", 3), ("b", 3)):
        pump.sent.clear()
        pump.add("b0", text)
        pump.drain()
        assert pump.sent[FilterChange] == pump.sent[ChangeInstalled] == messages, text
    plain = chain(4, covering=False)
    for text, messages in (("a/+", 3), ("a/b", 3), ("$where/x=1/a/b", 3), ("a/b", 0)):
        plain.sent.clear()
        plain.add("b0", text)
        plain.drain()
        assert plain.sent[FilterChange] == messages, text


def test_what_a_filter_kept_back_is_told_in_one_batch_when_it_goes() -> None:
    pump = chain(5)
    for text in ("#", "a/b", "a/+", "c", "$where/x=1/a/b", "$where/x=1/c"):
        pump.add("b0", text)
    pump.drain()
    pump.sent.clear()
    pump.remove("b0", "#")
    pump.step(1)
    assert pump.sent[FilterChange] == 2
    assert set(texts(pump, "b0", "b1")) == {"a/+", "c"}
    pump.drain()
    assert pump.sent[FilterChange] == pump.sent[ChangeInstalled] == 4
    pump.remove("b0", "a/+")
    pump.drain()
    assert set(texts(pump, "b3", "b4")) == {"a/b", "c"}


def test_filters_go_only_towards_those_who_send_what_they_may_match() -> None:
    pump = chain(6, advertisements=True)
    pump.add("b2", "a/+")
    pump.drain()
    assert not pump.sent[FilterChange]
    pump.publish("b0", "c")
    assert pump.sent[AdvertisementChange] == 5
    assert not pump.sent[FilterChange]
    pump.publish("b4", "a/b")
    assert pump.sent[AdvertisementChange] == 5
    assert pump.sent[FilterChange] == 2
    assert set(pump.arrivals) == {"b4", "b3", "b2"}
    assert pump.publish("b4", "a/b") == 2
    pump.sent.clear()
    pump.add("b5", "#")
    pump.drain()
    assert pump.sent[FilterChange] == 5


def test_frames_wait_for_their_advertisement_in_order_and_not_without_bound() -> None:
    pump = chain(3, advertisements=True)
    pump.add("b2", "a")
    pump.drain()
    for _ in range(HELD_MAX + 5):
        pump.send_out("b0", "a")
    assert not pump.arrivals
    pump.drain()
    assert pump.arrivals == {"b1": HELD_MAX, "b2": HELD_MAX}


def test_an_origin_advertises_contents_until_they_are_too_many() -> None:
    pump = chain(4, advertisements=True, contents_max=2)
    for text in ("$where/x=1/a", "$where/x>5/a", "$where/y=1/a", "$where/x>2/a"):
        pump.add("b3", text)
    pump.drain()
    for value, told in (
        ("1", {"$where/x=1/a"}),
        ("4", {"$where/x=1/a", "$where/x>2/a"}),
        ("1", {"$where/x=1/a", "$where/x>2/a"}),
        ("2", {"$where/x=1/a", "$where/x>2/a", "$where/y=1/a"}),
    ):
        pump.publish("b0", "a", properties=(("x", value),))
        assert set(texts(pump, "b1", "b0")) == told, value
    heard = pump.machines["b3"]._tables.advertisements.heard("b2")
    assert list(map(str, heard)) == ["a"]


def test_contents_that_clauses_cannot_say_are_advertised_by_topic() -> None:
    for properties in ((), (("x", "1"), ("x", "2")), (("x", ""),), (("", "1"),)):
        own = OwnAdvertisements(contents_max=4)
        publication = Publication("p", 1, "a", properties=properties)
        assert own.note(publication) == ((Filter("a"),), ())
        assert own.note(publication) is None
        assert own.note(Publication("p", 2, "a", properties=(("z", "1"),))) is None


def test_an_advertisement_stands_for_just_its_properties() -> None:
    content = parse_filter("$where/x=1&y=two/a/b")
    for text, expected in (
        ("a/+", True), ("#", True), ("$where/x>0/a/b", True), ("$where/x=1&y=two/#", True),
        ("$where/x>1/a/b", False), ("$where/z=1/a/b", False), ("a/c", False),
    ):  # fmt: skip
        assert may_send(content, parse_filter(text)) is expected, text
        assert may_send(Filter("a/b"), parse_filter(text)) is (text != "a/c"), text


def test_the_next_to_a_dead_root_stands_in_for_it_and_everything_climbs_there() -> None:
    links = (("b0", "b3"), ("b0", "b1"), ("b3", "b4"), ("b1", "b2"))
    names = ("b4", "b3", "b2", "b1", "b0")
    overlay = Overlay(design="hierarchy", params={"root": "b0"}, brokers=names, links=links)
    assert living_root(overlay, frozenset(names)) == "b0"
    assert living_root(overlay, frozenset(names) - {"b0"}) == "b3"
    assert living_root(overlay, frozenset({"b4", "b2", "b1"})) == "b4"
    lost = Overlay(design="hierarchy", params={"root": "b9"}, brokers=names, links=links)
    with pytest.raises(ProblemError, match="root 'b9' is no broker of the overlay"):
        living_root(lost, frozenset(names))


def test_every_frame_climbs_to_the_root_and_comes_down_only_where_it_is_wanted() -> None:
    links = (("b0", "b1"), ("b0", "b2"), ("b1", "b3"), ("b1", "b4"))
    names = ("b0", "b1", "b2", "b3", "b4")
    pump = Pump(
        Overlay(design="hierarchy", params={"root": "b0"}, brokers=names, links=links), Acyclic
    )
    pump.add("b3", "a")
    pump.drain()
    assert pump.sent[FilterChange] == 2
    pump.publish("b4", "a")
    assert set(pump.arrivals) == {"b4", "b1", "b3", "b0"}
    pump.publish("b4", "unwanted")
    assert set(pump.arrivals) == {"b4", "b1", "b0"}


def test_an_advertiser_waits_no_longer_for_one_who_died() -> None:
    pump = chain(3, advertisements=True)
    pump.add("b2", "a")
    pump.drain()
    pump.send_out("b0", "a")
    pump.kill("b1")
    pump.drain()
    assert not pump.arrivals
    for name in ("b0", "b2"):
        pump.see(name, pump.machines)
    pump.drain()
    assert pump.arrivals == {"b2": 1}


@every_seed
def test_the_living_always_make_one_tree_that_keeps_its_old_links(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = tuple(f"b{index}" for index in range(20))
    links = tree_links(names, rng)
    overlay = Overlay(design="tree", brokers=names, links=links)
    for _ in range(20):
        seen = frozenset(some_of(names, rng)) or frozenset(names)
        joined = living_tree(overlay, seen)
        graph = nx.Graph([(one, other) for one, near in joined.items() for other in near])
        graph.add_nodes_from(joined)
        assert set(graph) == seen
        assert nx.is_tree(graph)
        assert all(graph.has_edge(*link) for link in links if seen.issuperset(link))
        assert joined is living_tree(Overlay(design="tree", brokers=names, links=links), seen)
        source, target = rng.choice(sorted(seen), size=2)
        way = nx.shortest_path(graph, source, target)
        assert next_hop(joined, source, target) == way[min(1, len(way) - 1)]


def test_the_lowest_next_to_the_dead_stands_in_for_them() -> None:
    links = tuple((("b3"), other) for other in ("b4", "b1", "b2", "b0"))
    overlay = Overlay(design="tree", brokers=("b0", "b1", "b2", "b3", "b4"), links=links)
    joined = living_tree(overlay, frozenset({"b4", "b1", "b2"}))
    assert joined == {"b1": ("b2", "b4"), "b2": ("b1",), "b4": ("b1",)}


def test_links_that_make_no_tree_are_refused() -> None:
    links = (("b0", "b1"), ("b1", "b2"), ("b0", "b2"))
    with pytest.raises(ProblemError, match="close a cycle"):
        Pump(Overlay(design="tree", brokers=("b0", "b1", "b2"), links=links), Acyclic)


def new_pump(rng: np.random.Generator, params: dict[str, Parameter]) -> Pump:
    names = tuple(f"b{index}" for index in range(int(rng.integers(2, 16))))
    links = tree_links(names, rng)
    return Pump(Overlay(design="tree", params=params, brokers=names, links=links), Acyclic)


def chain(broker_count: int, **params: Parameter) -> Pump:
    names = tuple(f"b{index}" for index in range(broker_count))
    links = tuple(pairwise(names))
    return Pump(Overlay(design="tree", params=params, brokers=names, links=links), Acyclic)


def change_filters(pump: Pump, rng: np.random.Generator, count: int) -> None:
    """Add and remove at random, with messages under way meanwhile."""
    for _ in range(count):
        name, text = str(rng.choice(sorted(pump.machines))), str(rng.choice(FILTERS))
        if text in pump.wanted[name]:
            pump.remove(name, text)
        else:
            pump.done[name, text] = 0
            pump.add(name, text)
        pump.step(int(rng.integers(8)))


def check_laws(pump: Pump) -> None:
    """Over each link is known what was told, which is wanted there and covers all that is due."""
    is_plain = pump.overlay.params.get("covering") is False
    is_advertised = pump.overlay.params.get("advertisements") is True
    living = pump.living_overlay()
    graph = nx.Graph(living.links)
    root = living.params.get("root")
    for one, other in [*graph.edges, *((other, one) for one, other in graph.edges)]:
        told = filters(pump, one).told(other)
        assert set(told) == set(filters(pump, other).heard(one))
        cut = graph.copy()
        cut.remove_edge(one, other)
        side = nx.node_connected_component(cut, one)
        wanted = {parse_filter(text).ungrouped() for name in side for text in pump.wanted[name]}
        assert set(told) <= wanted
        if root is not None and not is_advertised and root in side:
            assert not told
            continue
        if is_plain and not is_advertised:
            assert set(told) == wanted
        if not is_advertised:
            assert all(any(covers(wide, narrow) for wide in told) for narrow in wanted)


def check_reached_exactly(pump: Pump, rng: np.random.Generator) -> None:
    living = pump.living_overlay()
    graph = nx.Graph(living.links)
    is_advertised = bool(living.params.get("advertisements"))
    root = None if is_advertised else living.params.get("root")
    for topic, properties in MESSAGES:
        origin = str(rng.choice(sorted(pump.machines)))
        graph.add_node(origin)
        receivers = {
            name
            for name in pump.machines
            if any(matches(parse_filter(text), topic, properties) for text in pump.wanted[name])
        }
        ends = receivers if root is None else {*receivers, root}
        ways = [nx.shortest_path(graph, origin, end) for end in ends]
        pump.publish(origin, topic, properties=properties)
        assert dict(pump.arrivals) == dict.fromkeys({origin}.union(*ways), 1)
        if not is_advertised:
            assert pump.sent.total() == len(pump.arrivals) - 1


def filters(pump: Pump, name: str):
    machine = pump.machines[name]
    assert isinstance(machine, Acyclic)
    return machine._tables.filters


def texts(pump: Pump, source: str, target: str) -> Iterable[str]:
    """What one broker told another."""
    told: Iterable[Filter] = filters(pump, source).told(target)
    return map(str, told)
