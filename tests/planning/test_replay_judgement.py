from __future__ import annotations

from dataclasses import asdict, dataclass

import msgspec
import numpy as np
import pytest

from meshwright.model.price import PriceWeights
from meshwright.pipeline.replays.findings import METRICS_OF_PRICES
from meshwright.planning.replay_judgement import (
    LineSlots,
    ReplayedCandidate,
    ReplayWish,
    gains_of_moves,
    judge_replay,
    slot_costs,
    slot_noise,
    unpaid_moves,
)


@dataclass
class Line:
    """A line in which a publication costs ten messages and ten hops of delay."""

    placement: str = "static"
    design: str = "chord"
    publications: int = 10
    deliveries: float = 50.0
    subscription_changes: int = 0
    management_messages: int = 20
    messages_internal: float = 40.0
    messages_external: float = 10.0
    messages_entry: float = 20.0
    messages_repair: float = 0.0
    notification_overhead: float = 7.0
    delay_hops: float = 2.0
    delay_tree_hops: float = 2.0
    delay_ms: float | None = None
    hand_overs: int = 0
    load_mean: float = 10.0
    load_deviation: float = 1.0
    reconfigurations: int = 1
    reconfiguration_messages: float = 10.0
    degree_mean: float = 3.0
    degree_max: int = 5
    k_held: int = 1
    load_spread: float = 0.5


def candidate(**changes: object) -> ReplayedCandidate:
    return msgspec.convert(asdict(Line()) | changes, ReplayedCandidate)


def test_the_price_counts_everything_that_was_sent_and_the_delay() -> None:
    found = judge_replay([candidate()], ReplayWish(), broker_count=9)
    assert found.verdicts[0].price == pytest.approx(20.0 + 0.1 * 3.0)
    assert (found.placement, found.design) == ("static", "chord")
    assert "20.30 (6.00 for messages to interested brokers, 1.00 for relays" in found.reason
    assert "10.00 for delay, 2.00 for broker subscriptions, 1.00 for changes" in found.reason


def test_a_client_that_goes_to_another_broker_is_a_message_of_the_price() -> None:
    still, moving = candidate(), candidate(placement="similarity", hand_overs=20)
    found = judge_replay([moving, still], ReplayWish(), broker_count=9)
    staying, going = found.verdicts[1].parts, found.verdicts[0].parts
    assert going.reconfiguration - staying.reconfiguration == pytest.approx(2.0)
    assert found.placement == "static"
    metrics = {name: np.ones(3) for name in METRICS_OF_PRICES[3:]}
    weights = PriceWeights()
    lost = (
        slot_costs(metrics, weights).costs
        - slot_costs({**metrics, "hand_overs": np.zeros(3)}, weights).costs
    )
    assert lost.tolist() == [1.0, 1.0, 1.0]


def slots_of(costs: list[float]) -> LineSlots:
    return LineSlots(np.array(costs), np.ones(len(costs)))


@pytest.mark.parametrize(
    ("later", "told"),
    [
        ([10.0] * 9, "The first slot decides: without it, gm with static placement would be"),
        ([14.0] * 9, ""),
    ],
)
def test_what_the_first_slot_alone_decides_is_told(later: list[float], told: str) -> None:
    lines = [candidate(), candidate(design="gm", messages_external=40.0)]
    slots = {lines[0].name: slots_of([12.0] * 10), lines[1].name: slots_of([900.0, *later])}
    found = judge_replay(lines, ReplayWish(), broker_count=9, slots=slots)
    assert found.design == "chord"
    assert found.first_slot.startswith(told)
    assert bool(found.first_slot) == bool(told)
    once = {name: slots_of([12.0]) for name in slots}
    assert not judge_replay(lines, ReplayWish(), broker_count=9, slots=once).first_slot


def test_a_margin_within_the_noise_over_slots_is_a_tie() -> None:
    lines = [candidate(), candidate(design="gm", messages_external=12.0)]
    ones = np.ones(10)
    steady = {
        line.name: LineSlots(ones * cost, ones)
        for line, cost in zip(lines, (20.0, 20.2), strict=True)
    }
    wish = ReplayWish()
    found = judge_replay(lines, wish, broker_count=9, slots=steady)
    assert [verdict.told for verdict in found.verdicts] == ["best", "yes"]
    rng = np.random.default_rng(1)
    shaken = steady | {lines[1].name: LineSlots(20.2 + rng.normal(0.0, 2.0, 10), ones)}
    found = judge_replay(lines, wish, broker_count=9, slots=shaken)
    assert [verdict.told for verdict in found.verdicts] == ["best", "tie"]
    assert "ties with chord" in found.verdicts[1].sentence
    # Between the two is one that is dearer beyond doubt: who reads that is told why.
    lines.append(candidate(design="mesh", messages_external=11.0))
    shaken[lines[2].name] = LineSlots(ones * 20.1, ones)
    found = judge_replay(lines, wish, broker_count=9, slots=shaken)
    assert [verdict.told for verdict in found.verdicts] == ["best", "tie", "yes"]
    assert "of 3 candidates that fit" in found.reason
    assert "(dearer than some that are no tie, but its price varies more)" in found.reason


def test_the_noise_is_the_spread_of_what_bootstraps_of_slots_say() -> None:
    rng = np.random.default_rng(2)
    published = rng.integers(1, 9, 200).astype(np.float64)
    one, other = (LineSlots(published * rng.normal(5.0, 1.0, 200), published) for _ in range(2))
    differences = []
    for _ in range(2000):
        drawn = rng.integers(0, 200, 200)
        costs = (one.costs - other.costs)[drawn]
        differences.append(costs.sum() / published[drawn].sum())
    assert slot_noise(one, other) == pytest.approx(2 * np.std(differences), rel=0.1)


def test_the_cheapest_line_that_fits_is_recommended_and_the_others_hear_why_not() -> None:
    lines = [
        candidate(),
        candidate(design="gm", messages_external=0.0),
        candidate(placement="similarity", messages_internal=0.0, load_deviation=20.0),
        candidate(design="tree", management_messages=420),
    ]
    found = judge_replay(lines, ReplayWish(), broker_count=9)
    assert (found.placement, found.design) == ("static", "gm")
    assert [verdict.fits for verdict in found.verdicts] == [True, True, False, True]
    assert "mostly for relays" in found.verdicts[0].sentence
    assert "clients crowd on few brokers" in found.verdicts[2].sentence
    assert "mostly for broker subscriptions" in found.verdicts[3].sentence


def test_limits_keep_lines_off_and_nothing_may_fit() -> None:
    for wish, words in (
        (ReplayWish(k=2), "k = 2 is wanted"),
        (ReplayWish(degree_limit=4), "5 links where 4 are allowed"),
        (ReplayWish(load_spread_limit=0.1), "few brokers do most of the work"),
    ):
        found = judge_replay([candidate()], wish, broker_count=9)
        assert found.design is None
        assert found.reason.startswith("No design fits")
        assert words in found.verdicts[0].sentence


def test_a_line_under_which_nothing_paid_says_from_where_on_it_would() -> None:
    lines = [candidate(), candidate(design="dynatops", reconfigurations=0, pays_from=143.2)]
    (sentence,) = unpaid_moves(lines)
    assert sentence.startswith("dynatops with static placement: no move pays below about 143 pub")


def test_a_line_whose_brokers_moved_says_what_that_gained_beside_chord() -> None:
    moving = candidate(design="dynatops", messages_external=2.0, reconfiguration_messages=4.0)
    lines = [candidate(reconfiguration_messages=0.0), moving, candidate(design="gm")]
    (sentence,) = gains_of_moves(lines)
    assert sentence.startswith("dynatops with static placement: 1 change took 4 messages, and all")
    assert "saved 4 messages and hops beside chord (2.1 %)" in sentence
    (lost,) = gains_of_moves([lines[0], candidate(design="dynatops")])
    assert "lost 10 messages" in lost
    assert "expected" not in sentence
    assert "the new places saved nothing of that: what was expected is not what came." in lost
    for external, told in ((6.0, "4 messages and hops of that"), (17.0, "nothing of that")):
        moving = candidate(design="dynatops", messages_external=external)
        (lost,) = gains_of_moves([candidate(reconfiguration_messages=0.0), moving])
        assert f"the new places saved {told}: what was expected is not what came." in lost
