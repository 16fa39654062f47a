"""Clusters are brokers of one site, or those near each other, or neighbours by name."""

from __future__ import annotations

from meshwright.protocol.peers.clusters import Clusters

NAMES = ("a", "b", "c", "d", "e", "f")


class Town:
    """Brokers that have told each other where they belong."""

    def __init__(self, sites: dict[str, str], delays_ms: dict[frozenset[str], float]) -> None:
        self.delays_ms = delays_ms
        self.alive = NAMES
        self.all = {name: Clusters(name, sites.get(name, ""), 3) for name in NAMES}
        self.tell()

    def tell(self) -> None:
        for name, one in self.all.items():
            if name in self.alive:
                said = one.own(self.alive, self._measured_ms(name))
                for peer in NAMES:
                    self.all[peer].heard(name, said)

    def members(self) -> set[tuple[str, ...]]:
        return {self.all[name].members(self.alive, self._measured_ms(name)) for name in self.alive}

    def _measured_ms(self, name: str) -> dict[str, float]:
        known = {peer: self.delays_ms.get(frozenset((name, peer))) for peer in self.alive}
        return {peer: ms for peer, ms in known.items() if ms is not None}


def test_without_sites_and_measures_they_are_blocks_in_the_order_of_names() -> None:
    town = Town({}, {})
    assert town.members() == {("a", "b", "c"), ("d", "e", "f")}
    town.alive = ("a", "c", "d", "e", "f")
    town.tell()
    assert town.members() == {("a", "c", "d"), ("e", "f")}


def test_brokers_of_one_site_are_together_and_too_many_are_cut() -> None:
    sites = {"a": "north", "d": "north", "f": "north", "b": "south"}
    assert Town(sites, {}).members() == {("a", "d", "f"), ("b",), ("c",), ("e",)}
    everybody = dict.fromkeys(NAMES, "north")
    assert Town(everybody, {}).members() == {("a", "b", "c"), ("d", "e", "f")}


def test_a_broker_that_is_much_nearer_to_another_landmark_belongs_there() -> None:
    # a and d are the landmarks; c is near d, and e near a.
    delays_ms = {
        frozenset(pair): ms
        for pair, ms in (
            ("ab", 2.0), ("bd", 40.0), ("ac", 40.0), ("cd", 2.0),
            ("ae", 2.0), ("de", 40.0), ("df", 2.0), ("af", 40.0),
        )
    }  # fmt: skip
    town = Town({}, delays_ms)
    assert town.members() == {("a", "b", "e"), ("c", "d", "f")}
    # It stays where it is while the other is not much nearer.
    town.delays_ms |= {frozenset("ac"): 1.5}
    town.tell()
    assert town.members() == {("a", "b", "e"), ("c", "d", "f")}


def test_small_differences_of_measures_move_nobody() -> None:
    delays_ms = {frozenset((a, b)): 0.2 for a in NAMES for b in NAMES if a < b}
    delays_ms[frozenset("cd")] = 0.05
    assert Town({}, delays_ms).members() == {("a", "b", "c"), ("d", "e", "f")}
