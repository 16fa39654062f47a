"""What is made of a period: the test whether planning is worth while, and a plan if it passes.

Files are named by the end of the period, so whoever judges it again writes the same files: a batch
that Spark repeats after a crash changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from meshwright.errors import OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.documents import document_bytes
from meshwright.files.plans import read_plan
from meshwright.files.writing import write_whole
from meshwright.filters.taking import asks_content, pairs_taken, topics_taken
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Float64Array, Snapshot
from meshwright.model.times import SECOND_US
from meshwright.pipeline.tables.trace_brokers import measured_delays
from meshwright.pipeline.watching.clockwork import Clockwork, as_time, moment
from meshwright.pipeline.watching.watch_record import record_batch
from meshwright.planning.changes.network import PlanWish
from meshwright.planning.changes.proposal import Circumstances, propose

OF_PERIODS = ("want", "publish", "broker")
Decision = Literal["planned", "nothing better", "too few brokers"]


class PeriodRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in a period and what came of it; batch is the one that judged it.

    content: subscriptions of brokers that take only some messages of their topics; all are counted.
    topics_unwanted: those that are published and that nobody wants. filters_idle: those that take
    no topic which is known.
    """

    begin: str
    end: str
    batch: int
    brokers: int
    topics: int
    interests: int
    publications: int
    decision: Decision
    summary: str
    plan: str | None
    content: int = 0
    topics_unwanted: int = 0
    filters_idle: int = 0


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges periods; a plan that was written is taken to be carried out.

    source: the overlay before the first plan, or None for where the design begins. telemetry: where
    delays between brokers are found, if they were measured.
    """

    plans: Path
    clockwork: Clockwork
    wish: PlanWish
    source: Overlay | None
    seed: int
    telemetry: Path | None = None

    def judge(self, found: pa.Table, batch: int) -> None:
        """Judge all periods of a batch, the earliest first, and note what became of rows."""
        is_of_period = pc.is_in(found["kind"], pa.array(OF_PERIODS))
        judged = found.filter(is_of_period)
        for period in sorted(set(judged["period"].to_pylist())):
            rows = judged.filter(pc.equal(judged["period"], period))
            self._judge_period(int(period), rows, batch)
        others = found.filter(pc.invert(is_of_period))
        record_batch(self.plans, others.to_pylist(), batch)

    def _judge_period(self, period: int, rows: pa.Table, batch: int) -> None:
        begin_us, end_us = (one * self.clockwork.period_us for one in (period, period + 1))
        name = f"{moment(end_us):%Y%m%dT%H%M%S%fZ}"
        record_path = self.plans / f"period-{name}.json"
        self._refuse_second(record_path, batch)
        source = self._source(name)
        snapshot = snapshot_of_findings(rows, self.clockwork, source)
        if self.telemetry is not None:
            snapshot = replace(
                snapshot, delays_ms=measured_delays(self.telemetry, snapshot.brokers)
            )
        plan = self._plan(snapshot, source, period)
        record = PeriodRecord(
            begin=as_time(begin_us),
            end=as_time(end_us),
            batch=batch,
            brokers=len(snapshot.brokers),
            topics=len(snapshot.topics),
            interests=snapshot.interests.pair_count,
            publications=int(sum(rows["amount"].to_pylist())),
            decision=_decision(plan),
            summary="" if plan is None else plan.summary,
            content=sum(asks_content(wanted) for _, wanted in _wanted(rows)),
            topics_unwanted=snapshot.topics_unwanted,
            filters_idle=snapshot.filters_idle or 0,
            plan=f"plan-{name}.json" if plan is not None and plan.steps else None,
        )
        contents = {record_path: document_bytes(record)}
        if plan is not None and record.plan is not None:
            contents = {self.plans / record.plan: document_bytes(plan)} | contents
        write_whole(contents)

    def _plan(self, snapshot: Snapshot, source: Overlay | None, period: int) -> Plan | None:
        if len(snapshot.brokers) < 2:
            return None
        is_known = source is not None and set(source.brokers) == set(snapshot.brokers)
        period_us = self.clockwork.period_us
        around = Circumstances(
            source=source if is_known else None,
            horizon_s=period_us / SECOND_US,
            data_until_us=(period + 1) * period_us,
            seed=self.seed,
        )
        return propose(snapshot, self.wish, around)

    def _source(self, name: str) -> Overlay | None:
        """The target of the last plan before a period, whatever came after it."""
        earlier = sorted(
            path for path in self.plans.glob("plan-*.json") if path.name < f"plan-{name}.json"
        )
        return read_plan(earlier[-1]).target if earlier else self.source

    def _refuse_second(self, record: Path, batch: int) -> None:
        """A period comes once; again only if Spark repeats the batch that judged it."""
        if not record.exists():
            return
        known = decoded(record.read_bytes(), PeriodRecord)
        if known.batch != batch:
            raise OperatorError(
                f"{record}: this period was judged already, in another run; choose an empty folder."
            )


def snapshot_of_findings(rows: pa.Table, clockwork: Clockwork, source: Overlay | None) -> Snapshot:
    """Who wants what at the end of a period, and what the next one is expected to publish where."""
    published = _of(rows, "publish").select(["broker", "topic", "rate"]).to_pylist()
    rates: dict[str, float] = {}
    for row in published:
        rates[row["topic"]] = rates.get(row["topic"], 0.0) + row["rate"]
    wanted = _wanted(rows)
    pairs = pairs_taken(wanted, rates)
    known = () if source is None else source.brokers
    heard = {broker for broker in rows["broker"].to_pylist() if broker is not None}
    brokers = (*known, *sorted(heard - set(known)))
    topics = sorted({topic for _, topic in pairs} | set(rates))
    filters = {filter_ for _, filter_ in wanted}
    broker_numbers = {name: number for number, name in enumerate(brokers)}
    topic_numbers = {name: number for number, name in enumerate(topics)}
    entering = np.zeros((len(brokers), len(topics)), dtype=np.float64)
    for row in published:
        # Where nobody knows, publications may enter anywhere.
        at = slice(None) if row["broker"] is None else broker_numbers[row["broker"]]
        share = row["rate"] / (len(brokers) if row["broker"] is None else 1)
        entering[at, topic_numbers[row["topic"]]] += share * clockwork.period_slots
    return Snapshot(
        tuple(BrokerName(name) for name in brokers),
        tuple(TopicName(name) for name in topics),
        interests_from_pairs(
            np.array([broker_numbers[broker] for broker, _ in pairs], dtype=np.int64),
            np.array([topic_numbers[topic] for _, topic in pairs], dtype=np.int64),
            len(brokers),
            len(topics),
        ),
        np.array(
            [rates.get(topic, 0.0) * clockwork.period_slots for topic in topics], dtype=np.float64
        ),
        publishers=_places(entering, published),
        filters_idle=sum(not taken for taken in topics_taken(filters, topics).values()),
    )


def _places(entering: Float64Array, published: list[dict[str, Any]]) -> Float64Array | None:
    """Publications by broker and topic; None where no place is known."""
    return entering if any(row["broker"] is not None for row in published) else None


def _of(rows: pa.Table, kind: str) -> pa.Table:
    return rows.filter(pc.equal(rows["kind"], kind))


def _wanted(rows: pa.Table) -> list[tuple[str, str]]:
    """Brokers and what they want, topics or filters, sorted."""
    wanted = _of(rows, "want")
    return sorted(set(zip(wanted["broker"].to_pylist(), wanted["topic"].to_pylist(), strict=True)))


def _decision(plan: Plan | None) -> Decision:
    if plan is None:
        return "too few brokers"
    return "planned" if plan.steps else "nothing better"
