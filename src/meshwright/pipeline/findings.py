"""What a replay found, small enough to be looked at: its lines, its verdicts, its histories."""

from __future__ import annotations

import msgspec
import numpy as np
from pyspark.sql import functions as sf

from meshwright.model.overlay import Overlay
from meshwright.model.price import PriceWeights
from meshwright.pipeline.replay import TraceReplay
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
        (row.placement, row.design): msgspec.convert(row.asDict(), ReplayedCandidate)
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
    overlays = [msgspec.json.decode(row.overlay, type=Overlay) for row in chain.collect()]
    return replay.today or overlays[0], overlays[-1]
