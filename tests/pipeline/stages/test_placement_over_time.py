from __future__ import annotations

from collections import defaultdict

import numpy as np
import pyarrow as pa
import pytest
from literal_tables import found, frame, timeline
from pyspark.sql import SparkSession

from meshwright.errors import ProblemError
from meshwright.model.identifiers import TopicName
from meshwright.model.interests import interests_from_pairs, interests_from_sets
from meshwright.model.replay_schema import HOMES, INTERESTS
from meshwright.pipeline.stages.homes import asked_homes, located_homes
from meshwright.pipeline.stages.placement import (
    Selection,
    placed_at_homes,
    placed_by_similarity,
    slot_by_slot,
)
from meshwright.pipeline.stages.selection import NetworkView, selected_brokers
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.planning.placement.clients import Clients, PlacementProblem, view_of
from meshwright.planning.placement.over_time import Asks, ClusterLife, place_over_time
from meshwright.planning.placement.strategies import PlacementRules, similarity

FOUR = Brokers(("a", "b", "c", "d"))
TWO_CLUSTERS = np.array([0, 0, 1, 1], dtype=np.int32)


def selection(method: str) -> Selection:
    return Selection((method,), FOUR, TWO_CLUSTERS, PlacementRules(), seed=0)


def test_static_clients_stay_where_chance_put_them(spark: SparkSession) -> None:
    interests = frame(
        spark, INTERESTS, [(hour, f"c{n}", "t", hour == 1) for n in range(40) for hour in (1, 2)]
    )
    homes = asked_homes(interests, FOUR, seed=7)
    placed = found(placed_at_homes(homes, "static"))
    assert {row[:2] for row in placed} == {("static", 1.0)}
    assert len({row[2] for row in placed}) == len(placed) == 40
    assert {row[3] for row in placed} == set("abcd")
    assert found(asked_homes(interests, FOUR, seed=8)) != found(homes)


def test_a_client_is_at_home_at_the_broker_nearest_to_its_cell(spark: SparkSession) -> None:
    visits = spark.createDataFrame(
        [("ann", 0, 0, 0), ("ann", 1, 0, 1), ("ann", 2, 0, 9), ("bob", 1, 0, 9)],
        "client string, hour long, cell_north long, cell_east long",
    ).selectExpr(
        "timestamp'2024-01-01' + make_dt_interval(0, int(hour)) time",
        "client",
        "cell_north",
        "cell_east",
        "1.0D as stay_s",
    )
    places = np.array([[0.5, 0.5], [0.5, 9.5]])
    west_and_east = Brokers(("east", "west"), coordinates=places[::-1].copy())
    assert found(located_homes(visits, west_and_east, 1.0)) == [
        (0.0, "ann", "west"),
        (1.0, "bob", "east"),
        (2.0, "ann", "east"),
    ]
    with pytest.raises(ProblemError, match="coordinates"):
        located_homes(visits, FOUR, 1.0)


def test_who_wants_the_same_comes_together_inside_a_cluster(spark: SparkSession) -> None:
    early = [(0, f"{kind}{n:02d}", kind, True) for kind in "xy" for n in range(70)]
    late = [(1, f"{kind}-late", kind, True) for kind in "xy"]
    interests = frame(spark, INTERESTS, early + late)
    homes = frame(spark, HOMES, [(time, client, "a") for time, client, _, _ in early + late])
    placed = placed_by_similarity(interests, homes, timeline(2, 1), selection("similarity"))
    brokers = {row[2]: row[3] for row in found(placed)}
    assert set(brokers.values()) <= {"a", "b"}
    hosted = {kind: {brokers[f"{kind}{n:02d}"] for n in range(70)} for kind in "xy"}
    assert brokers["x-late"] in hosted["x"]
    assert brokers["y-late"] in hosted["y"]


def test_a_client_that_moves_to_another_cluster_is_handed_over(spark: SparkSession) -> None:
    interests = frame(spark, INTERESTS, [(0, "ann", "t", True), (2.5, "bob", "t", True)])
    homes = frame(spark, HOMES, [(0, "ann", "a"), (1.5, "ann", "d"), (2.5, "bob", "c")])
    placed = found(
        placed_by_similarity(interests, homes, timeline(3, 1), selection("similarity-bounded"))
    )
    assert [row[:3] for row in placed] == [
        ("similarity-bounded", 0.0, "ann"),
        ("similarity-bounded", 1.5, "ann"),
        ("similarity-bounded", 2.5, "bob"),
    ]
    assert placed[0][3] in "ab"
    assert placed[1][3] in "cd"


def test_nobody_is_over_the_cap_and_nobody_moves_for_little() -> None:
    rng = np.random.default_rng(2)
    slots = np.sort(rng.integers(6, size=400))
    seen: dict[int, set[int]] = defaultdict(set)
    keep = []
    clients = rng.integers(120, size=400)
    for row, (slot, client) in enumerate(zip(slots.tolist(), clients.tolist(), strict=True)):
        if client not in seen[slot]:
            keep.append(row)
        seen[slot].add(client)
    asks = Asks(
        slots=slots[keep],
        clients=clients[keep],
        interests=interests_from_sets((rng.integers(30, size=5).tolist() for _ in keep), 30),
        leaving=np.zeros(len(keep), dtype=np.bool_),
    )
    chosen = place_over_time(
        asks, 4, "similarity-bounded", np.random.default_rng(0), rules=PlacementRules()
    )
    last = dict(zip(asks.clients.tolist(), chosen.tolist(), strict=True))
    assert min(last.values()) >= 0
    occupants = np.bincount(list(last.values()), minlength=4)
    assert occupants.max() <= np.ceil(1.1 * len(last) / 4)
    unwilling = place_over_time(
        asks,
        4,
        "similarity-bounded",
        np.random.default_rng(0),
        rules=PlacementRules(gain_min=9.0, load_slack=5.0),
    )
    first: dict[int, int] = {}
    for client, broker in zip(asks.clients.tolist(), unwilling.tolist(), strict=True):
        assert first.setdefault(client, broker) == broker


def test_who_left_is_counted_no_more() -> None:
    asks = Asks(
        slots=np.array([0, 1, 2, 2]),
        clients=np.array([0, 1, 0, 2]),
        interests=interests_from_sets([[0], [1], [0], [0]], 2),
        leaving=np.array([False, False, True, False]),
    )
    chosen = place_over_time(
        asks, 2, "similarity", np.random.default_rng(0), rules=PlacementRules()
    )
    assert chosen[2] == -1
    # Nobody wants topic 0 any more, so the third client takes the broker without load.
    assert chosen[3] != chosen[1]


def test_selection_in_batches_chooses_what_one_selection_of_all_does(spark: SparkSession) -> None:
    rng = np.random.default_rng(9)
    topics = tuple(TopicName(f"t{number}") for number in range(12))
    wants = interests_from_sets((rng.integers(12, size=4).tolist() for _ in range(300)), 12)
    brokers = rng.integers(-1, 4, size=300).astype(np.int32)
    homes = np.where(brokers < 0, rng.integers(4, size=300), brokers).astype(np.int32)
    clients = Clients(wants, brokers, homes)
    view = view_of(clients, 4)
    rows = [
        (f"c{row:03d}", int(brokers[row]), int(homes[row]), [f"t{t}" for t in wants.of(row)])
        for row in range(300)
    ]
    rows.append(("stranger", -1, 3, ["t0", "elsewhere", "anywhere"]))
    given = spark.createDataFrame(rows, "client string, broker int, home int, topics array<string>")
    network = NetworkView(topics, view, TWO_CLUSTERS)
    chosen = dict(selected_brokers(given.repartition(5), network, PlacementRules()).collect())
    assert chosen.pop("stranger") in {2, 3}
    problem = PlacementProblem(clients, view, TWO_CLUSTERS)
    expected = similarity(problem, PlacementRules(), rng)
    assert [chosen[f"c{row:03d}"] for row in range(300)] == expected.tolist()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_slots_pass_by_whole_wherever_batches_end(size: int) -> None:
    keys = [(0, 1), (0, 1), (0, 1), (0, 4), (2, 4), (2, 5), (2, 5), (3, 5)]
    rows = [{"cluster": cluster, "slot": slot} for cluster, slot in keys]
    pieces = [rows[first : first + size] for first in range(0, len(rows), size)]
    batches = [pa.RecordBatch.from_pylist(piece) for piece in pieces]
    found = [(cluster, told.to_pylist()) for cluster, told in slot_by_slot(iter(batches))]
    expected = [
        (key[0], [row for row in rows if tuple(row.values()) == key]) for key in dict.fromkeys(keys)
    ]
    assert found == expected


def test_a_cluster_knows_what_clients_want_now_and_nothing_of_what_they_wanted() -> None:
    rng = np.random.default_rng(0)
    life = ClusterLife(3, "similarity-bounded", rng, rules=PlacementRules())
    clients = np.arange(20, dtype=np.int64)
    for slot in range(50):
        wants = rng.random((20, 8)) < 0.5
        interests = interests_from_pairs(*np.nonzero(wants), 20, 8)
        slots, leaving = np.full(20, slot), np.zeros(20, dtype=np.bool_)
        assert (life.answer(Asks(slots, clients, interests, leaving)) >= 0).all()
    assert life.held_rows <= 2 * len(clients)
