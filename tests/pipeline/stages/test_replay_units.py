"""Topics laid side by side against one snapshot a slot, for every design."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from meshwright.model.designs import DESIGNS
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_pairs
from meshwright.model.snapshot import Snapshot
from meshwright.pipeline.stages.replay_units import (
    ANYWHERE,
    CHANGE,
    PUBLISHED,
    SPAN,
    counted,
    replay_unit,
)
from meshwright.pipeline.tables.brokers import Brokers
from meshwright.planning.evaluation.evaluate import (
    carrier_of,
    evaluate,
    forwarding_of,
    management_messages,
)
from meshwright.planning.succession import EpochRules, follow

BROKER_COUNT, TOPIC_COUNT, SLOT_FIRST, SLOT_COUNT = 9, 5, 4, 3
RNG = np.random.default_rng(3)
WANTED = RNG.random((BROKER_COUNT, TOPIC_COUNT, SLOT_COUNT)) < 0.5
PUBLISHED_COUNTS = RNG.integers(0, 4, size=(TOPIC_COUNT, SLOT_COUNT))
CHANGES = [(2, 1, 0), (2, 1, 0), (5, 4, 1), (0, 0, 2), (7, 3, 2)]  # broker, topic, slot
BROKERS = Brokers(
    tuple(BrokerName(f"b{number}") for number in range(BROKER_COUNT)),
    delays_ms=RNG.integers(1, 30, size=(BROKER_COUNT, BROKER_COUNT)).astype(np.float64),
)


def events() -> pa.Table:
    rows = [
        {
            "kind": SPAN,
            "number": b,
            "topic": f"t{t}",
            "first": SLOT_FIRST + s,
            "second": SLOT_FIRST + s + 1,
            "amount": 0,
        }
        for b, t, s in np.argwhere(WANTED).tolist()
    ]
    rows += [
        {
            "kind": CHANGE,
            "number": b,
            "topic": f"t{t}",
            "first": SLOT_FIRST + s,
            "second": SLOT_FIRST + s,
            "amount": 0,
        }
        for b, t, s in CHANGES
    ]
    rows += [
        {
            "kind": PUBLISHED,
            "number": ANYWHERE,
            "topic": f"t{t}",
            "first": SLOT_FIRST + s,
            "second": SLOT_FIRST + s + 1,
            "amount": n,
        }
        for (t, s), n in np.ndenumerate(PUBLISHED_COUNTS)
        if n
    ]
    return pa.Table.from_pylist([rows[index] for index in RNG.permutation(len(rows))])


def slot_snapshot(slot: int) -> Snapshot:
    brokers, topics = np.nonzero(WANTED[:, :, slot])
    return Snapshot(
        BROKERS.names,
        tuple(TopicName(f"t{topic}") for topic in range(TOPIC_COUNT)),
        interests_from_pairs(brokers, topics, BROKER_COUNT, TOPIC_COUNT),
        PUBLISHED_COUNTS[:, slot].astype(np.float64),
        delays_ms=BROKERS.delays_ms,
    )


@pytest.mark.parametrize("design", DESIGNS)
def test_slots_side_by_side_count_what_each_slot_alone_does(design: str) -> None:
    overlay = follow(design, None, slot_snapshot(0), EpochRules(), seed=0).overlay
    unit = replay_unit(events(), BROKERS, SLOT_FIRST, SLOT_COUNT)
    found = counted(unit, carrier_of(overlay, unit.snapshot))
    for slot in range(SLOT_COUNT):
        alone = slot_snapshot(slot)
        expected = evaluate(overlay, alone)
        deliveries = WANTED[:, :, slot].sum(axis=0) @ PUBLISHED_COUNTS[:, slot]
        missed = expected.deliveries_missed
        sums = {
            "messages_internal": expected.messages_internal,
            "messages_external": expected.messages_external,
            "messages_entry": expected.messages_entry,
            "messages_repair": missed,
            "deliveries": float(deliveries),
            "delay_hops": expected.delay_hops_mean * (deliveries - missed) + missed,
            "delay_tree_hops": expected.delay_tree_hops_mean * (deliveries - missed) + missed,
        }
        for name, value in sums.items():
            assert found[name][slot] == pytest.approx(value * BROKER_COUNT), name
        if not missed:
            assert expected.delay_ms_mean is not None
            assert found["delay_us"][slot] == pytest.approx(
                expected.delay_ms_mean * 1000 * deliveries * BROKER_COUNT
            )
        assert found["publications"][slot] == PUBLISHED_COUNTS[:, slot].sum()
        assert found["management_messages"][slot] == sum(
            management_messages(overlay, alone, topic, broker)
            for broker, topic, changed in CHANGES
            if changed == slot
        )


def test_a_unit_without_topics_costs_nothing() -> None:
    unit = replay_unit(events().slice(0, 0), BROKERS, 0, 2)
    for design in ("chord", "hypercube", "gm", "tree"):
        overlay = follow(design, None, slot_snapshot(0), EpochRules(), seed=0).overlay
        found = counted(unit, carrier_of(overlay, unit.snapshot))
        assert all(set(values) == {0} for name, values in found.items()), design


@pytest.mark.parametrize("design", DESIGNS)
def test_publishers_that_have_places_are_counted_message_by_message(design: str) -> None:
    """Of each topic two publications enter at one broker, one at another, and one anywhere."""
    places = [(t % BROKER_COUNT, 2) for t in range(TOPIC_COUNT)], [(7, 1)] * TOPIC_COUNT
    happened = events()
    spans = happened.filter(pc.equal(happened["kind"], SPAN))
    rows = [
        {
            "kind": PUBLISHED,
            "number": b,
            "topic": f"t{t}",
            "first": SLOT_FIRST,
            "second": SLOT_FIRST + 1,
            "amount": n,
        }
        for placed in (*places, [(ANYWHERE, 1)] * TOPIC_COUNT)
        for t, (b, n) in enumerate(placed)
    ]
    told = pa.concat_tables([spans, pa.Table.from_pylist(rows, schema=spans.schema)])
    overlay = follow(design, None, slot_snapshot(0), EpochRules(), seed=0).overlay
    unit = replay_unit(told, BROKERS, SLOT_FIRST, SLOT_COUNT)
    found = counted(unit, carrier_of(overlay, unit.snapshot))
    forwarding = forwarding_of(overlay, slot_snapshot(0))
    sent = 0
    for topic in range(TOPIC_COUNT):
        every = [forwarding.publication(topic, broker).total for broker in range(BROKER_COUNT)]
        known = sum(n * every[broker] for broker, n in (placed[topic] for placed in places))
        sent += BROKER_COUNT * known + sum(every)
    parts = [found[f"messages_{kind}"][0] for kind in ("internal", "external", "entry")]
    assert sum(parts) == sent
    assert found["publications"][0] == 4 * TOPIC_COUNT
