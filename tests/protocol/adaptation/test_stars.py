"""Stars of one tree that are redrawn: apart at the same time, sharing a broker one by one."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import pytest
from changing_networks import SECOND_US, ChangingNetwork

from meshwright.model.neighbourhood import NeighbourhoodView, Redrawn
from meshwright.model.overlay import Overlay
from meshwright.protocol.adaptation.self_adaptation import AdaptationSettings
from meshwright.protocol.adaptation.star_messages import StarRecord
from meshwright.protocol.broker import Broker
from meshwright.protocol.reconfiguration.tree_rows import Link, with_links_replaced
from meshwright.protocol.settings import BrokerSettings

# b1 and b6 are masters of stars that share nobody; b3 is in the star of b1 and in that of b4.
LINKS = (
    ("b0", "b1"), ("b1", "b2"), ("b1", "b3"), ("b3", "b4"), ("b4", "b5"), ("b5", "b6"),
    ("b6", "b7"), ("b6", "b8"), ("b8", "b9"),
)  # fmt: skip
BROKERS = tuple(f"b{number}" for number in range(10))
TREE = Overlay(design="tree", brokers=BROKERS, links=LINKS)
# By master: the link to take away, and the one to put in its place.
Wishes = dict[str, tuple[Link, Link]]
APART: Wishes = {"b1": (("b1", "b2"), ("b0", "b2")), "b6": (("b6", "b7"), ("b7", "b8"))}
SHARING: Wishes = {"b1": (("b1", "b3"), ("b0", "b3")), "b4": (("b4", "b5"), ("b3", "b5"))}
EVERY_US = SECOND_US
STEPS = ("asked", "granted", "prepared", "decided", "switched", "drained", "done")


class StarNetwork(ChangingNetwork):
    """A tree in which some masters want one change each, until they have it."""

    def __init__(self, wishes: Wishes, seed: int = 0) -> None:
        adaptation = AdaptationSettings(redraw=self._redraw, every_us=EVERY_US)
        settings = BrokerSettings(adaptation=adaptation)
        self._wishes = wishes
        super().__init__("tree", len(BROKERS), seed=seed, settings=settings, overlay=TREE)

    def slow(self, brokers: str, extra_us: int) -> None:
        """Wires between these brokers take longer."""
        for one, other in combinations(brokers.split(), 2):
            self.world.network.slow(one, other, extra_us)

    def reports(self, step: str | None = None) -> list[tuple[int, str, StarRecord]]:
        return [
            (time_us, broker, record)
            for time_us, broker, record in self.world.records.all
            if isinstance(record, StarRecord) and step in {None, record.step}
        ]

    def spans(self) -> dict[str, tuple[int, int]]:
        """From when to when every change that was done was under way."""
        begun = {record.change: time_us for time_us, _, record in self.reports("asked")}
        return {
            record.change: (begun[record.change], time_us)
            for time_us, _, record in self.reports("done")
        }

    def targets(self) -> dict[int, Overlay]:
        """The tree with each choice of the changes, by a bit for each."""
        found = {}
        for chosen in range(2 ** len(self._wishes)):
            done = [wish for bit, wish in enumerate(self._wishes.values()) if chosen >> bit & 1]
            removed, added = [one for one, _ in done], [other for _, other in done]
            found[chosen] = with_links_replaced(TREE, removed, added)
        return found

    def end(self, until_s: float) -> int:
        """Run on, check that all is well and everybody free, and say which changes were made."""
        self.run(until_s)
        assert self.faults() == []
        assert not any(one.is_changing for one in self.world.observe().values())
        agreed = self.agreed()
        found = [
            chosen
            for chosen, overlay in self.targets().items()
            if set(map(frozenset, overlay.links)) == set(map(frozenset, agreed.links))
        ]
        assert len(found) == 1, agreed.links
        return found[0]

    def _redraw(self, view: NeighbourhoodView) -> Redrawn | None:
        wish = self._wishes.get(view.master)
        star = [(view.master, name) for name in view.neighbours]
        old = {frozenset(link) for link in star}
        if wish is None or frozenset(wish[0]) not in old:
            return None
        links = [link for link in star if frozenset(link) != frozenset(wish[0])]
        return Redrawn((*links, wish[1]), 10, 8)


def test_stars_that_share_no_broker_are_redrawn_at_the_same_time() -> None:
    network = StarNetwork(APART)
    network.slow("b0 b1 b2", SECOND_US // 4)
    network.traffic(8, per_s=10)
    assert network.end(16) == 3
    (first, first_end), (second, second_end) = network.spans().values()
    assert max(first, second) < min(first_end, second_end)
    locked = [set(record.brokers) for _, _, record in network.reports("decided")]
    assert sorted(map(sorted, locked)) == [["b0", "b1", "b2"], ["b6", "b7", "b8"]]
    assert {broker for _, broker, _ in network.reports("granted")} == {"b0", "b2", "b7", "b8"}
    assert network.reports("denied") == []
    assert network.world.counts_by_class().get("repair", 0) == 0


def test_an_operator_sees_who_is_locked_and_for_which_change() -> None:
    network = StarNetwork({"b1": APART["b1"]})
    network.slow("b0 b1 b2", SECOND_US // 4)
    network.traffic(4, per_s=10)
    while not network.reports("prepared"):
        network.run(network.world.agenda.now_us / SECOND_US + 0.1)
    change = network.reports("prepared")[0][2].change
    locked = {}
    for name, host in network.world.hosts.items():
        assert isinstance(host.machine, Broker)
        if (star := host.machine.view().star) is not None:
            locked[name] = star
    assert locked == dict.fromkeys(("b0", "b1", "b2"), change)


@pytest.mark.parametrize("seed", range(2))
def test_stars_that_share_a_broker_are_redrawn_one_after_the_other(seed: int) -> None:
    network = StarNetwork(SHARING, seed)
    network.slow("b0 b1 b3", SECOND_US // 4)
    network.traffic(12, per_s=30)
    assert network.end(18) == 3
    (_, first_end), (second, _) = sorted(network.spans().values())
    assert first_end <= second
    denied = network.reports("denied")
    assert denied
    assert {record.detail.split(" ")[0] for _, _, record in denied} == {"locked"}
    held: dict[str, str] = {}
    for _, broker, record in network.reports():
        if record.step == "granted":
            assert held.setdefault(broker, record.change) == record.change
        elif record.step in {"drained", "aborted", "released"}:
            held.pop(broker, None)


@pytest.mark.parametrize("step", STEPS)
def test_whoever_crashes_at_any_step_leaves_nobody_locked(step: str) -> None:
    network = StarNetwork(APART)
    fallen: list[str] = []

    def crash(broker: str) -> None:
        fallen.append(broker)
        network.world.at(network.world.agenda.now_us, partial(network.world.crash, broker))
        back_us = network.world.agenda.now_us + SECOND_US // 5
        network.world.at(back_us, partial(network.world.restart, broker))

    network.world.ambushes[step] = crash
    network.traffic(10, per_s=10)
    # All that was wanted is there in the end, so that nobody was locked for ever.
    assert network.end(20) == 3
    assert len(fallen) == 1


def test_who_crashes_before_it_told_the_rest_of_the_tree_does_so_when_it_is_back() -> None:
    network = StarNetwork({"b1": SHARING["b1"]})

    def crash(broker: str) -> None:
        if broker != "b3":
            network.world.ambushes["drained"] = crash
            return
        now_us = network.world.agenda.now_us
        network.world.at(now_us, partial(network.world.crash, broker))
        network.world.at(now_us + SECOND_US // 5, partial(network.world.restart, broker))

    network.world.ambushes["drained"] = crash
    network.traffic(6, per_s=10)
    assert network.end(16) == 1


@pytest.mark.parametrize("step", STEPS)
def test_a_master_or_another_that_never_returns_leaves_nobody_locked(step: str) -> None:
    network = StarNetwork({"b1": SHARING["b1"], "b4": SHARING["b4"]})
    fallen: list[str] = []

    def lose(broker: str) -> None:
        fallen.append(broker)
        network.world.at(network.world.agenda.now_us, partial(network.world.crash, broker))

    network.world.ambushes[step] = lose
    network.traffic(6, per_s=10)
    network.run(30)
    living = network.world.observe()
    assert len(fallen) == 1
    assert set(living) == set(BROKERS) - set(fallen)
    assert not any(one.is_changing for one in living.values())
    assert len({(one.epoch, one.overlay.links) for one in living.values()}) == 1
    assert network.world.breakdowns == []


def test_a_change_of_a_star_costs_seven_messages_for_each_other_broker_and_the_news() -> None:
    network = StarNetwork({"b1": APART["b1"]})
    network.traffic(4, per_s=10)
    assert network.end(12) == 1
    counts = network.world.message_counts
    spent = {
        kind.__name__: count
        for kind, count in counts.items()
        if getattr(kind, "counts_as", "") == "adaptation"
    }
    news = spent.pop("TreeTold")
    assert set(spent.values()) == {2}
    assert len(spent) == 7
    # All others hear of it once.
    assert news == len(BROKERS) - 3
    assert network.world.counts_by_class()["adaptation"] == 7 * 2 + news
