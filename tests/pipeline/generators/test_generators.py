from __future__ import annotations

import json
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from meshwright.cli.main import app
from meshwright.errors import OperatorError, ProblemError
from meshwright.model.schema import CONNECTIONS, SUBSCRIPTIONS
from meshwright.pipeline.generators import location, poisson
from meshwright.pipeline.generators.blocks import USERS_PER_BLOCK, BlockTable, generated, names
from meshwright.pipeline.generators.parameters import (
    LocationParameters,
    PatternName,
    PoissonParameters,
)
from meshwright.pipeline.generators.topic_patterns import topic_pattern
from meshwright.pipeline.generators.wandering import home_shares
from meshwright.pipeline.tables.traces import row_counts

SMALL = PoissonParameters(users=1500, topics=60, modes=6, hours=40, brokers=7, seed=3)


def pattern_of(parameters: PoissonParameters) -> Any:
    return topic_pattern(
        parameters.pattern,
        parameters.topics,
        zipf_exponent=parameters.zipf_exponent,
        mode_count=parameters.modes,
    )


def events(parameters: PoissonParameters, block: int) -> list[tuple[int, str, str, bool]]:
    columns = poisson._subscriptions(parameters, pattern_of(parameters), block)
    lists = [column.tolist() for column in (columns["time"], columns["is_on"])]
    texts = [columns["client"].to_pylist(), columns["topic"].to_pylist()]
    return list(zip(lists[0], *texts, lists[1], strict=True))


@pytest.mark.parametrize("pattern", ["uniform", "zipf", "multimodal"])
def test_a_user_always_holds_the_same_number_of_different_topics(pattern: PatternName) -> None:
    parameters = PoissonParameters(
        users=USERS_PER_BLOCK, topics=60, modes=6, hours=40, pattern=pattern, seed=1
    )
    held: dict[str, set[str]] = defaultdict(set)
    begun: dict[tuple[int, str], int] = defaultdict(int)
    for time, user, topic, is_on in events(parameters, 0):
        assert (topic in held[user]) != is_on
        held[user] ^= {topic}
        begun[time, user] += 1 if is_on else -1
    assert {len(topics) for topics in held.values()} == {5}
    begin_us = parameters.begin_us()
    assert {count for (time, _), count in begun.items() if time > begin_us} == {0}
    changes = sum(1 for time, _ in begun if time > begin_us) / USERS_PER_BLOCK
    assert abs(changes - 4.0) < 5 * np.sqrt(4.0 / USERS_PER_BLOCK)


def test_a_user_that_never_leaves_its_mode_wants_topics_of_one_mode() -> None:
    parameters = PoissonParameters(
        users=USERS_PER_BLOCK, topics=60, modes=6, pattern="multimodal", leaving_share=0.0
    )
    modes: dict[str, set[int]] = defaultdict(set)
    for _, user, topic, _ in events(parameters, 0):
        modes[user].add(int(topic[1:]) // 10)
    assert {len(found) for found in modes.values()} == {1}
    assert len({mode for found in modes.values() for mode in found}) == 6


def test_a_user_that_leaves_its_mode_draws_from_all_others_alike() -> None:
    pattern = topic_pattern("multimodal", 60, zipf_exponent=1.0, mode_count=6)
    homes = np.full(60_000, 2)
    drawn = pattern.draw(np.random.default_rng(1), homes, np.zeros(60_000, dtype=np.bool_))
    counts = np.bincount(drawn, minlength=60)
    assert counts[20:30].sum() == 0
    others = np.delete(counts, np.arange(20, 30))
    assert np.abs(others - 1200).max() < 5 * np.sqrt(1200)


def test_zipf_topics_are_drawn_by_their_rank() -> None:
    pattern = topic_pattern("zipf", 100, zipf_exponent=1.0, mode_count=10)
    assert pattern.shares[0] / pattern.shares[9] == pytest.approx(11 / 2)
    of_1000 = topic_pattern("zipf", 1000, zipf_exponent=1.0, mode_count=10)
    assert of_1000.shares[0] == pytest.approx(0.0771, abs=1e-4)  # (i + 1)**-1, from i = 1 on
    drawn = pattern.draw(
        np.random.default_rng(1), np.zeros(50_000, dtype=np.int64), np.ones(50_000, dtype=np.bool_)
    )
    expected = 50_000 * pattern.shares
    assert (np.abs(np.bincount(drawn, minlength=100) - expected) < 6 * np.sqrt(expected)).all()


def test_what_is_drawn_for_a_block_does_not_depend_on_the_number_of_users() -> None:
    few, many = (PoissonParameters(users=count, topics=60, modes=6) for count in (1500, 9000))
    assert [event for event in events(many, 1) if event[1] < "u1500"] == events(few, 1)


def test_executors_make_what_one_process_makes(spark: SparkSession) -> None:
    for table, block in (
        (SUBSCRIPTIONS, partial(poisson._subscriptions, SMALL, pattern_of(SMALL))),
        (CONNECTIONS, partial(poisson._connections, SMALL)),
    ):
        here = [
            pa.table({name: pa.array(column) for name, column in block(number).items()})
            for number in range(2)
        ]
        there = generated(spark, BlockTable(table, 2, block)).toArrow()
        wanted = pa.concat_tables(here).select(table.column_names())
        assert there.drop(["time"]).to_pylist() == wanted.drop(["time"]).to_pylist()
        assert there["time"].cast(pa.int64()).to_pylist() == wanted["time"].to_pylist()


def test_the_location_model_has_the_papers_statistics() -> None:
    parameters = LocationParameters(users=8 * USERS_PER_BLOCK, seed=2)
    shares = home_shares(parameters)
    visits = [location.block_visits(parameters, shares, block) for block in range(8)]
    users, cells, begin_h, end_h = (np.concatenate(part) for part in zip(*visits, strict=True))
    is_followed = users[:-1] == users[1:]
    assert not (is_followed & (cells[:-1] == cells[1:])).any()
    assert (begin_h[1:] >= end_h[:-1] - 1e-6)[is_followed].all()
    pairs, counts = np.unique(users * len(shares) + cells, return_counts=True)
    stays_h = np.diff(begin_h)[is_followed]
    assert len(users) / parameters.users == pytest.approx(450 / 40, rel=0.05)
    assert len(pairs) / parameters.users == pytest.approx(160 / 40, rel=0.05)
    assert np.mean(counts == 1) == pytest.approx(1 / 3, abs=0.03)
    assert np.mean(stays_h < 24) == pytest.approx(0.5, abs=0.02)
    assert np.mean(stays_h > 168) == pytest.approx(0.1, abs=0.02)


def test_positions_lie_in_the_cells_that_are_visited() -> None:
    parameters = LocationParameters(
        users=50, rows=3, columns=4, cell_degrees=0.1, south=-0.1, west=0
    )
    shares = home_shares(parameters)
    visits = location.block_visits(parameters, shares, 0)
    found = location._positions(parameters, shares, 0)
    north = np.floor(found["latitude"] / 0.1).astype(int)
    east = np.floor(found["longitude"] / 0.1).astype(int)
    assert sorted(set(((north + 1) * 4 + east).tolist())) == sorted(set(visits.cells.tolist()))
    topics = location._cell_topics(parameters).to_pylist()
    assert {f"cell/{n}/{e}" for n, e in zip(north, east, strict=True)} <= set(topics)


def test_users_follow_so_many_different_others() -> None:
    parameters = LocationParameters(users=6, friends=4)
    found = location._friendships(parameters, 0)
    friends: dict[str, set[str]] = defaultdict(set)
    for user, friend in zip(
        *(found[name].to_pylist() for name in ("client", "friend")), strict=True
    ):
        assert user != friend
        friends[user].add(friend)
    assert [len(found) for found in friends.values()] == [4] * 6


def test_delays_are_the_same_there_and_back_and_grow_with_distance() -> None:
    parameters = LocationParameters(rtt_shape=1e6)
    found = location._delays(parameters, 0)
    ends = zip(found["source"], found["target"], strict=True)
    delays = dict(zip(ends, found["delay_ms"].tolist(), strict=True))
    assert len(delays) == 2 * 1199
    assert all(delays[target, source] == delay for (source, target), delay in delays.items())
    east_km = 6371 * np.radians(1.0) * np.cos(np.radians(25.5))
    assert delays["b0000", "b0001"] == pytest.approx((5 + 0.02 * east_km) / 2, rel=0.02)
    assert delays["b0000", "b0059"] > delays["b0000", "b0030"] > delays["b0000", "b0001"]


def test_names_have_one_length() -> None:
    assert names("u", np.array([0, 42, 999]), 1000).to_pylist() == ["u000", "u042", "u999"]


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(ProblemError, match="finds no other among the 10 of its mode"):
        PoissonParameters(pattern="multimodal", topics_per_user=10).refuse_impossible()
    with pytest.raises(ProblemError, match="do not fall into 2000 modes"):
        PoissonParameters(pattern="multimodal", modes=2000).refuse_impossible()
    with pytest.raises(OperatorError, match="'soon' is no time"):
        PoissonParameters(begin="soon").refuse_impossible()
    with pytest.raises(ProblemError, match="leaves the world"):
        LocationParameters(rows=80).refuse_impossible()
    with pytest.raises(ProblemError, match="lies inside a cell"):
        LocationParameters(south=25.5).refuse_impossible()
    with pytest.raises(ProblemError, match="more than all stays"):
        LocationParameters(short_share=0.7).refuse_impossible()
    with pytest.raises(ProblemError, match="choose fewer"):
        LocationParameters(users=4).refuse_impossible()


@pytest.mark.usefixtures("spark")
def test_generate_writes_every_table_of_a_model(tmp_path: Path) -> None:
    out = tmp_path / "trace"
    words = "trace generate --model location --users 30 --rows 2 --columns 3 --days 5 --json --out"
    result = CliRunner().invoke(app, [*words.split(), str(out)], catch_exceptions=False)
    document = json.loads(result.stdout)
    assert document["tables"] == row_counts(out)
    assert {name: count for name, count in row_counts(out).items() if name != "positions"} == {
        "publications": document["tables"]["publications"],
        "connections": 30,
        "friendships": 120,
        "brokers": 6,
        "delays": 30,
    }
    assert abs(document["tables"]["publications"] - 6 * 5 * 24) < 5 * np.sqrt(720)
    wished = LocationParameters(users=30, rows=2, columns=3, days=5)
    assert sum(document["tables"].values()) == pytest.approx(wished.expected_rows(), rel=0.5)
    words = "trace generate --model poisson --rows 3 --out x"
    refused = CliRunner().invoke(app, words.split(), catch_exceptions=False)
    assert (refused.exit_code, refused.stderr) == (
        2,
        "error: The model poisson has no --rows; leave it out.\n",
    )
