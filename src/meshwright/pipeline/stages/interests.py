"""Interests over time: what every client wants, from its subscriptions or from where people are."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from meshwright.model.replay_schema import INTERESTS
from meshwright.pipeline.frames import conform, one_history
from meshwright.pipeline.wildcards import has_wildcard


def subscribed_interests(subscriptions: DataFrame) -> DataFrame:
    """INTERESTS of explicit subscriptions to topics; those with wildcards are left out."""
    return _subscribed(subscriptions.where(~has_wildcard()))


def wildcard_interests(subscriptions: DataFrame) -> DataFrame:
    """The others, with a filter in place of the topic."""
    return _subscribed(subscriptions.where(has_wildcard()))


def _subscribed(subscriptions: DataFrame) -> DataFrame:
    """Repeated subscriptions change nothing.

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
    changed = settled.withColumn("was_on", was_on).where("is_on != was_on")
    return conform(changed, INTERESTS)


def located_interests(visits: DataFrame, friendships: DataFrame | None = None) -> DataFrame:
    """INTERESTS of people who follow the cell they are in and those of their friends.

    Nobody follows anything before it was first seen itself. A topic is the name of a cell.
    """
    moves = _moves(visits)
    followed = moves if friendships is None else _with_friends(moves, friendships)
    arrivals = visits.groupBy("client").agg(sf.min("time").alias("arrival"))
    wants = (
        followed.join(arrivals, on="client", how="inner")
        .withColumn("time", sf.greatest("time", "arrival"))
        .repartition("client")
        .groupBy("client", "topic", "time")
        .agg(sf.sum("change").alias("change"))
        .where("change != 0")
    )
    history = one_history("client", "topic").orderBy("time")
    reasons = sf.sum("change").over(history.rowsBetween(Window.unboundedPreceding, 0))
    counted = wants.withColumn("reasons", reasons).withColumn("is_on", sf.expr("reasons > 0"))
    changed = counted.where("(reasons > 0) != (reasons - change > 0)")
    return conform(changed, INTERESTS)


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


def _with_friends(moves: DataFrame, friendships: DataFrame) -> DataFrame:
    """Everybody's own moves, and for everybody those of the friends."""
    pairs = friendships.select("client", "friend").distinct()
    of_friends = moves.withColumnRenamed("client", "friend").join(pairs, on="friend", how="inner")
    return moves.unionByName(of_friends.select("client", "time", "topic", "change"))


def _moves(visits: DataFrame) -> DataFrame:
    """client, time, topic, change: +1 for the cell that is entered, -1 for the one that is left."""
    journey = Window.partitionBy("client").orderBy("time")
    # Of several visits that begin at one moment only the last has a stay.
    lasting = visits.where("stay_s is null or stay_s > 0")
    entered = lasting.select("client", "time", cell_topic()).withColumn(
        "end", sf.lead("time").over(journey)
    )
    ends = sf.array(
        sf.struct(sf.col("time"), sf.lit(1).alias("change")),
        sf.struct(sf.col("end").alias("time"), sf.lit(-1).alias("change")),
    )
    return (
        entered.select("client", "topic", sf.explode(ends).alias("moved"))
        .select("client", "moved.time", "topic", "moved.change")
        .where("time is not null")
    )
