from __future__ import annotations

from collections import Counter

from meshwright.lab.swarm import POLICIES, cases, mixed, run_swarm
from meshwright.sim.scenario.faults import FAULTS


def test_a_hundred_seeds_mix_every_fault_policy_and_kind_of_change() -> None:
    drawn = [mixed(case) for case in cases(("chord", "harary", "tree"), range(1, 101))]
    faults = Counter(name for one in drawn for name in one.faults)
    assert set(faults) == set(FAULTS)
    assert {one.mobility for one in drawn} == {None, *POLICIES}
    for name in (
        "reconfigure", "tight", "is_still", "shared_share", "retained_share", "gathers",
        "will_share", "doubles_per_s",
    ):  # fmt: skip
        assert {bool(getattr(one, name)) for one in drawn} == {False, True}
    assert {one.adapts for one in drawn if one.design == "tree"} == {False, True}
    assert {one.k for one in drawn if one.design == "harary"} == {None, 3}


def test_a_seed_is_the_same_trouble_for_every_design() -> None:
    for seed in range(1, 30):
        chord, pastry = (mixed(case) for case in cases(("chord", "pastry"), (seed,)))
        assert chord.faults == pastry.faults
        assert chord.mobility == pastry.mobility


def test_processes_change_neither_the_answers_nor_their_order() -> None:
    chosen = cases(("tree", "gm"), range(16, 19))
    alone = list(run_swarm(chosen))
    together = list(run_swarm(chosen, processes=2))
    assert [one.case for one in together] == chosen
    assert together == alone
