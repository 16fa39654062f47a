from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal_tables import found, frame, timeline
from pyspark.sql import DataFrame, SparkSession

from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.model.replay_schema import INTERESTS
from meshwright.model.schema import FRIENDSHIPS, PUBLICATIONS, SUBSCRIPTIONS
from meshwright.pipeline.stages import taking
from meshwright.pipeline.stages.interests import located_interests, subscribed_interests
from meshwright.pipeline.stages.rates import (
    even_rates,
    filtered,
    publication_rates,
    sparsely_filtered,
)


def test_subscriptions_that_change_nothing_are_no_interests(spark: SparkSession) -> None:
    rows = [
        (0, "ann", "t", True),
        (1, "ann", "t", True),
        (2, "ann", "t", False),
        (3, "ann", "t", False),
        (4, "ann", "t", True),
        (0, "bob", "t", False),
        (5, "bob", "u", False),
        (5, "bob", "u", True),
    ]
    assert found(subscribed_interests(frame(spark, SUBSCRIPTIONS, rows))) == [
        (0.0, "ann", "t", True),
        (2.0, "ann", "t", False),
        (4.0, "ann", "t", True),
        (5.0, "bob", "u", True),
    ]


TOPICS = ["a", "a/b", "a/c", "d", "$SYS/a"]
FILTERS = ["#", "+/b", "a/#", "$share/g/a/#", "$share/h/#", "$where/n>1/a/+", "$SYS/#"]
DEEDS = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.sampled_from(["ann", "bob", "cyd"]),
        st.sampled_from([*TOPICS[:3], *FILTERS]),
        st.booleans(),
    ),
    max_size=14,
)


def plainly_wanted(
    rows: list[tuple[int, str, str, bool]], published: list[str], hour: int
) -> set[tuple[str, str]]:
    """Clients and topics at an hour, by loops over everything."""
    since: dict[tuple[str, str], int] = {}
    for time in range(hour + 1):
        now = [row for row in rows if row[0] == time]
        for client, text in sorted({(row[1], row[2]) for row in now}):
            is_on = any(row[3] for row in now if row[1:3] == (client, text))
            if not is_on:
                since.pop((client, text), None)
            else:
                since.setdefault((client, text), time)
    bare = {row[2] for row in rows if row[2] in TOPICS}
    wanted = set()
    for (client, text), begun in since.items():
        rivals = [(at, who) for (who, other), at in since.items() if other == text]
        if text.startswith("$share/") and (begun, client) != min(rivals):
            continue
        for topic in {*published, *bare}:
            if matches(Filter(parse_filter(text).topic_filter), topic):
                wanted.add((client, topic))
    return wanted


@settings(max_examples=12)
@given(DEEDS, st.lists(st.sampled_from(TOPICS), max_size=3), st.booleans())
def test_clients_want_at_any_time_what_their_filters_take_then(
    spark: SparkSession,
    rows: list[tuple[int, str, str, bool]],
    published: list[str],
    filters_are_many: bool,
) -> None:
    told = frame(spark, PUBLICATIONS, [(0, topic, "p", 1) for topic in published])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(taking, "FEW", 0 if filters_are_many else taking.FEW)
        changes = found(subscribed_interests(frame(spark, SUBSCRIPTIONS, rows), told))
    for hour in range(6):
        now: set[tuple[str, str]] = set()
        for time, client, topic, is_on in sorted(changes):
            if time <= hour:
                (now.add if is_on else now.remove)((client, topic))
        assert now == plainly_wanted(rows, published, hour)


def visits(spark: SparkSession, rows: list[tuple[int, str, int]]) -> DataFrame:
    """Time in hours, who, and how far north."""
    return spark.createDataFrame(rows, "hour int, client string, cell_north long").selectExpr(
        "timestamp'2024-01-01' + make_dt_interval(0, hour) as time",
        "client",
        "cell_north",
        "0L as cell_east",
        "1.0D as stay_s",
    )


def test_people_follow_their_cell_and_those_of_their_friends_once_they_are_seen(
    spark: SparkSession,
) -> None:
    seen = visits(
        spark, [(0, "ann", 1), (4, "ann", 2), (2, "bob", 1), (3, "bob", 3), (6, "bob", 2)]
    )
    friends = frame(spark, FRIENDSHIPS, [("bob", "ann")])
    assert found(located_interests(seen, friends)) == [
        (0.0, "ann", "cell/1/0", True),
        (2.0, "bob", "cell/1/0", True),
        (3.0, "bob", "cell/3/0", True),
        (4.0, "ann", "cell/1/0", False),
        (4.0, "ann", "cell/2/0", True),
        (4.0, "bob", "cell/1/0", False),
        (4.0, "bob", "cell/2/0", True),
        (6.0, "bob", "cell/3/0", False),
    ]


def test_rates_are_smoothed_period_by_period_and_periods_without_publications_count(
    spark: SparkSession,
) -> None:
    rows = (
        [(0.5, "t", "p", 1)] * 10
        + [(2.0, "t", "p", 1)] * 20
        + [(2.5, "u", "p", 1), (9, "u", "p", 1)]
    )
    rates = publication_rates(frame(spark, PUBLICATIONS, rows), timeline(3, 1), alpha=0.3)
    assert [row[:4] for row in found(rates)] == [
        (0, 1, "t", 10),
        (1, 2, "t", 0),
        (2, 3, "t", 20),
        (2, 3, "u", 1),
    ]
    assert [row[4] for row in found(rates)] == pytest.approx([10, 7, 10.9, 0.3])


@pytest.mark.parametrize("ends", [[], [12], [3, 6, 9, 12], [2, 7, 12], [5, 10], [1, 2, 3]])
def test_rates_of_the_slots_that_count_are_those_of_all_slots(ends: list[int]) -> None:
    rng = np.random.default_rng(len(ends))
    dense = rng.integers(1, 9, size=(7, 12)) * (rng.random((7, 12)) < 0.3)
    dense[:, 5] += 1  # no topic is without publications
    expected = filtered(dense, 0.3, ends)
    topics, slots = np.nonzero(dense)
    shuffled = rng.permutation(len(topics))
    topics, slots = topics[shuffled], slots[shuffled]
    found = sparsely_filtered(topics, slots, dense[topics, slots], 0.3, np.array(ends, dtype=int))
    rows = set(zip(*(part.tolist() for part in found[:2]), strict=True))
    wanted = {(topic, slot) for topic, slot in np.argwhere(dense).tolist()}
    first = {topic: min(slot for other, slot in wanted if other == topic) for topic in range(7)}
    wanted |= {(topic, end - 1) for end in ends for topic in range(7) if first[topic] < end}
    assert len(found[0]) == len(rows)
    assert rows == wanted
    assert found[2].tolist() == dense[found[0], found[1]].tolist()
    assert found[3].tolist() == pytest.approx(expected[found[0], found[1]].tolist())


def test_after_a_silent_period_a_topic_is_expected_as_the_papers_filter_has_it() -> None:
    counts = np.array([[10] * 10 + [0] * 10 + [20] * 5])
    rates = filtered(counts, 0.3, timeline(25, 10).epoch_ends())[0]
    assert rates[9] * 10 == 100
    assert rates[10:19].tolist() == [10.0] * 9
    assert rates[19] * 10 == pytest.approx(70)
    assert rates[24] == rates[19]


def test_until_a_period_ends_slots_are_expected_to_be_like_those_so_far() -> None:
    assert filtered(np.array([3, 0, 6]), 0.3, [])[:3].tolist() == [3.0, 1.5, 3.0]


def test_without_publications_every_topic_is_published_alike(spark: SparkSession) -> None:
    interests = frame(spark, INTERESTS, [(0, "ann", "t", True), (0, "bob", "t", True)])
    assert found(even_rates(interests, timeline(2, 1), 3)) == [
        (0, 1, "t", 3, 3.0),
        (1, 2, "t", 3, 3.0),
    ]
    assert found(even_rates(interests, timeline(3, 2), 3)) == [
        (0, 2, "t", 3, 3.0),
        (2, 3, "t", 3, 3.0),
    ]
