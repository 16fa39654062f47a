"""Interests over time: what every client wants, from its subscriptions or from where people are."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.replay_schema import INTERESTS
from meshwright.pipeline.stages.taking import (
    held_filters,
    is_shared,
    known_topics,
    names_one_topic,
    taken_topics,
)
from meshwright.pipeline.tables.frames import conform, one_history

FOR_EVER = "9999-12-31"


def subscribed_interests(subscriptions: DataFrame, published: DataFrame | None = None) -> DataFrame:
    """INTERESTS of subscriptions: a client wants a topic while any of its filters takes it.

    A filter takes topics that are published, or that anybody subscribes to by name. A subscription
    that a group shares is that of the member who has had it longest.
    """
    changed = _subscribed(subscriptions)
    known = known_topics(subscriptions, published)
    taken = taken_topics(held_filters(subscriptions), known)
    if taken is None:
        return conform(changed, INTERESTS)
    held = _once_a_group(interest_spans(changed.where(~names_one_topic())))
    by_filters = held.withColumnRenamed("topic", "filter").join(taken, on="filter", how="inner")
    by_name = interest_spans(changed.where(names_one_topic()))
    moves = _ends(by_name.unionByName(by_filters.select(*by_name.columns)))
    return _reasoned(moves)


def _subscribed(subscriptions: DataFrame) -> DataFrame:
    """client, topic, time, is_on: changes; repeated subscriptions change nothing.

    Of contradicting rows of one moment the subscription holds.
    """
    # Once by client: sums, windows and joins to come are then all at home.
    settled = (
        subscriptions.repartition("client")
        .groupBy("client", "topic", "time")
        .agg(sf.bool_or("is_on").alias("is_on"))
    )
    history = one_history("client", "topic").orderBy("time")
    was_on = sf.coalesce(sf.lag("is_on").over(history), sf.lit(False))
    return settled.withColumn("was_on", was_on).where("is_on != was_on")


def _once_a_group(spans: DataFrame) -> DataFrame:
    """The same spans; of a shared subscription only while no earlier member still has it."""
    members = one_history("topic").orderBy("begin", "client")
    lasting = sf.coalesce("end", sf.lit(FOR_EVER).cast("timestamp"))
    earlier = sf.max(lasting).over(members.rowsBetween(Window.unboundedPreceding, -1))
    shared = (
        spans.where(is_shared())
        .withColumn("begin", sf.greatest("begin", earlier))
        .where(sf.col("begin") < lasting)
    )
    return spans.where(~is_shared()).unionByName(shared)


def located_interests(visits: DataFrame, friendships: DataFrame | None = None) -> DataFrame:
    """INTERESTS of people who follow the cell they are in and those of their friends.

    Nobody follows anything before it was first seen itself. A topic is the name of a cell.
    """
    moves = _moves(visits)
    followed = moves if friendships is None else _with_friends(moves, friendships)
    arrivals = visits.groupBy("client").agg(sf.min("time").alias("arrival"))
    wants = followed.join(arrivals, on="client", how="inner")
    return _reasoned(wants.withColumn("time", sf.greatest("time", "arrival")))


def interest_spans(interests: DataFrame) -> DataFrame:
    """client, topic, begin and end of every interest; end is null where it lasts."""
    history = one_history("client", "topic").orderBy("time")
    return (
        interests.withColumn("end", sf.lead("time").over(history))
        .where("is_on")
        .select("client", "topic", sf.col("time").alias("begin"), "end")
    )


def cell_topic() -> Column:
    """The name of a visit's cell as a topic."""
    return sf.concat_ws("/", sf.lit("cell"), "cell_north", "cell_east").alias("topic")


def _reasoned(moves: DataFrame) -> DataFrame:
    """INTERESTS of who has one reason or more to want a topic; moves: reasons that come and go."""
    wants = (
        moves.repartition("client")
        .groupBy("client", "topic", "time")
        .agg(sf.sum("change").alias("change"))
        .where("change != 0")
    )
    history = one_history("client", "topic").orderBy("time")
    reasons = sf.sum("change").over(history.rowsBetween(Window.unboundedPreceding, 0))
    counted = wants.withColumn("reasons", reasons).withColumn("is_on", sf.expr("reasons > 0"))
    changed = counted.where("(reasons > 0) != (reasons - change > 0)")
    return conform(changed, INTERESTS)


def _ends(spans: DataFrame) -> DataFrame:
    """client, topic, time, change: +1 where a span begins and -1 where it ends."""
    ends = sf.array(
        sf.struct(sf.col("begin").alias("time"), sf.lit(1).alias("change")),
        sf.struct(sf.col("end").alias("time"), sf.lit(-1).alias("change")),
    )
    return (
        spans.select("client", "topic", sf.explode(ends).alias("moved"))
        .select("client", "topic", "moved.time", "moved.change")
        .where("time is not null")
    )


def _with_friends(moves: DataFrame, friendships: DataFrame) -> DataFrame:
    """Everybody's own moves, and for everybody those of the friends."""
    pairs = friendships.select("client", "friend").distinct()
    of_friends = moves.withColumnRenamed("client", "friend").join(pairs, on="friend", how="inner")
    return moves.unionByName(of_friends.select(*moves.columns))


def _moves(visits: DataFrame) -> DataFrame:
    """client, time, topic, change: +1 for the cell that is entered, -1 for the one that is left."""
    journey = Window.partitionBy("client").orderBy("time")
    # Of several visits that begin at one moment only the last has a stay.
    lasting = visits.where("stay_s is null or stay_s > 0")
    entered = lasting.select("client", "time", cell_topic()).withColumn(
        "end", sf.lead("time").over(journey)
    )
    return _ends(entered.withColumnRenamed("time", "begin"))
