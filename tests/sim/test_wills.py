from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from meshwright.history.history import Willed
from meshwright.history.wills import wills_owed
from meshwright.sim.physics.chance import streams
from meshwright.sim.runs.run import run
from meshwright.sim.runs.simulation import builder_of, judge
from meshwright.sim.scenario.parameters import SimulationParameters
from meshwright.sim.scenario.population import draw_population, with_wills

MORTAL = SimulationParameters(design="chord", clients=16, duration_s=10.0, will_share=0.8)


def test_clients_have_wills_only_if_some_are_to() -> None:
    chances = streams(1)
    drawn = draw_population(MORTAL, chances.topics, chances.clients)
    assert with_wills(drawn, replace(MORTAL, will_share=0.0), chances.wills) == drawn
    mortal = with_wills(drawn, replace(MORTAL, will_share=1.0), chances.wills)
    assert all(one.will is not None for one in mortal.clients)
    assert [one.filters for one in mortal.clients] == [one.filters for one in drawn.clients]


def test_wills_of_all_kinds_are_given_and_connections_end_in_all_ways() -> None:
    wills: list[Willed] = []
    for seed in range(3):
        wills.extend(run(MORTAL, seed, builder_of(MORTAL)).world.history.wills.values())
    assert {one.qos for one in wills} == {0, 1, 2}
    assert {one.delay_us // 1_000_000 for one in wills} >= {0, 1, 2, 4}
    ends = Counter(
        "goodbye" if one.is_taken_back else "abandoned" if one.is_abandoned else "broken"
        for one in wills
        if one.ended_us is not None
    )
    assert all(ends[how] > 5 for how in ("goodbye", "abandoned", "broken"))
    assert all(one.keeper == one.broker for one in wills if one.opened_us is not None)


@pytest.mark.parametrize(
    ("design", "mobility"), [("tree", "home"), ("gm2", "device"), ("hypercube", "standard")]
)
def test_wills_come_when_they_must_and_only_then(design: str, mobility: str) -> None:
    parameters = replace(
        MORTAL,
        design=design,
        mobility=mobility,
        faults=("crash", "partition", "disconnect", "ambush"),
        retained_share=0.2,
        duration_s=6.0,
    )
    owed_count = 0
    for seed in range(3):
        done = run(parameters, seed, builder_of(parameters))
        assert judge(done) == {}, f"seed {seed}"
        owed_count += len(list(wills_owed(done.world.history)))
    assert owed_count > 5
