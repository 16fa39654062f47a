"""Every design through the same laws: it is built, read back, evaluated and counted alike."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from counting import check_counts, check_places
from dull_messages import (
    DullAcyclic,
    DullHierarchy,
    DullPartition,
    DullRendezvous,
    DullTopicConnected,
    Twin,
)

from meshwright.errors import ProblemError
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import DESIGNS, candidates, joined_as
from meshwright.model.identifiers import BrokerName, TopicName, topic_key
from meshwright.model.interests import interests_from_sets
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.hypercube import Readings, dimensions_for
from meshwright.overlays.key_geometries import key_geometry, owners
from meshwright.planning.adaptation.cost import tree_cost
from meshwright.planning.adaptation.naming import tree_from_names
from meshwright.planning.adaptation.values import Traffic
from meshwright.planning.arrangement.cost import arrangement_cost
from meshwright.planning.arrangement.problem import arrangement_problem
from meshwright.planning.arrangement.seats import read_seats
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import (
    carrier_of,
    evaluate,
    forwarding_of,
    management_messages,
    node_degrees,
    publication_messages,
)
from meshwright.planning.evaluation.indexes import link_indexes
from meshwright.planning.topic_connected.measures import topic_diameters
from meshwright.planning.topic_connected.validation import is_topic_connected

BROKER_COUNT = 21


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return generate_snapshot(BROKER_COUNT, 12, 3, "zipf", seed=5, publications_per_topic=4.0)


def built(design: str, snapshot: Snapshot, **params: Parameter) -> Overlay:
    return build_overlay(design, snapshot, rng=np.random.default_rng(3), **params)


@pytest.mark.parametrize("design", candidates())
def test_a_design_joins_exactly_the_brokers_of_the_snapshot(
    design: str, snapshot: Snapshot
) -> None:
    overlay = built(design, snapshot)
    links = link_indexes(overlay, snapshot)
    assert overlay.design == joined_as(design)
    assert overlay.brokers == snapshot.brokers
    assert len(np.unique(np.sort(links, axis=1), axis=0)) == len(links)
    assert bool(np.all(links[:, 0] != links[:, 1]))


@pytest.mark.parametrize("design", candidates())
def test_the_same_seed_builds_the_same_bytes(design: str, snapshot: Snapshot) -> None:
    first, second = (msgspec.json.encode(built(design, snapshot)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("design", candidates())
def test_a_design_sends_the_messages_that_are_counted(design: str, snapshot: Snapshot) -> None:
    overlay = built(design, snapshot)
    check_counts(forwarding_of(overlay, snapshot), twin_of(overlay, snapshot), snapshot)


@pytest.mark.parametrize("design", candidates())
@pytest.mark.parametrize("delays_are_known", [False, True])
def test_a_design_sends_the_messages_that_are_counted_of_publishers_in_places(
    design: str, delays_are_known: bool, snapshot: Snapshot
) -> None:
    rng = np.random.default_rng(7)
    entering = rng.integers(0, 4, size=(len(snapshot.brokers), len(snapshot.topics)))
    entering[:, 0] = 0
    delays = rng.integers(1, 50, size=(len(snapshot.brokers),) * 2).astype(np.float64)
    placed = replace(
        snapshot,
        publications=entering.sum(axis=0).astype(np.float64),
        publishers=entering.astype(np.float64),
        delays_ms=delays if delays_are_known else None,
    )
    overlay = built(design, snapshot)
    forwarding, carrier = forwarding_of(overlay, placed), carrier_of(overlay, placed)
    check_places(forwarding, carrier, twin_of(overlay, placed), placed)


def test_where_publishers_are_makes_the_ways_in_longer_or_shorter() -> None:
    # A line b0 - b1 - b2 - b3, of which b3 alone wants t: five publications at b0 or at b2.
    names = tuple(BrokerName(f"b{number}") for number in range(4))
    links = tuple((names[number], names[number + 1]) for number in range(3))
    line = Overlay(design="tree", brokers=names, links=links)
    costs = []
    for publisher in (0, 2):
        entering = np.zeros((4, 1))
        entering[publisher] = 5.0
        snapshot = Snapshot(
            names,
            (TopicName("t"),),
            interests_from_sets([[], [], [], [0]], 1),
            np.array([5.0]),
            publishers=entering,
        )
        found = evaluate(line, snapshot)
        costs.append((found.messages_internal, found.messages_external, found.delay_hops_mean))
    assert costs == [(5.0, 10.0, 3.0), (5.0, 0.0, 1.0)]


@pytest.mark.parametrize("design", candidates())
def test_the_metrics_are_means_of_the_exact_counts(design: str, snapshot: Snapshot) -> None:
    overlay = built(design, snapshot)
    found = evaluate(overlay, snapshot)
    counts = [
        (rate, publication_messages(overlay, snapshot, topic, publisher))
        for topic, rate in enumerate(snapshot.publications.tolist())
        for publisher in range(BROKER_COUNT)
    ]
    published = float(snapshot.publications.sum())
    total = sum(rate * messages.total for rate, messages in counts) / BROKER_COUNT
    delays = [(rate, hop) for rate, count in counts for hop in count.delays_hops.tolist()]
    assert found.messages_per_publication == pytest.approx(total / published)
    assert found.messages_external == pytest.approx(
        sum(rate * messages.external for rate, messages in counts) / BROKER_COUNT
    )
    assert found.delay_hops_mean == pytest.approx(
        sum(rate * hop for rate, hop in delays) / sum(rate for rate, _ in delays)
    )
    pairs = zip(
        snapshot.interests.columns.tolist(), snapshot.interests.row_of_pairs().tolist(), strict=True
    )
    subscribing = [management_messages(overlay, snapshot, *pair) for pair in pairs]
    assert found.management_messages_mean == pytest.approx(np.mean(subscribing))
    assert found.degree_max == node_degrees(overlay).max()
    assert found.deliveries_missed == 0.0


@pytest.mark.parametrize("design", candidates())
def test_the_order_in_which_an_overlay_lists_its_brokers_does_not_matter(
    design: str, snapshot: Snapshot
) -> None:
    overlay = built(design, snapshot)
    reversed_overlay = msgspec.structs.replace(overlay, brokers=overlay.brokers[::-1])
    assert evaluate(reversed_overlay, snapshot) == evaluate(overlay, snapshot)


@pytest.mark.parametrize("advertisements", [False, True])
def test_any_broker_can_be_the_root_of_a_hierarchy(
    advertisements: bool, snapshot: Snapshot
) -> None:
    for root in snapshot.brokers[::5]:
        overlay = built("hierarchy", snapshot, root=root, advertisements=advertisements)
        assert overlay.params["root"] == root
        check_counts(forwarding_of(overlay, snapshot), twin_of(overlay, snapshot), snapshot)
    with pytest.raises(ProblemError, match="root 'nobody' is no broker"):
        built("hierarchy", snapshot, root="nobody")
    lost = msgspec.structs.replace(built("hierarchy", snapshot), params={"root": "nobody"})
    with pytest.raises(ProblemError, match="root 'nobody' is no broker"):
        evaluate(lost, snapshot)


def test_climbing_to_a_root_costs_no_less_than_following_filters(snapshot: Snapshot) -> None:
    hierarchy = built("hierarchy", snapshot)
    tree = msgspec.structs.replace(hierarchy, design="tree", params={})
    climbing, following = evaluate(hierarchy, snapshot), evaluate(tree, snapshot)
    assert climbing.messages_per_publication > following.messages_per_publication
    assert climbing.management_messages_mean < following.management_messages_mean
    assert climbing.delay_hops_mean == following.delay_hops_mean


@pytest.mark.parametrize("arrangement", ["hash", "best"])
def test_the_cost_on_a_key_geometry_is_that_of_its_arrangement(
    arrangement: str, snapshot: Snapshot
) -> None:
    overlay = built("chord", snapshot, arrangement=arrangement)
    geometry, positions = read_seats(overlay, snapshot, "chord")
    cost = arrangement_cost(arrangement_problem(snapshot, geometry, 2.0), positions)
    found = evaluate(overlay, snapshot, delay_weight=2.0)
    assert found.cost == pytest.approx(cost.total)
    assert found.messages_external == pytest.approx(cost.overhead_external)
    assert found.messages_internal == pytest.approx(cost.overhead_internal)


def test_an_arranged_ring_costs_no_more_than_by_hash(snapshot: Snapshot) -> None:
    plain, arranged = (built("chord", snapshot, arrangement=by) for by in ("hash", "best"))
    assert evaluate(arranged, snapshot).cost <= evaluate(plain, snapshot).cost


def test_an_adapted_tree_costs_its_traffic_no_more_than_a_regular_one(snapshot: Snapshot) -> None:
    messages = snapshot.publications.astype(np.int64)
    traffic = Traffic(snapshot.interests.transposed(), messages)
    plain, adapted = (
        tree_cost(tree_from_names(built("tree", snapshot, adapted=adapted)), traffic)
        for adapted in (False, True)
    )
    assert adapted <= plain


@pytest.mark.parametrize(
    "design", [name for name, d in DESIGNS.items() if d.forwarding == "topic_connected"]
)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_topic_metrics_agree_with_the_validators(design: str, k: int, snapshot: Snapshot) -> None:
    overlay = built(design, snapshot, k=k if DESIGNS[design].can_be_asked(k) else None)
    links = link_indexes(overlay, snapshot)
    totals = forwarding_of(overlay, snapshot).totals()
    assert totals.diameters.tolist() == topic_diameters(links, snapshot.interests).tolist()
    assert is_topic_connected(links, snapshot.interests, totals.k_held)
    # Whoever are all linked with each other hold any k.
    is_complete = totals.k_held == len(snapshot.brokers) - 1
    assert is_complete or not is_topic_connected(links, snapshot.interests, totals.k_held + 1)
    assert totals.k_held >= int(overlay.params["k"] or 0)


def test_brokers_stand_in_their_cells_where_coordinates_are_known(snapshot: Snapshot) -> None:
    coordinates = np.random.default_rng(1).random((BROKER_COUNT, 2))
    placed = Snapshot(
        brokers=snapshot.brokers,
        topics=snapshot.topics,
        interests=snapshot.interests,
        publications=snapshot.publications,
        coordinates=coordinates,
    )
    overlay = built("quadtree", placed)
    assert overlay.params["arrangement"] == "location"
    check_counts(forwarding_of(overlay, placed), twin_of(overlay, placed), placed)


def test_a_k_that_a_design_cannot_hold_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(
        ProblemError, match="gm2 cannot be built for k = 3, only for k = 2; choose h"
    ):
        built("gm2", snapshot, k=3)
    with pytest.raises(
        ProblemError, match="chord cannot be built for k = 3; choose harary or best"
    ):
        built("chord", snapshot, k=3)


def test_members_that_no_link_reaches_are_missed_and_hold_nothing(snapshot: Snapshot) -> None:
    lonely = msgspec.structs.replace(built("gm", snapshot), links=())
    found = evaluate(lonely, snapshot)
    wanted = float(snapshot.interests.transposed().counts() @ snapshot.publications)
    reached = float(snapshot.publications.sum())
    assert found.deliveries_missed == pytest.approx(wanted - reached)
    assert found.messages_internal == 0.0
    assert found.k_held == 0


def test_an_unknown_design_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(ProblemError, match="There is no design 'torus'"):
        built("torus", snapshot)


def test_an_overlay_of_other_brokers_is_refused(snapshot: Snapshot) -> None:
    other = generate_snapshot(BROKER_COUNT + 1, 12, 3, "zipf", seed=5)
    for design in ("chord", "hypercube", "gm", "tree"):
        with pytest.raises(ProblemError, match="b21"):
            evaluate(built(design, other), snapshot)


def test_links_that_are_no_tree_are_refused(snapshot: Snapshot) -> None:
    overlay = built("tree", snapshot)
    with pytest.raises(ProblemError, match="broker"):
        evaluate(msgspec.structs.replace(overlay, links=overlay.links[1:]), snapshot)


def test_positions_outside_the_hypercube_are_refused(snapshot: Snapshot) -> None:
    overlay = built("hypercube", snapshot)
    assert overlay.positions is not None
    doubled = {name: 2 * place for name, place in overlay.positions.items()}
    with pytest.raises(ProblemError, match="0 to 20"):
        evaluate(msgspec.structs.replace(overlay, positions=doubled), snapshot)


@pytest.mark.parametrize("design", candidates())
@pytest.mark.parametrize("broker_count", [1, 2, 3, 5])
def test_the_smallest_networks_are_built_and_counted_too(design: str, broker_count: int) -> None:
    small = generate_snapshot(broker_count, 3, 2, "unif", seed=broker_count)
    overlay = built(design, small)
    check_counts(forwarding_of(overlay, small), twin_of(overlay, small), small)
    assert evaluate(overlay, small).deliveries_missed == 0.0


def twin_of(overlay: Overlay, snapshot: Snapshot) -> Twin:
    """The twin of an overlay, made from its names alone."""
    names = list(snapshot.brokers)
    if overlay.positions is None:
        links = np.array([(names.index(a), names.index(b)) for a, b in overlay.links])
        root = overlay.params.get("root")
        if root is not None and not overlay.params["advertisements"]:
            return DullHierarchy(links, snapshot, names.index(str(root)))
        return (
            DullAcyclic(links, snapshot)
            if DESIGNS[overlay.design].forwarding == "acyclic"
            else DullTopicConnected(links, snapshot)
        )
    seats = np.array([overlay.positions[name] for name in names])
    if overlay.design == "hypercube":
        return DullPartition(
            dimensions_for(len(names)),
            int(overlay.params["low_bit_count"] or 0),
            seats,
            snapshot,
            readings=Readings(),
        )
    geometry = key_geometry(overlay.design, len(names), identifiers=np.sort(seats))
    keys = np.array([topic_key(topic) for topic in snapshot.topics], dtype=np.int64)
    positions = np.searchsorted(geometry.identifiers, seats).astype(np.int32)
    return DullRendezvous(geometry, positions, owners(geometry, keys), snapshot)
