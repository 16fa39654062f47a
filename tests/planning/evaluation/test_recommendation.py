"""The recommendation follows its rule, and says so in one sentence for each design."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from meshwright.errors import ProblemError
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import candidates
from meshwright.model.snapshot import Snapshot
from meshwright.planning.recommendation import (
    Recommendation,
    Wish,
    judge,
    recommend,
)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return generate_snapshot(40, 20, 4, "zipf", seed=2)


@pytest.fixture(scope="module")
def found(snapshot: Snapshot) -> Recommendation:
    return recommend(snapshot, Wish(), rng=np.random.default_rng(1))


def test_every_design_and_variant_gets_one_sentence(found: Recommendation) -> None:
    assert [verdict.name for verdict in found.verdicts] == list(candidates())
    for verdict in found.verdicts:
        assert verdict.sentence.startswith(f"{verdict.name} ")
        assert verdict.sentence.endswith(".")
        assert ". " not in verdict.sentence


def test_the_chosen_design_has_the_lowest_price_of_those_that_fit(found: Recommendation) -> None:
    fitting = {verdict.name: verdict.price for verdict in found.verdicts if verdict.fits}
    assert found.chosen is not None
    assert fitting[found.chosen] == min(fitting.values())
    assert found.reason.startswith(f"{found.chosen} fits best")


def test_a_price_is_all_messages_and_weighted_delays_of_a_publication(
    snapshot: Snapshot, found: Recommendation
) -> None:
    deliveries = float(snapshot.interests.transposed().counts() @ snapshot.publications)
    per_publication = deliveries / float(snapshot.publications.sum())
    judged = judge(found.candidates, snapshot, Wish(delay_weight=0.25))
    for candidate, verdict in zip(judged.candidates, judged.verdicts, strict=True):
        metrics = candidate.evaluation
        assert verdict.price == pytest.approx(
            metrics.messages_per_publication + 0.25 * metrics.delay_hops_mean * per_publication
        )


def test_only_designs_that_hold_the_wanted_k_fit(snapshot: Snapshot) -> None:
    found = recommend(snapshot, Wish(k=3), rng=np.random.default_rng(1))
    held = {c.name: c.evaluation.k_held for c in found.candidates}
    assert {verdict.name for verdict in found.verdicts if verdict.fits} == {"harary", "best"}
    assert held["harary"] >= 3
    assert held["best"] >= 3
    assert found.chosen in {"harary", "best"}
    assert "can part a topic" in dict_of_sentences(found)["chord"]


def test_limits_rule_designs_out_and_say_so(snapshot: Snapshot, found: Recommendation) -> None:
    by_degree = judge(found.candidates, snapshot, Wish(degree_limit=5))
    for candidate, verdict in zip(by_degree.candidates, by_degree.verdicts, strict=True):
        assert not verdict.fits or candidate.evaluation.degree_max <= 5
    assert "links where 5 are allowed" in dict_of_sentences(by_degree)["chord"]
    by_load = judge(found.candidates, snapshot, Wish(load_spread_limit=0.01))
    assert by_load.chosen is None
    assert by_load.reason.startswith("No design fits")
    assert "load spread" in dict_of_sentences(by_load)["tree"]


def test_progress_hears_each_candidate_once_and_the_same_seed_gives_the_same_answer(
    snapshot: Snapshot, found: Recommendation
) -> None:
    heard: list[str] = []
    again = recommend(snapshot, Wish(), rng=np.random.default_rng(1), progress=heard.append)
    assert heard == list(candidates())
    assert msgspec.json.encode(again) == msgspec.json.encode(found)


def test_a_snapshot_without_publications_is_judged_too(snapshot: Snapshot) -> None:
    silent = Snapshot(
        brokers=snapshot.brokers,
        topics=snapshot.topics,
        interests=snapshot.interests,
        publications=np.zeros(len(snapshot.topics)),
    )
    found = recommend(silent, Wish(), rng=np.random.default_rng(1))
    assert all(verdict.price == 0.0 for verdict in found.verdicts)
    assert found.chosen is not None


def test_a_k_beyond_the_network_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(ProblemError, match="40 brokers cannot hold k = 40"):
        recommend(snapshot, Wish(k=40), rng=np.random.default_rng(1))


def dict_of_sentences(found: Recommendation) -> dict[str, str]:
    return {verdict.name: verdict.sentence for verdict in found.verdicts}
