"""One unit of a replay: some topics in the slots of an epoch, laid side by side and counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from meshwright.model.identifiers import TopicName
from meshwright.model.interests import Int64Array, interests_from_pairs
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.pipeline.tables.frames import numbered
from meshwright.planning.evaluation.forwarding import Carrier

# Kinds of events: a broker wants a topic for some slots, its subscription changes in a slot, and
# an amount of publications in each of some slots, which enter at a broker or ANYWHERE.
SPAN, CHANGE, PUBLISHED = 0, 1, 2
ANYWHERE = -1
MICROSECONDS_PER_MS = 1000.0


@dataclass(frozen=True, slots=True, eq=False)
class ReplayUnit:
    """A column of the snapshot is one topic at the start of a slot in which something happens.

    slots, publications: (column,). change_columns, change_brokers: (change,).
    """

    snapshot: Snapshot
    slot_count: int
    slots: Int64Array
    publications: Int64Array
    change_columns: Int64Array
    change_brokers: Int64Array


def replay_unit(events: pa.Table, brokers: Brokers, slot_first: int, slot_count: int) -> ReplayUnit:
    """The unit of events of any kind, in any order; its slots are numbered from slot_first on.

    A topic that is neither published nor changes in a slot costs nothing there, and has no column.
    """
    names, topics = numbered(events["topic"])
    kinds, numbers, firsts, seconds, amounts = (
        events[name].to_numpy() for name in ("kind", "number", "first", "second", "amount")
    )
    codes = topics * slot_count + firsts - slot_first
    is_span, is_change, is_published = (kinds == kind for kind in (SPAN, CHANGE, PUBLISHED))
    wanted, asks = _slot_by_slot(codes, seconds - firsts, is_span)
    published, told = _slot_by_slot(codes, seconds - firsts, is_published)
    used = np.unique(np.concatenate((published, codes[is_change]))).astype(np.int64)
    is_used = np.isin(wanted, used)
    columns = np.searchsorted(used, published)
    publications = np.zeros(len(used), dtype=np.int64)
    np.add.at(publications, columns, amounts[told])
    interests = interests_from_pairs(
        numbers[asks[is_used]],
        np.searchsorted(used, wanted[is_used]),
        brokers.count,
        len(used),
    )
    snapshot = Snapshot(
        brokers=brokers.names,
        topics=tuple(TopicName(names[topic]) for topic in (used // slot_count).tolist()),
        interests=interests,
        publications=publications.astype(np.float64),
        delays_ms=brokers.delays_ms,
        coordinates=brokers.coordinates,
        publishers=_entering(numbers[told], columns, amounts[told], brokers.count, publications),
    )
    return ReplayUnit(
        snapshot,
        slot_count,
        used % slot_count,
        publications,
        np.searchsorted(used, codes[is_change]),
        numbers[is_change].astype(np.int64),
    )


def _slot_by_slot(
    codes: Int64Array, lengths: Int64Array, is_one: NDArray[np.bool_]
) -> tuple[Int64Array, Int64Array]:
    """Runs of slots as their slots, each with the row of its run."""
    rows = np.flatnonzero(is_one)
    lengths = lengths[rows]
    steps = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(codes[rows], lengths) + steps, np.repeat(rows, lengths)


def _entering(
    hosts: Int64Array,
    columns: Int64Array,
    amounts: Int64Array,
    broker_count: int,
    publications: Int64Array,
) -> Float64Array | None:
    """Publications by the broker where they enter, (broker, column); None if all do so anywhere."""
    is_known = hosts != ANYWHERE
    if not is_known.any():
        return None
    entering = np.zeros((broker_count, len(publications)), dtype=np.float64)
    np.add.at(entering, (hosts[is_known], columns[is_known]), amounts[is_known])
    found: Float64Array = entering + (publications - entering.sum(axis=0)) / broker_count
    return found


def counted(unit: ReplayUnit, carrier: Carrier) -> dict[str, list[int] | list[None]]:
    """Whole numbers for every slot, by the names of REPLAYED.

    A delivery that the overlay misses, as interests changed since it was made, is sent straight
    from where the publication entered: a message and a hop.
    """
    traffic = carrier.traffic()

    def by_slot(values: NDArray[Any], slots: Int64Array = unit.slots) -> list[int]:
        sums = np.zeros(unit.slot_count, dtype=values.dtype)
        np.add.at(sums, slots, values)
        # Whole even where publishers have places: those of all brokers together are counted.
        return [int(value) for value in np.rint(sums)]

    def sent(values: NDArray[Any]) -> list[int]:
        return by_slot(values * unit.publications)

    delay_us: list[int] | list[None] = [None] * unit.slot_count
    if traffic.delay_ms is not None and unit.snapshot.delays_ms is not None:
        straight_ms = traffic.missed * float(unit.snapshot.delays_ms.mean())
        delays_us = np.rint((traffic.delay_ms + straight_ms) * MICROSECONDS_PER_MS)
        delay_us = sent(delays_us.astype(np.int64))
    # By topic, as some designs look at all its members first.
    order = np.argsort(unit.change_columns, kind="stable")
    columns, brokers = unit.change_columns[order], unit.change_brokers[order]
    management = carrier.subscriptions(columns, brokers)
    return {
        "publications": by_slot(unit.publications),
        "messages_internal": sent(traffic.internal),
        "messages_external": sent(traffic.external),
        "messages_entry": sent(traffic.entry),
        "messages_repair": sent(traffic.missed),
        "deliveries": sent(traffic.delivered + traffic.missed),
        "delay_hops": sent(traffic.delay_hops + traffic.missed),
        "delay_tree_hops": sent(traffic.delay_tree_hops + traffic.missed),
        "delay_us": delay_us,
        "management_messages": by_slot(management, unit.slots[columns]),
    }
