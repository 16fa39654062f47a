"""Clients that connect at a second broker while they are at another."""

from __future__ import annotations

import pytest

from meshwright.sim.checkers.doubled import doubled
from meshwright.sim.runs.simulation import simulate
from meshwright.sim.scenario.parameters import SimulationParameters


@pytest.mark.parametrize("mobility", [None, "standard", "home", "prefetching+logging+device"])
def test_each_client_is_served_once_in_the_end_and_keeps_its_session(mobility: str | None) -> None:
    for seed in range(3):
        parameters = SimulationParameters(
            design="tree",
            brokers=5,
            clients=12,
            duration_s=4.0,
            faults=("crash", "partition", "disconnect") if seed else (),
            mobility=mobility,
            doubles_per_s=8.0,
        )
        result = simulate(parameters, seed)
        assert result.messages["mobility"] > 0
        for failure in result.failures:
            pytest.fail("\n".join((failure.command, *failure.sentences, *failure.story)))


def test_a_client_at_two_brokers_is_named_with_both() -> None:
    (violation,) = doubled({"c1": ["b0", "b2"], "c2": ["b1"]}, 1_000_000)
    assert violation.sentence.startswith("c1 is connected at b0 and b2")
    assert violation.client == "c1"
