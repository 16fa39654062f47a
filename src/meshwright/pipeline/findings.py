"""What a replay found, small enough to be looked at: its lines, its verdicts, its histories."""

from __future__ import annotations

import numpy as np
from pyspark.sql import functions as sf

from meshwright.files.decoding import converted, decoded
from meshwright.model.identifiers import TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.replay import TraceReplay
from meshwright.planning.changes.proposal import Circumstances, judged_plan
from meshwright.planning.changes.towards import plan_towards
from meshwright.planning.replay_judgement import (
    LineSlots,
    ReplayedCandidate,
    ReplayRecommendation,
    ReplayWish,
    judge_replay,
    line_name,
    slot_costs,
)

METRICS_OF_PRICES = (
    "placement", "design", "slot", "publications", "messages_internal", "messages_external",
    "messages_entry", "messages_repair", "delay_hops", "deliveries", "management_messages",
    "reconfiguration_messages",
)  # fmt: skip


def compared(replay: TraceReplay) -> tuple[list[ReplayedCandidate], ReplayRecommendation]:
    """The lines of the comparison in the order that was asked for, and the verdicts on them."""
    rows = {
        (row.placement, row.design): converted(row.asDict(), ReplayedCandidate)
        for row in replay.tables["comparison"].collect()
    }
    candidates = [rows[p, d] for p in replay.placements for d in replay.designs]
    wish = ReplayWish(k=replay.parameters.overlay.k, weights=replay.parameters.weights())
    slots = _slots(replay, wish.weights)
    count = replay.brokers.count
    return candidates, judge_replay(candidates, wish, broker_count=count, slots=slots)


def _slots(replay: TraceReplay, weights: PriceWeights) -> dict[str, LineSlots]:
    """What the slots of each line cost, by its name; a row for each slot, design and placement."""
    compared = sf.col("slot") >= replay.parameters.time.warmup_slots
    found = replay.tables["metrics"].where(compared).select(*METRICS_OF_PRICES).toArrow()
    rows = found.to_pandas()
    return {
        line_name(str(placement), str(design)): slot_costs(
            {name: slots[name].to_numpy(np.float64) for name in METRICS_OF_PRICES[3:]},
            weights,
        )
        for (placement, design), slots in rows.sort_values("slot").groupby(["placement", "design"])
    }


def histories(
    replay: TraceReplay, design: str, names: list[str]
) -> dict[str, dict[str, list[float]]]:
    """Some metrics of one design by placement and name, slot by slot."""
    rows = replay.tables["metrics"].where(sf.col("design") == design).orderBy("slot").collect()
    return {
        placement: {
            name: [float(row[name]) for row in rows if row.placement == placement] for name in names
        }
        for placement in replay.placements
    }


def before_and_after(replay: TraceReplay, placement: str, design: str) -> tuple[Overlay, Overlay]:
    """The overlay that stood first and the one that a design ended with."""
    rows = replay.tables["overlays"].where(sf.col("placement") == placement)
    chain = rows.where(sf.col("design") == design).select("epoch", "overlay").orderBy("epoch")
    overlays = [decoded(row.overlay, Overlay) for row in chain.collect()]
    return replay.today or overlays[0], overlays[-1]


def recommended_plan(replay: TraceReplay, found: ReplayRecommendation) -> Plan | None:
    """From what stands, or where the recommended design began, to what it ended with.

    It is priced by what brokers want and expect in the last epoch, under the placement that is
    recommended; clients are not moved by it.
    """
    if found.placement is None or found.design is None:
        return None
    before, after = before_and_after(replay, found.placement, found.design)
    snapshot = _last_snapshot(replay, found.placement)
    weights = replay.parameters.weights()
    plan = plan_towards(before, after, snapshot, weights)
    return judged_plan(plan, (snapshot, snapshot), weights, Circumstances())


def _last_snapshot(replay: TraceReplay, placement: str) -> Snapshot:
    """Who wants what as the last epoch begins, and what is expected of it."""
    last = replay.timeline.epoch_count - 1
    rows = replay.tables["snapshots"].where(sf.col("placement") == placement)
    table = rows.where(sf.col("epoch") == last).select("broker", "topic", "publications").toArrow()
    names = replay.brokers.names
    topics = tuple(TopicName(name) for name in sorted(set(table["topic"].to_pylist())))
    numbers = {name: number for number, name in enumerate(topics)}
    expected = np.zeros(len(topics))
    columns = np.array([numbers[name] for name in table["topic"].to_pylist()], dtype=np.int64)
    expected[columns] = table["publications"].to_numpy()
    order = {str(name): number for number, name in enumerate(names)}
    brokers = np.array([order[name] for name in table["broker"].to_pylist()], dtype=np.int64)
    interests = interests_from_pairs(brokers, columns, len(names), len(topics))
    return Snapshot(
        names, topics, interests, expected, replay.brokers.delays_ms, replay.brokers.coordinates
    )
