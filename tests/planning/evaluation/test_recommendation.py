"""The recommendation follows its rule, and says so in one sentence for each design."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from meshwright.errors import ProblemError
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.designs import candidates
from meshwright.model.price import PARTS, PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.planning.recommendation import (
    Recommendation,
    Wish,
    candidate,
    in_order,
    judge,
    judged,
    recommend,
)


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    return generate_snapshot(40, 20, 4, "zipf", seed=2)


@pytest.fixture(scope="module")
def found(snapshot: Snapshot) -> Recommendation:
    return recommend(snapshot, Wish(), seed=1)


def test_every_design_and_variant_gets_one_sentence(found: Recommendation) -> None:
    assert [verdict.name for verdict in found.verdicts] == list(candidates())
    for verdict in found.verdicts:
        assert verdict.sentence.startswith(f"{verdict.name} ")
        assert verdict.sentence.endswith(".")
        assert ". " not in verdict.sentence


def test_parts_add_up_to_the_price_and_every_written_digit_is_right(found: Recommendation) -> None:
    for verdict in found.verdicts:
        assert sum(verdict.parts.parts().values()) == pytest.approx(verdict.price)
        for name, value in (verdict.parts.parts() | {"price": verdict.price}).items():
            assert float(verdict.parts.shown()[name]) == pytest.approx(value, abs=0.00501)


def test_the_sentence_has_the_figures_of_its_row(found: Recommendation) -> None:
    (best,) = [verdict for verdict in found.verdicts if verdict.is_best]
    written = best.parts.shown()
    assert f"price of a publication: {written['price']} (" in found.reason
    assert all(written[part] in found.reason for part in PARTS if written[part] != "0.00")


def test_the_first_row_is_the_winner_and_prices_rise_from_there(found: Recommendation) -> None:
    rows = [found.verdicts[at] for at in in_order(found.verdicts)]
    assert rows[0].name == found.chosen
    fitting = [row.price for row in rows if row.fits]
    assert fitting == sorted(fitting)
    assert [row.fits for row in rows] == sorted((row.fits for row in rows), reverse=True)


def test_a_margin_that_other_seeds_make_is_a_tie() -> None:
    snapshot = generate_snapshot(12, 30, 6, "zipf", seed=0)
    drawn = candidate("cycle", snapshot, Wish(), seed=0, seed_count=4)
    assert len(drawn.other_totals) == 3
    dearer = msgspec.structs.replace(drawn, name="other")
    found = judge([drawn, dearer], snapshot, Wish())
    assert [verdict.told for verdict in found.verdicts] == ["best", "tie"]
    assert "as good within the noise: other" in found.reason
    settled = candidate("chord", snapshot, Wish(), seed=0, seed_count=4)
    assert settled.other_totals == ()  # chance has no part in it


def test_a_full_mesh_is_called_one_whatever_its_design() -> None:
    snapshot = generate_snapshot(12, 30, 6, "zipf", seed=0)
    found = judge([candidate("pastry", snapshot, Wish(), seed=0)], snapshot, Wish())
    assert "11 at most, a full mesh" in found.reason
    cheap, dear = (
        judge([found.candidates[0]], snapshot, Wish(weights=PriceWeights(link=link))).verdicts[0]
        for link in (0.0, 1.0)
    )
    assert dear.price - cheap.price == pytest.approx(11.0)


def test_a_star_is_called_one_and_what_its_middle_is() -> None:
    snapshot = generate_snapshot(12, 30, 6, "zipf", seed=0)
    found = judge(
        [candidate("star", snapshot, Wish(), seed=0)], snapshot, Wish(load_spread_limit=None)
    )
    assert "11 at most, a star, in which nothing passes once its middle is lost" in found.reason


def test_what_stands_today_is_a_candidate_that_needs_no_change(snapshot: Snapshot) -> None:
    today = candidate("tree", snapshot, Wish(), seed=0).overlay
    other = candidate("star", snapshot, Wish(), seed=0, today=today)
    assert other.change_messages == len(set(today.links) ^ set(other.overlay.links)) > 0
    now = judged("now", today, snapshot, Wish(), today=today)
    found = judge([now, other], snapshot, Wish())
    assert found.verdicts[0].parts.reconfiguration == 0.0
    publications = float(snapshot.publications.sum())
    assert found.verdicts[1].parts.reconfiguration == other.change_messages / publications


def test_the_chosen_design_has_the_lowest_price_of_those_that_fit(found: Recommendation) -> None:
    fitting = {verdict.name: verdict.price for verdict in found.verdicts if verdict.fits}
    assert found.chosen is not None
    assert fitting[found.chosen] == min(fitting.values())
    assert found.reason.startswith(f"{found.chosen} fits best")


def test_a_price_is_all_messages_and_weighted_delays_of_a_publication(
    snapshot: Snapshot, found: Recommendation
) -> None:
    deliveries = float(snapshot.interests.transposed().counts() @ snapshot.publications)
    publications = float(snapshot.publications.sum())
    weights = PriceWeights(delay=0.25, management=2.0, link=0.5)
    weighed = judge(found.candidates, snapshot, Wish(weights=weights))
    for each, verdict in zip(weighed.candidates, weighed.verdicts, strict=True):
        metrics = each.evaluation
        told = metrics.management_messages_mean * snapshot.interests.pair_count / publications
        assert verdict.price == pytest.approx(
            metrics.messages_per_publication
            + 0.25 * metrics.delay_hops_mean * deliveries / publications
            + 2.0 * told
            + 0.5 * metrics.degree_mean
        )


def test_only_designs_that_hold_the_wanted_k_fit(snapshot: Snapshot) -> None:
    found = recommend(snapshot, Wish(k=3), seed=1)
    held = {c.name: c.evaluation.k_held for c in found.candidates}
    assert {verdict.name for verdict in found.verdicts if verdict.fits} == {"harary", "best"}
    assert held["harary"] >= 3
    assert held["best"] >= 3
    assert found.chosen in {"harary", "best"}
    assert "can part a topic" in dict_of_sentences(found)["chord"]


def test_limits_rule_designs_out_and_say_so(snapshot: Snapshot, found: Recommendation) -> None:
    by_degree = judge(found.candidates, snapshot, Wish(degree_limit=5))
    for each, verdict in zip(by_degree.candidates, by_degree.verdicts, strict=True):
        assert not verdict.fits or each.evaluation.degree_max <= 5
    assert "links where 5 are allowed" in dict_of_sentences(by_degree)["chord"]
    by_load = judge(found.candidates, snapshot, Wish(load_spread_limit=0.01))
    assert by_load.chosen is None
    assert by_load.reason.startswith("No design fits")
    assert "load spread" in dict_of_sentences(by_load)["tree"]


def test_progress_hears_each_candidate_once_and_the_same_seed_gives_the_same_answer(
    snapshot: Snapshot, found: Recommendation
) -> None:
    heard: list[str] = []
    again = recommend(snapshot, Wish(), seed=1, progress=heard.append)
    assert heard == list(candidates())
    assert msgspec.json.encode(again) == msgspec.json.encode(found)


def test_a_snapshot_without_publications_is_judged_too(snapshot: Snapshot) -> None:
    silent = Snapshot(
        brokers=snapshot.brokers,
        topics=snapshot.topics,
        interests=snapshot.interests,
        publications=np.zeros(len(snapshot.topics)),
    )
    found = recommend(silent, Wish(), seed=1)
    assert all(verdict.price == verdict.parts.links > 0.0 for verdict in found.verdicts)
    assert found.chosen is not None


def test_a_k_beyond_the_network_is_refused(snapshot: Snapshot) -> None:
    with pytest.raises(ProblemError, match="40 brokers cannot hold k = 40"):
        recommend(snapshot, Wish(k=40), seed=1)


def test_a_mesh_is_said_to_be_routed_as_other_graphs_are(snapshot: Snapshot) -> None:
    rows = [candidate(name, snapshot, Wish(), seed=0) for name in ("mesh", "star")]
    mesh, star = judge(rows, snapshot, Wish()).verdicts
    assert "; it is routed as other graphs are, not as bridges would: " in mesh.sentence
    assert "as bridges would" not in star.sentence


def dict_of_sentences(found: Recommendation) -> dict[str, str]:
    return {verdict.name: verdict.sentence for verdict in found.verdicts}
