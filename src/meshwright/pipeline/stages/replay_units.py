"""One unit of a replay: some topics in the slots of an epoch, laid side by side and counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.model.identifiers import TopicName
from meshwright.model.interests import Int64Array, interests_from_pairs
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.brokers import Brokers
from meshwright.pipeline.frames import numbered
from meshwright.planning.evaluation.forwarding import Carrier

# Kinds of events: a broker wants a topic for some slots, its subscription changes in a slot, and
# publications in a slot.
SPAN, CHANGE, PUBLISHED = 0, 1, 2
MICROSECONDS_PER_MS = 1000.0


@dataclass(frozen=True, slots=True, eq=False)
class ReplayUnit:
    """A column of the snapshot is one topic at the start of one slot; those of a topic in a row.

    publications: (topic, slot). change_columns, change_brokers: (change,).
    """

    snapshot: Snapshot
    publications: Int64Array
    change_columns: Int64Array
    change_brokers: Int64Array


def replay_unit(events: pa.Table, brokers: Brokers, slot_first: int, slot_count: int) -> ReplayUnit:
    """The unit of events of any kind, in any order; its slots are numbered from slot_first on."""
    names, topics = numbered(events["topic"])
    kinds, hosts, firsts, seconds = (
        events[name].to_numpy() for name in ("kind", "broker", "first", "second")
    )
    columns = topics * slot_count + firsts - slot_first
    spans, changes, published = (kinds == kind for kind in (SPAN, CHANGE, PUBLISHED))
    lengths = (seconds - firsts)[spans]
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    counts = np.zeros(len(names) * slot_count, dtype=np.int64)
    counts[columns[published]] = seconds[published]
    interests = interests_from_pairs(
        np.repeat(hosts[spans], lengths),
        np.repeat(columns[spans], lengths) + steps,
        brokers.count,
        len(counts),
    )
    snapshot = Snapshot(
        brokers=brokers.names,
        topics=tuple(TopicName(name) for name in names for _ in range(slot_count)),
        interests=interests,
        publications=counts.astype(np.float64),
        delays_ms=brokers.delays_ms,
        coordinates=brokers.coordinates,
    )
    return ReplayUnit(
        snapshot,
        counts.reshape(len(names), slot_count),
        columns[changes].astype(np.int64),
        hosts[changes].astype(np.int64),
    )


def counted(unit: ReplayUnit, carrier: Carrier) -> dict[str, list[int] | list[None]]:
    """Whole numbers for every slot, by the names of REPLAYED.

    A delivery that the overlay misses, as interests changed since it was made, is sent straight
    from where the publication entered: a message and a hop.
    """
    traffic = carrier.traffic()
    slot_count = unit.publications.shape[1]

    def by_slot(values: NDArray[np.integer]) -> list[int]:
        weighted = values.reshape(unit.publications.shape) * unit.publications
        return [int(value) for value in weighted.sum(axis=0)]

    delay_us: list[int] | list[None] = [None] * slot_count
    if traffic.delay_ms is not None and unit.snapshot.delays_ms is not None:
        straight_ms = traffic.missed * float(unit.snapshot.delays_ms.mean())
        delays_us = np.rint((traffic.delay_ms + straight_ms) * MICROSECONDS_PER_MS)
        delay_us = by_slot(delays_us.astype(np.int64))
    # By topic, as some designs look at all its members first.
    order = np.argsort(unit.change_columns, kind="stable")
    columns, brokers = unit.change_columns[order], unit.change_brokers[order]
    management = np.zeros(slot_count, dtype=np.int64)
    np.add.at(management, columns % slot_count, carrier.subscriptions(columns, brokers))
    return {
        "publications": [int(value) for value in unit.publications.sum(axis=0)],
        "messages_internal": by_slot(traffic.internal),
        "messages_external": by_slot(traffic.external),
        "messages_entry": by_slot(traffic.entry),
        "messages_repair": by_slot(traffic.missed),
        "deliveries": by_slot(traffic.delivered + traffic.missed),
        "delay_hops": by_slot(traffic.delay_hops + traffic.missed),
        "delay_tree_hops": by_slot(traffic.delay_tree_hops + traffic.missed),
        "delay_us": delay_us,
        "management_messages": [int(value) for value in management],
    }
