"""A star of a tree is redrawn: nothing is told, nobody misses a frame, and filters come after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pytest
from broker_kinds import tree_links
from broker_pump import EPOCH, Pump
from broker_stories import assert_everybody_is_done
from test_acyclic_forwarding import (
    FILTERS,
    MESSAGES,
    MODES,
    change_filters,
    check_laws,
    check_reached_exactly,
    every_seed,
    new_pump,
)

from meshwright.filters.filter import matches, parse_filter
from meshwright.model.overlay import Overlay, Parameter
from meshwright.protocol.forwarding.acyclic.acyclic import Acyclic, AlongTree
from meshwright.protocol.forwarding.acyclic.star_change import PUT_OFF_MAX
from meshwright.protocol.forwarding.acyclic.tree_tables import star_links
from meshwright.protocol.reconfiguration.messages import BuiltLate
from meshwright.protocol.reconfiguration.tree_rows import peers_of, with_links_replaced

# A tree with a root is never redrawn.
UNROOTED = {name: params for name, params in MODES.items() if "root" not in params}
every_mode = pytest.mark.parametrize("params", UNROOTED.values(), ids=UNROOTED)


class Redrawing:
    """A star drawn by chance, about to be redrawn by chance among those whose links change."""

    def __init__(self, pump: Pump, rng: np.random.Generator) -> None:
        self.pump = pump
        self.rng = rng
        overlay = pump.overlay
        degrees = {name: len(peers_of(overlay, name)) for name in overlay.brokers}
        self.master = max(degrees, key=lambda name: (degrees[name], name))
        star = (self.master, *peers_of(overlay, self.master))
        drawn = {frozenset(link) for link in tree_links(star, rng)}
        old = {frozenset((self.master, name)) for name in star[1:]}
        removed, added = sorted(map(sorted, old - drawn)), sorted(map(sorted, drawn - old))
        self.overlay = with_links_replaced(overlay, map(tuple, removed), map(tuple, added))
        self.star = sorted({name for link in (*removed, *added) for name in link})

    def machine(self, name: str) -> Acyclic:
        machine = self.pump.machines[name]
        assert isinstance(machine, Acyclic)
        return machine

    def prepare(self, besides: Iterable[str] = ()) -> None:
        """Give all brokers of the star, but for some, what they will know of their new links."""
        inner = [link for link in self.overlay.links if {*link} <= {*self.star}]
        master = self.machine(self.master)
        links = star_links(inner, master.behind(self.star), master.rules)
        for name in self.mixed(self.star):
            self.machine(name).pause()
            if name not in besides:
                assert self.machine(name).prepare(self.overlay, self.versions(), links[name])

    def versions(self) -> Mapping[str, int]:
        return {name: self.machine(name).version + 1 for name in self.star}

    def finish(self, late: Iterable[str] = ()) -> None:
        """Let all brokers be free again; late ones begin anew with the rest of the star."""
        for name in self.mixed(self.pump.overlay.brokers):
            machine = self.machine(name)
            with self.pump._turn(name) as turn:
                if name in late:
                    others = [one for one in self.star if one != name]
                    self.pump.queue.extend((name, one, BuiltLate(EPOCH)) for one in others)
                    machine.redraw(turn, self.overlay, others, machine.version + 1)
                elif name in self.star:
                    machine.let_go(turn)
                else:
                    machine.redraw(turn, self.overlay)
        self.pump.overlay = self.overlay

    def mixed(self, names: Iterable[str]) -> list[str]:
        return list(map(str, self.rng.permutation(list(names))))


def publish_everywhere(pump: Pump) -> None:
    """Every origin is known to all, where that is needed before its frames go out."""
    for name in pump.overlay.brokers:
        for topic, properties in (*MESSAGES, ("a/c", ())):
            pump.publish(name, topic, properties=properties)
    pump.drain()


def assert_nobody_misses(pump: Pump, rng: np.random.Generator, topic: str, arrivals: int) -> None:
    origin = str(rng.choice(pump.overlay.brokers))
    pump.publish(origin, topic)
    wanting = {
        name
        for name, texts in pump.wanted.items()
        if any(matches(parse_filter(text), topic, ()) for text in texts)
    }
    assert wanting <= set(pump.arrivals)
    assert set(pump.arrivals.values()) == {arrivals}


@every_mode
@every_seed
def test_nothing_is_told_and_nobody_misses_a_frame_while_a_star_is_redrawn(
    params: dict[str, Parameter], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(rng, params)
    publish_everywhere(pump)
    for _ in range(3):
        change_filters(pump, rng, 30)
        pump.drain()
        change = Redrawing(pump, rng)
        if not change.star:
            continue
        change.prepare()
        for name in change.mixed(change.star):
            for topic in ("a", "a/b", "a/c"):
                assert_nobody_misses(pump, rng, topic, 1)
            change.machine(name).switch(change.overlay)
        pump.sent.clear()
        change.finish()
        pump.drain()
        assert set(pump.sent) <= {AlongTree}
        check_laws(pump)
        check_reached_exactly(pump, rng)


@every_mode
@every_seed
def test_filters_that_change_meanwhile_are_told_afterwards(
    params: dict[str, Parameter], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(rng, params)
    publish_everywhere(pump)
    for number in range(4):
        change_filters(pump, rng, 20)
        pump.drain()
        change = Redrawing(pump, rng)
        if not change.star:
            continue
        late = change.star[:number]
        change.prepare(late)
        change_filters(pump, rng, 20)
        for name in change.mixed(change.star):
            if name not in late:
                change.machine(name).switch(change.overlay)
                change_filters(pump, rng, 3)
        change.finish(late)
        pump.drain()
        assert_everybody_is_done(pump)
        check_laws(pump)
        check_reached_exactly(pump, rng)


@every_seed
def test_a_change_that_is_given_up_leaves_no_trace(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pump = new_pump(rng, {})
    change_filters(pump, rng, 30)
    pump.drain()
    change = Redrawing(pump, rng)
    change.prepare()
    change_filters(pump, rng, 10)
    change.overlay = pump.overlay
    change.finish()
    pump.drain()
    assert_everybody_is_done(pump)
    check_laws(pump)
    check_reached_exactly(pump, rng)


def test_who_does_not_see_all_of_the_star_is_not_prepared() -> None:
    brokers = ("b0", "b1", "b2", "b3")
    links = (("b0", "b1"), ("b0", "b2"), ("b0", "b3"))
    pump = Pump(Overlay(design="tree", brokers=brokers, links=links), Acyclic)
    target = with_links_replaced(pump.overlay, (("b0", "b2"),), (("b1", "b2"),))
    machine = pump.machines["b1"]
    assert isinstance(machine, Acyclic)
    pump.see("b1", ("b0", "b1", "b3"))
    behind = machine.behind(("b1",))
    inner = [link for link in target.links if "b3" not in link]
    star = star_links(inner, dict.fromkeys(("b0", "b1", "b2"), behind["b1"]), machine.rules)
    assert not machine.prepare(target, dict.fromkeys(("b0", "b1", "b2"), 1), star["b1"])


@pytest.mark.parametrize("seed", range(3))
def test_the_master_alone_knows_what_each_will_have_heard(seed: int) -> None:
    """What it reckons is what brokers tell each other on the same tree from nothing."""
    rng = np.random.default_rng(seed)
    pump = new_pump(rng, {"covering": False})
    change_filters(pump, rng, 60)
    pump.drain()
    change = Redrawing(pump, rng)
    inner = [link for link in change.overlay.links if {*link} <= {*change.star}]
    master = change.machine(change.master)
    reckoned = star_links(inner, master.behind(change.star), master.rules)
    fresh = Pump(change.overlay, Acyclic)
    for name, wanted in pump.wanted.items():
        for text in sorted(wanted):
            fresh.add(name, text)
    fresh.drain()
    for name, links in reckoned.items():
        machine = fresh.machines[name]
        assert isinstance(machine, Acyclic)
        for link in links:
            assert set(link.filters.heard) == set(machine._tables.filters.heard(link.peer))
            assert set(link.filters.told) == set(machine._tables.filters.told(link.peer))


def test_what_waits_for_a_star_is_bounded() -> None:
    brokers = ("b0", "b1", "b2")
    links = (("b0", "b1"), ("b0", "b2"))
    pump = Pump(Overlay(design="tree", brokers=brokers, links=links), Acyclic)
    machine = pump.machines["b0"]
    assert isinstance(machine, Acyclic)
    machine.pause()
    for number in range(PUT_OFF_MAX):
        pump.add("b0", FILTERS[number % len(FILTERS)])
    assert not pump.queue
    pump.add("b0", "one more")
    pump.drain()
    assert_everybody_is_done(pump)
    check_laws(pump)
