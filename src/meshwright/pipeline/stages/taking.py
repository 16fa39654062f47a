"""Subscriptions matched with topics: whichever are fewer go to every task, the others pass by."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from meshwright.filters.names import TopicNames
from meshwright.filters.taking import CONTENT, PREFIX, SEVERAL, SHARED, index_of, taken_of

TAKEN = "filter string, topic string"
# As few are sent without counting what they are matched with.
FEW = 10_000

Batches = Iterator[pa.RecordBatch]


def names_one_topic() -> Column:
    """Whether the column topic is the name of one, and not a filter."""
    return ~sf.col("topic").rlike(SEVERAL)


def is_shared() -> Column:
    """Whether a group has the subscription in the column topic together."""
    return sf.col("topic").rlike(SHARED)


def content_count(subscriptions: DataFrame) -> int:
    """Pairs of a client and a subscription that takes only some messages of its topics."""
    asking = subscriptions.where(sf.col("topic").rlike(CONTENT) & sf.col("is_on"))
    return asking.select("client", "topic").distinct().count()


def known_topics(subscriptions: DataFrame, published: DataFrame | None) -> DataFrame:
    """topic: all that are published, or that somebody subscribes to by name."""
    bare = subscriptions.select(sf.regexp_replace("topic", PREFIX, "").alias("topic"))
    named = bare.where(names_one_topic())
    known = named if published is None else named.unionByName(published.select("topic"))
    return known.distinct()


def idle_count(subscriptions: DataFrame, published: DataFrame | None) -> int:
    """Filters that somebody subscribes to and that take no topic which is known."""
    filters = held_filters(subscriptions)
    taken = taken_topics(filters, known_topics(subscriptions, published))
    return 0 if taken is None else filters.count() - taken.select("filter").distinct().count()


def held_filters(subscriptions: DataFrame) -> DataFrame:
    """topic: filters that anybody ever subscribes to and that may take several topics."""
    return subscriptions.where(~names_one_topic() & sf.col("is_on")).select("topic").distinct()


def taken_topics(filters: DataFrame, topics: DataFrame) -> DataFrame | None:
    """filter, topic: the topics that each filter takes; None if there are no filters.

    filters, topics: distinct ones in a column topic. Content is not looked at.
    """
    first = filters.limit(FEW + 1).toArrow()
    if not first.num_rows:
        return None
    if first.num_rows <= FEW:
        return topics.mapInArrow(_taking_filters(_texts(first)), TAKEN)
    if filters.count() <= topics.count():
        return topics.mapInArrow(_taking_filters(_texts(filters.toArrow())), TAKEN)
    return filters.mapInArrow(_taken(_texts(topics.toArrow())), TAKEN)


def _texts(table: pa.Table) -> list[str]:
    return sorted(table["topic"].to_pylist())


def _taking_filters(filters: list[str]) -> Callable[[Batches], Batches]:
    """Which filters take each topic that passes."""

    def match(batches: Batches) -> Batches:
        index = index_of(filters)
        for batch in batches:
            yield _rows(
                (text, topic)
                for topic in batch["topic"].to_pylist()
                for text, _ in index.taking(topic)
            )

    return match


def _taken(topics: list[str]) -> Callable[[Batches], Batches]:
    """Which topics each filter that passes takes."""

    def match(batches: Batches) -> Batches:
        names = TopicNames(topics)
        for batch in batches:
            yield _rows(
                (text, topic)
                for text in batch["topic"].to_pylist()
                for topic in taken_of(text, names)
            )

    return match


def _rows(pairs: Iterator[tuple[str, str]]) -> pa.RecordBatch:
    filters, topics = tuple(zip(*pairs, strict=True)) or ((), ())
    return pa.RecordBatch.from_pydict(
        {"filter": pa.array(filters, pa.string()), "topic": pa.array(topics, pa.string())}
    )
