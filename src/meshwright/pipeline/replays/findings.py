"""What a replay found, small enough to be looked at: its lines, its verdicts, its histories."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf

from meshwright.files.decoding import converted, decoded
from meshwright.model.designs import NOW
from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.price import PriceWeights
from meshwright.pipeline.places.place import Place
from meshwright.pipeline.replays.replay import TraceReplay, replay_moment
from meshwright.pipeline.replays.snapshots import TraceMoment
from meshwright.planning.changes.clients import Population
from meshwright.planning.changes.links import unlinked
from meshwright.planning.changes.proposal import Circumstances, judged_plan
from meshwright.planning.changes.towards import plan_towards_placement
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
    "reconfiguration_messages", "hand_overs",
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


def last_overlay(replay: TraceReplay, placement: str, design: str) -> Overlay:
    """The overlay that a design ended with."""
    rows = replay.tables["overlays"].where(sf.col("placement") == placement)
    last = rows.where(sf.col("design") == design).agg(sf.max_by("overlay", "epoch")).collect()[0]
    return decoded(last[0], Overlay)


class Way(NamedTuple):
    """How to get to what is recommended.

    plan: from what stands, or from no link. judged: the same, or, where nothing stands, what moving
    the clients of the trace alone is worth. before: the line of the comparison from which `judged`
    goes: what stands, or else the recommended design, with clients where they are.
    """

    plan: Plan
    judged: Plan
    before: str


def way_there(replay: TraceReplay, trace: Place, found: ReplayRecommendation) -> Way | None:
    """From what stands, or from no link, to what the recommended design ended with.

    It is priced by what is wanted as the trace ends and expected of an epoch. Clients go from where
    they are then to where the recommended placement has them, those that gain by it.
    """
    if found.placement is None or found.design is None:
        return None
    target = last_overlay(replay, found.placement, found.design)
    weights, chosen = replay.parameters.weights(), replay.parameters.placement
    session = replay.tables["placements"].sparkSession
    moment = replay_moment(replay.parameters, replay.timeline)
    state = TraceMoment(session, trace, moment, replay.brokers.names)
    snapshot = state.snapshot()
    population = state.population(snapshot, chosen.cluster_size)
    seats, placement = _last_seats(replay, found.placement, population), found.placement

    def plan_from(source: Overlay) -> Plan:
        plan, after = plan_towards_placement(
            (source, target), snapshot, population, seats, placement,
            weights=weights, rules=chosen.rules(),
        )  # fmt: skip
        around = Circumstances(data_until_us=state.at_us)
        return judged_plan(plan, (snapshot, after), weights, around)

    if replay.today is not None:
        plan = plan_from(replay.today)
        return Way(plan, plan, line_name(state.placement, NOW))
    before = line_name(state.placement, found.design)
    return Way(plan_from(unlinked(target)), plan_from(target), before)


def _last_seats(replay: TraceReplay, placement: str, population: Population) -> Int32Array:
    """The broker of each client as a placement ends, (client,); whom it has not stays."""
    rows = replay.tables["placements"].where(sf.col("placement") == placement)
    last = rows.groupBy("client").agg(sf.max_by("broker", "time").alias("broker")).toArrow()
    clients = pc.index_in(pa.array(population.names), value_set=last["client"])
    numbers = pc.index_in(last["broker"], value_set=pa.array(replay.brokers.names))
    targets = numbers.take(clients).to_numpy(zero_copy_only=False)
    here = population.clients.brokers
    seats: Int32Array = np.where(np.isnan(targets), here, targets).astype(np.int32)
    return seats
