"""Every mobility policy, on a design of each kind, with faults and changes of overlay."""

from __future__ import annotations

import pytest

from meshwright.errors import ProblemError
from meshwright.sim.runs.simulation import simulate
from meshwright.sim.scenario.parameters import SimulationParameters

FAULTS = ("crash", "partition", "disconnect", "slow", "stuck", "skew", "disk_full")


@pytest.mark.parametrize("design", ["chord", "gm", "tree"])
@pytest.mark.parametrize(
    "mobility",
    ["prefetching", "logging", "home", "device", "watching", "prefetching+logging+device"],
)
def test_no_policy_loses_doubles_or_reorders(design: str, mobility: str) -> None:
    for seed in range(3):
        parameters = SimulationParameters(
            design=design,
            brokers=5,
            clients=12,
            duration_s=5.0,
            faults=FAULTS,
            mobility=mobility,
            moves_per_s=5.0,
            reconfigure=seed == 0,
        )
        result = simulate(parameters, seed)
        assert result.messages["mobility"] > 0
        for failure in result.failures:
            pytest.fail("\n".join((failure.command, *failure.sentences, *failure.story)))


def test_a_simulation_of_an_unknown_policy_has_no_answer() -> None:
    with pytest.raises(ProblemError, match="standard, prefetching, logging, home, device"):
        SimulationParameters(design="chord", mobility="teleport")
