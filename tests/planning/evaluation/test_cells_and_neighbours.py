"""Roots of cells on a quadtree, and neighbours by round trip, planned and forwarded alike."""

from __future__ import annotations

import numpy as np
import pytest

from meshwright.errors import ProblemError
from meshwright.model.identifiers import BrokerName, TopicName, topic_key
from meshwright.model.interests import interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.growth import with_broker, without_broker
from meshwright.overlays.key_geometries import owners
from meshwright.overlays.prefixes import PrefixRouting, digit_bits_of
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.arrangement.seats import read_seats
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate
from meshwright.planning.evaluation.rendezvous import rendezvous_of
from meshwright.planning.evaluation.topic_trees import tree_carrier_of
from meshwright.protocol.forwarding.rendezvous.key_routes import key_routes

OTHER_TOPICS = ("news", "cell/north", "cell/1/2/3", "area/1/2")


def on_a_map(rows: int, columns: int, cell_degrees: float = 1.0) -> Snapshot:
    """A broker in the middle of every cell; all want all cells and a few topics that are none."""
    cells = [(row - 3, column - 120) for row in range(rows) for column in range(columns)]
    topics = [f"cell/{north}/{east}" for north, east in cells]
    coordinates = (np.array(cells, dtype=np.float64) + 0.5) * cell_degrees
    brokers = np.repeat(np.arange(len(cells)), len(topics) + len(OTHER_TOPICS))
    wanted = np.tile(np.arange(len(topics) + len(OTHER_TOPICS)), len(cells))
    count = len(topics) + len(OTHER_TOPICS)
    distances = np.linalg.norm(coordinates[:, None] - coordinates[None, :], axis=2)
    return Snapshot(
        tuple(BrokerName(f"b{topic[5:]}") for topic in topics),
        tuple(TopicName(topic) for topic in (*topics, *OTHER_TOPICS)),
        interests_from_pairs(brokers, wanted, len(cells), count),
        np.ones(count),
        delays_ms=5.0 * (distances > 0) + 2.0 * distances,
        coordinates=coordinates,
    )


def built(design: str, snapshot: Snapshot) -> Overlay:
    return build_overlay(design, snapshot, rng=np.random.default_rng(1))


@pytest.mark.parametrize(
    ("rows", "columns", "cell_degrees"), [(16, 16, 1.0), (5, 15, 1.0), (6, 6, 0.25)]
)
def test_the_root_of_a_cell_is_the_broker_of_that_cell(
    rows: int, columns: int, cell_degrees: float
) -> None:
    snapshot = on_a_map(rows, columns, cell_degrees)
    overlay = built(f"quadtree:cell_degrees={cell_degrees}", snapshot)
    routes = key_routes(overlay, frozenset(snapshot.brokers))
    closed = rendezvous_of(overlay, snapshot)
    sitting = np.argsort(closed.positions)
    planned = [snapshot.brokers[sitting[root]] for root in closed.roots]
    carried = tree_carrier_of(overlay, snapshot).roots
    assert planned == [routes.root(topic) for topic in snapshot.topics]
    assert planned == [snapshot.brokers[sitting[root]] for root in carried]
    cells = rows * columns
    assert planned[:cells] == list(snapshot.brokers)


def test_topics_that_are_no_cells_belong_to_the_hash_of_their_names() -> None:
    snapshot = on_a_map(4, 4)
    overlay = built("quadtree", snapshot)
    geometry, positions = read_seats(overlay, snapshot, "quadtree")
    keys = np.array([topic_key(topic) for topic in OTHER_TOPICS], dtype=np.int64)
    sitting = np.argsort(positions)
    routes = key_routes(overlay, frozenset(snapshot.brokers))
    assert [routes.root(topic) for topic in OTHER_TOPICS] == [
        snapshot.brokers[sitting[owner]] for owner in owners(geometry, keys)
    ]


def test_brokers_without_places_root_cells_by_the_hash_of_their_names() -> None:
    snapshot = on_a_map(4, 4)
    overlay = built("quadtree:arrangement=hash", snapshot)
    assert "south" not in overlay.params
    routes = key_routes(overlay, frozenset(snapshot.brokers))
    geometry, positions = read_seats(overlay, snapshot, "quadtree")
    keys = np.array([topic_key("cell/0/-119")], dtype=np.int64)
    assert (
        routes.root("cell/0/-119")
        == snapshot.brokers[int(np.argsort(positions)[owners(geometry, keys)[0]])]
    )


def test_a_cell_whose_broker_is_lost_has_a_root_in_its_quadrant() -> None:
    snapshot = on_a_map(8, 8)
    overlay = built("quadtree", snapshot)
    lost = "b0/-118"
    fewer = without_broker(overlay, lost)
    routes = key_routes(overlay, frozenset(snapshot.brokers) - {lost})
    stand_in = routes.root("cell/0/-118")
    assert stand_in == key_routes(fewer, frozenset(fewer.brokers)).root("cell/0/-118") != lost
    assert with_broker(fewer, "newcomer").params == overlay.params


@pytest.mark.parametrize("base", [4, 16])
def test_every_table_holds_the_candidate_of_least_round_trip(base: int) -> None:
    snapshot = on_a_map(6, 8)
    overlay = built(f"tapestry:base={base}:neighbours=nearest", snapshot)
    geometry, positions = read_seats(overlay, snapshot, "tapestry")
    brokers, delays_ms = np.argsort(positions), snapshot.delays_ms
    assert delays_ms is not None
    linked = {frozenset(link) for link in overlay.links}
    routing = PrefixRouting(geometry.identifiers, digit_bits_of(base))
    identifiers = geometry.identifiers.tolist()
    checked = 0
    for position, own in enumerate(identifiers):
        for row in range(3):
            for digit in range(base):
                candidates = [
                    other
                    for other, identifier in enumerate(identifiers)
                    if routing.shared_digits(own, identifier) == row
                    and routing.digit(identifier, row) == digit
                ]
                if not candidates:
                    continue
                entry = int(geometry.next_hops[position, candidates[0]])
                assert {int(geometry.next_hops[position, one]) for one in candidates} == {entry}
                names = (snapshot.brokers[brokers[position]], snapshot.brokers[brokers[entry]])
                assert frozenset(names) in linked
                checked += 1
                mine = delays_ms[brokers[position], brokers[entry]]
                theirs = [
                    min(
                        delays_ms[brokers[entry], brokers[one]]
                        for one, identifier in enumerate(identifiers)
                        if routing.shared_digits(identifiers[entry], identifier) == row
                        and routing.digit(identifier, row) == routing.digit(own, row)
                    )
                ]
                least = min(delays_ms[brokers[position], brokers[one]] for one in candidates)
                # Either end may have chosen the other, as the nearest that it could have.
                assert mine in (least, *theirs)
    assert checked > 2 * len(identifiers)


@pytest.mark.parametrize("base", [4, 16])
def test_nearest_neighbours_shorten_routes_in_milliseconds_and_forwarding_takes_them(
    base: int,
) -> None:
    snapshot = on_a_map(8, 12)
    delays = {}
    for neighbours in ("mirror", "nearest"):
        overlay = built(f"tapestry:base={base}:neighbours={neighbours}", snapshot)
        delays[neighbours] = evaluate(overlay, snapshot).delay_ms_mean or 0.0
        geometry, positions = read_seats(overlay, snapshot, "tapestry")
        routes, brokers = key_routes(overlay, frozenset(snapshot.brokers)), np.argsort(positions)
        for source in range(0, 96, 7):
            for target in range(96):
                hop = snapshot.brokers[brokers[geometry.next_hops[source, target]]]
                ends = (snapshot.brokers[brokers[one]] for one in (source, target))
                assert routes.next_hop(*ends) == hop
    assert delays["nearest"] < 0.95 * delays["mirror"]


def test_nearest_neighbours_need_delays_and_are_not_arranged() -> None:
    snapshot = on_a_map(3, 3)
    overlay = built("tapestry:neighbours=nearest", snapshot)
    with pytest.raises(ProblemError, match="cannot change places"):
        arrange(snapshot, "tapestry", "best", source=overlay)
    blind = Snapshot(snapshot.brokers, snapshot.topics, snapshot.interests, snapshot.publications)
    with pytest.raises(ProblemError, match="take neighbours=mirror"):
        built("tapestry:neighbours=nearest", blind)
    fewer = without_broker(overlay, snapshot.brokers[0])
    assert len(fewer.links) <= len(overlay.links)
