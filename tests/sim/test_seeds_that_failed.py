"""Seeds in which something was lost once, each with what it found out."""

from __future__ import annotations

import pytest

from meshwright.sim.parameters import SimulationParameters
from meshwright.sim.simulation import simulate


@pytest.mark.parametrize(
    ("design", "seed"),
    [pytest.param("chord", 765, id="joined-while-a-restarted-origin-announced-its-topic")],
)
def test_what_was_lost_once_is_delivered(design: str, seed: int) -> None:
    parameters = SimulationParameters(
        design=design,
        duration_s=6.0,
        faults=("crash", "partition"),
        mobility="standard",
        reconfigure=True,
    )
    assert not simulate(parameters, seed).failures
