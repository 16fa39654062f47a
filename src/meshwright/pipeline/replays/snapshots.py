"""A trace at one moment as planning takes it: Spark gathers, the driver keeps sparse arrays.

A client counts where it is connected; without connections, at the broker of its cell, and without
places either at one drawn by its name. Who is not connected wants nothing now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from meshwright.errors import InputFileError, OperatorError, ProblemError
from meshwright.model.identifiers import ClientName, TopicName
from meshwright.model.interests import Int32Array, Interests, interests_from_pairs
from meshwright.model.schema import (
    CONNECTIONS,
    FRIENDSHIPS,
    POSITIONS,
    PUBLICATIONS,
    SUBSCRIPTIONS,
    Table,
)
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.model.times import SECOND_US
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.replays.parameters import PlacementName
from meshwright.pipeline.replays.wishes import standing_placement
from meshwright.pipeline.stages.homes import asked_homes, located_homes
from meshwright.pipeline.stages.interests import (
    interest_spans,
    located_interests,
    subscribed_interests,
)
from meshwright.pipeline.stages.rates import publication_rates
from meshwright.pipeline.stages.taking import content_count, idle_count
from meshwright.pipeline.stages.visits import cells, visits
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.frames import literal_frame
from meshwright.pipeline.tables.timeline import Timeline
from meshwright.pipeline.tables.trace_brokers import has_brokers, made_brokers, trace_brokers
from meshwright.pipeline.tables.traces import read_table, table_names
from meshwright.planning.changes.clients import Population
from meshwright.planning.changes.expectation import Published
from meshwright.planning.placement.clients import Clients
from meshwright.planning.placement.clusters import nearest_brokers

NUMBERED = "client string, broker int, topic int"
TIMED = (SUBSCRIPTIONS, PUBLICATIONS, POSITIONS, CONNECTIONS)


@dataclass(frozen=True, slots=True)
class Moment:
    """Which moment of a trace, and how rates are estimated until then.

    at_us: what came before this time counts; None for all of the trace. horizon_s: what is planned
    for (T_free). publications_per_slot: of every topic, where nobody recorded publications.
    broker_count: brokers to take where the trace names none.
    """

    at_us: int | None = None
    slot_s: float = 3600.0
    horizon_s: float = 36_000.0
    alpha: float = 0.3
    cell_degrees: float = 1.0
    publications_per_slot: float = 1.0
    broker_count: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.slot_s <= self.horizon_s:
            raise ProblemError(
                f"A slot of {self.slot_s:g} s and a period of {self.horizon_s:g} s do not fit; "
                "choose a slot longer than 0 s and not longer than the period."
            )


class TraceMoment:
    """A trace as it stands at a moment; what is asked for is gathered then."""

    def __init__(
        self,
        session: SparkSession,
        trace: Place,
        moment: Moment,
        brokers: tuple[str, ...] | None = None,
    ) -> None:
        """Brokers: those of an overlay, whose order holds; None for those of the trace."""
        self._session = session
        self._trace = trace
        self._tables = table_names(trace)
        begin_us, end_us = self._span_us(moment)
        self._begin_us = begin_us
        self._moment = replace(moment, at_us=end_us)
        self._at_us = end_us
        self._brokers = self._known_brokers(brokers)

    @property
    def at_us(self) -> int:
        """What came before this time counts."""
        return self._at_us

    @property
    def placement(self) -> PlacementName:
        """The placement that has clients where they are."""
        return standing_placement(self._tables, knows_places=self._knows_places())

    def snapshot(self) -> Snapshot:
        """Who wants what now, and how much of it is expected in the horizon."""
        wanted = self._wants().select("broker", "topic").distinct()
        pairs = wanted.orderBy("broker", "topic").toArrow()
        names = self._brokers.names
        rows = _numbers(pairs["broker"], names, "broker", self._trace)
        expected = self._expected()
        topics = tuple(TopicName(name) for name in sorted({*pairs["topic"].to_pylist(), *expected}))
        columns = _numbers(pairs["topic"], topics, "topic", self._trace)
        return Snapshot(
            names,
            topics,
            interests_from_pairs(rows, columns, len(names), len(topics)),
            self._publications(topics, expected),
            self._brokers.delays_ms,
            self._brokers.coordinates,
            self._content_count(),
            self._publishers(topics, expected),
            self._idle_count(),
        )

    def subscriptions(self) -> float:
        """Changes of interest that are expected in the horizon, as many as there were so far."""
        span_s = (self._at_us - self._begin_us) / SECOND_US
        return self._interests().count() * self._moment.horizon_s / max(span_s, 1.0)

    def population(self, snapshot: Snapshot, cluster_size: int) -> Population:
        """The connected clients by name, with what they want of the snapshot's topics.

        Names become numbers on executors: here there is one row a client, and no text but its name.
        """
        wanted = self._wants().mapInArrow(numbered_wants(snapshot), NUMBERED)
        topics = sf.array_sort(sf.collect_list("topic")).alias("topics")
        rows = wanted.groupBy("client", "broker").agg(topics).orderBy("client").toArrow()
        names = tuple(ClientName(name) for name in rows["client"].to_pylist())
        lists = rows["topics"].combine_chunks()
        offsets = np.concatenate(([0], np.cumsum(lists.value_lengths().to_numpy())))
        columns = lists.flatten().to_numpy()
        brokers = rows["broker"].to_numpy().astype(np.int32)
        interests = Interests(len(snapshot.topics), offsets.astype(np.int64), columns)
        return Population(
            names,
            Clients(interests, brokers, self._local_brokers(names)),
            self._brokers.clusters(cluster_size, self._moment.seed),
        )

    def published(self, slots: int, rows_max: int) -> tuple[Published, ...]:
        """What clients that are connected now published in the last slots, the most of it."""
        if not {PUBLICATIONS.name, CONNECTIONS.name} <= set(self._tables):
            return ()
        since_us = self._at_us - round(slots * self._moment.slot_s * SECOND_US)
        rows = (
            self._read(PUBLICATIONS)
            .where(sf.unix_micros("time") >= since_us)
            .groupBy(sf.col("publisher").alias("client"), "topic")
            .agg(sf.count("*").alias("publications"))
            .join(self._hosts(), on="client", how="inner")
            .orderBy(sf.desc("publications"), "client", "topic")
            .limit(rows_max)
            .select("client", "broker", "topic", "publications")
            .toArrow()
        )
        return tuple(Published(*row.values()) for row in rows.to_pylist())

    def _content_count(self) -> int:
        if SUBSCRIPTIONS.name not in self._tables:
            return 0
        return content_count(self._read(SUBSCRIPTIONS))

    def _idle_count(self) -> int:
        if SUBSCRIPTIONS.name not in self._tables:
            return 0
        is_told = PUBLICATIONS.name in self._tables
        return idle_count(self._read(SUBSCRIPTIONS), self._read(PUBLICATIONS) if is_told else None)

    def _known_brokers(self, names: tuple[str, ...] | None) -> Brokers:
        """Those that are named, with what is known of them; else the trace's, or as many made."""
        read = partial(read_table, self._session, self._trace)
        if has_brokers(self._trace):
            return trace_brokers(self._trace, read, names)
        degrees = self._moment.cell_degrees
        seen = None
        if POSITIONS.name in self._tables:
            seen = visits(cells(read(POSITIONS), degrees))  # of all times, as brokers stand still
        made = made_brokers(self._moment.broker_count, seen, degrees)
        return made if names is None else made.ordered(names)

    def _wants(self) -> DataFrame:
        """client, topic, broker: what is wanted now by those who are connected."""
        hosts = self._hosts()
        if {CONNECTIONS.name, SUBSCRIPTIONS.name} <= set(self._tables):
            # Who is away has no part in what a group shares.
            here = self._read(SUBSCRIPTIONS).join(hosts, on="client", how="left_semi")
            changes = self._subscribed(here)
        else:
            changes = self._interests()
        standing = interest_spans(changes).where("end is null").select("client", "topic")
        return standing.join(hosts, on="client", how="inner")

    def _interests(self) -> DataFrame:
        if SUBSCRIPTIONS.name in self._tables:
            return self._subscribed(self._read(SUBSCRIPTIONS))
        if POSITIONS.name not in self._tables:
            raise InputFileError(
                str(self._trace),
                "the trace has neither subscriptions nor positions, so nobody wants anything",
                remedy="import or generate a trace with subscriptions",
            )
        followed = (
            read_table(self._session, self._trace, FRIENDSHIPS)
            if FRIENDSHIPS.name in self._tables
            else literal_frame(self._session, FRIENDSHIPS, [])
        )
        return located_interests(self._visits(), followed)

    def _subscribed(self, subscriptions: DataFrame) -> DataFrame:
        is_told = PUBLICATIONS.name in self._tables
        return subscribed_interests(subscriptions, self._read(PUBLICATIONS) if is_told else None)

    def _hosts(self) -> DataFrame:
        """client, broker: where everybody is now."""
        if CONNECTIONS.name in self._tables:
            # A broker may notice late that a client has left it for another one.
            last = sf.max(sf.struct("time", "is_on")).alias("last")
            standing = self._read(CONNECTIONS).groupBy("client", "broker").agg(last)
            newest = sf.max(sf.struct("last.time", "broker")).alias("newest")
            hosts = standing.where("last.is_on").groupBy("client").agg(newest)
            return hosts.select("client", "newest.broker")
        if self._knows_places():
            homes = located_homes(self._visits(), self._brokers, self._moment.cell_degrees)
        else:
            homes = asked_homes(self._interests(), self._brokers, self._moment.seed)
        return homes.groupBy("client").agg(sf.max_by("broker", "time").alias("broker"))

    def _knows_places(self) -> bool:
        return POSITIONS.name in self._tables and self._brokers.coordinates is not None

    def _local_brokers(self, names: tuple[ClientName, ...]) -> Int32Array | None:
        """The broker nearest to where each client was seen last; None if one was nowhere."""
        places = self._brokers.coordinates
        if POSITIONS.name not in self._tables or places is None:
            return None
        latest = (
            self._read(POSITIONS)
            .groupBy("client")
            .agg(sf.max(sf.struct("time", "latitude", "longitude")).alias("last"))
            .select("client", "last.latitude", "last.longitude")
            .toArrow()
        )
        rows = {name: row for row, name in enumerate(latest["client"].to_pylist())}
        if any(name not in rows for name in names):
            return None
        seen = np.column_stack((latest["latitude"], latest["longitude"]))
        return nearest_brokers(seen[[rows[name] for name in names]], places)

    def _publications(
        self, topics: tuple[TopicName, ...], expected: dict[str, float]
    ) -> Float64Array:
        """Expected in the horizon: (topic,)."""
        if PUBLICATIONS.name not in self._tables:
            slots = self._moment.horizon_s / self._moment.slot_s
            return np.full(len(topics), self._moment.publications_per_slot * slots)
        return np.array([expected.get(topic, 0.0) for topic in topics], dtype=np.float64)

    def _publishers(
        self, topics: tuple[TopicName, ...], expected: dict[str, float]
    ) -> Float64Array | None:
        """What is expected by where publishers are now, (broker, topic); None if nobody knows.

        Publications of those who are not here now may enter anywhere.
        """
        if not {PUBLICATIONS.name, CONNECTIONS.name} <= set(self._tables):
            return None
        names = self._brokers.names
        counted = (
            self._read(PUBLICATIONS)
            .groupBy(sf.col("publisher").alias("client"), "topic")
            .agg(sf.count("*").alias("publications"))
            .join(self._hosts(), on="client", how="left")
            .groupBy("broker", "topic")
            .agg(sf.sum("publications").alias("publications"))
            .toArrow()
        )
        rows = pc.index_in(counted["broker"], value_set=pa.array(names, pa.string()))
        columns = _numbers(counted["topic"], topics, "topic", self._trace)
        amounts = counted["publications"].to_numpy().astype(np.float64)
        is_here = ~np.asarray(rows.is_null())
        entering = np.zeros((len(names), len(topics)), dtype=np.float64)
        brokers = rows.fill_null(0).to_numpy()
        np.add.at(entering, (brokers[is_here], columns[is_here]), amounts[is_here])
        np.add.at(entering.T, columns[~is_here], amounts[~is_here, None] / len(names))
        known = np.array([expected.get(topic, 0.0) for topic in topics], dtype=np.float64)
        found: Float64Array = entering * (known / np.maximum(entering.sum(axis=0), 1e-300))
        return found

    def _expected(self) -> dict[str, float]:
        """Publications of each topic that was ever published, in the horizon."""
        moment = self._moment
        slots = moment.horizon_s / moment.slot_s
        if PUBLICATIONS.name not in self._tables:
            return {}
        timeline = self._timeline()
        # Periods are as long as the horizon; they end with the moment, so the first may be short.
        length = max(round(slots), 1)
        ends = range((timeline.slot_count - 1) % length + 1, timeline.slot_count + 1, length)
        published = self._read(PUBLICATIONS)
        last = (
            publication_rates(published, timeline, alpha=moment.alpha, period_ends=ends)
            .where(sf.col("slot_end") == timeline.slot_count)
            .select("topic", "rate")
            .toArrow()
        )
        rates = zip(last["topic"].to_pylist(), last["rate"].to_pylist(), strict=True)
        return {topic: rate * slots for topic, rate in rates}

    def _timeline(self) -> Timeline:
        """Slots are counted back from the moment, so that the last one is whole."""
        slot_us = round(self._moment.slot_s * SECOND_US)
        slot_count = max(1, -(-(self._at_us - self._begin_us) // slot_us))
        return Timeline(self._at_us - slot_count * slot_us, slot_us, slot_count, slot_count)

    def _visits(self) -> DataFrame:
        return visits(cells(self._read(POSITIONS), self._moment.cell_degrees))

    def _read(self, table: Table) -> DataFrame:
        """What came before the moment."""
        frame = read_table(self._session, self._trace, table)
        return frame.where(sf.unix_micros("time") < self._at_us)

    def _span_us(self, moment: Moment) -> tuple[int, int]:
        """From the first time of the trace to the moment."""
        ends = [
            read_table(self._session, self._trace, table)
            .agg(
                sf.min(sf.unix_micros("time")).alias("first"),
                sf.max(sf.unix_micros("time")).alias("last"),
            )
            .first()
            for table in TIMED
            if table.name in self._tables
        ]
        known = [end for end in ends if end is not None and end["first"] is not None]
        if not known:
            raise InputFileError(
                str(self._trace),
                "nobody wants or publishes anything in this trace",
                remedy="name another, or wait until clients subscribe and publish",
            )
        first = min(int(end["first"]) for end in known)
        at_us = moment.at_us
        if at_us is None:
            at_us = max(int(end["last"]) for end in known) + 1
        if at_us <= first:
            raise OperatorError(
                f"{self._trace}: nothing has happened by the time that --at names; choose a later."
            )
        return first, at_us


def numbered_wants(
    snapshot: Snapshot,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What clients want and where they are, with the snapshot's numbers of topics and brokers."""
    known = {"broker": pa.array(snapshot.brokers), "topic": pa.array(snapshot.topics)}

    def number(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            places = {
                name: pc.index_in(batch[name], value_set=values) for name, values in known.items()
            }
            assert not any(place.null_count for place in places.values()), "of another trace"
            yield pa.RecordBatch.from_pydict({"client": batch["client"], **places})

    return number


def _numbers(
    column: pa.ChunkedArray, names: tuple[Any, ...], kind: str, trace: Place
) -> Int32Array:
    """The place of every value among the names."""
    places = pc.index_in(column, value_set=pa.array(names, pa.string()))
    if places.null_count:
        stray = column.filter(pc.is_null(places))[0].as_py()
        raise InputFileError(
            str(trace),
            f"the {kind} {stray!r} is not in the overlay or the table of {kind}s",
            remedy=f"give the {kind}s that the trace has",
        )
    numbers: Int32Array = places.to_numpy().astype(np.int32)
    return numbers
