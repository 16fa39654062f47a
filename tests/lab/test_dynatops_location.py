"""The location experiments: every system is measured, the same again, and claims can be told."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from meshwright.lab.papers.dynatops_location import (
    BOTH,
    CLAIMS,
    DYNATOPS,
    EXPERIMENTS,
    GEOPS,
    measure_systems,
    measure_trace,
    systems,
)

TINY = {"rows": 2, "columns": 5, "cell_degrees": 5.0, "users": 40, "days": 6.0, "free_days": 2.0}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    return pd.DataFrame(measure_systems(seed=3, cluster_size=4, **TINY))


def test_every_system_is_measured_on_the_same_trace(rows: pd.DataFrame) -> None:
    assert list(rows.system) == list(systems(5.0))
    located = rows[rows.system.isin([GEOPS, "Bayeux(loc), base 4", "DYNATOPS(BNR)"])]
    assert located.hand_overs.nunique() == located.brokers_each.nunique() == 1
    static = rows[rows.system == "Bayeux(static), base 16"]
    assert static.hand_overs.tolist() == [0.0]


def test_who_leaves_a_cluster_is_handed_over_by_similarity_too(rows: pd.DataFrame) -> None:
    here = rows.set_index("system")
    assert here.left_clusters[DYNATOPS] <= here.hand_overs[GEOPS]
    assert here.tree_messages[DYNATOPS] < here.management_messages[DYNATOPS]
    assert here.tree_messages[GEOPS] == here.management_messages[GEOPS]


def test_claims_are_numbers_and_a_measure_depends_on_its_arguments_alone(
    rows: pd.DataFrame,
) -> None:
    assert all(math.isfinite(claim.value(rows)) for claim in CLAIMS)
    of_clusters = next(one for one in EXPERIMENTS if one.name == "dynatops-location-clusters")
    swept = pd.concat(
        [
            rows.assign(cluster_size=size, load_weight=weight)
            for size in (2, 4)
            for weight in (0.0, 1.0, 30.0)
        ]
    )
    assert all(math.isfinite(claim.value(swept)) for claim in of_clusters.claims)
    some = pd.DataFrame(measure_systems(seed=3, cluster_size=4, names=BOTH, **TINY))
    again = rows[rows.system.isin(BOTH.split("|"))].reset_index(drop=True)
    pd.testing.assert_frame_equal(some, again)


def test_the_stand_in_has_what_the_paper_says_of_its_trace() -> None:
    found = measure_trace(seed=1, users=2_000)
    of_trace = next(one for one in EXPERIMENTS if one.name == "dynatops-location-trace")
    for claim in of_trace.claims:
        assert claim.least <= claim.value(pd.DataFrame([found])) <= claim.most, claim.says
