"""Every design through the same laws, with everything that may go wrong at once."""

from __future__ import annotations

import pytest

from meshwright.sim.parameters import SimulationParameters
from meshwright.sim.simulation import simulate

DESIGNS = (
    "chord", "tapestry", "pastry", "quadtree", "hypercube",
    "gm", "gm2", "harary", "cycle", "best", "tree",
)  # fmt: skip
FAULTS = ("crash", "partition", "disconnect", "slow", "stuck", "skew", "disk_full")
SEEDS_A_DESIGN = 20


@pytest.mark.parametrize("design", DESIGNS)
def test_nothing_acknowledged_is_lost_doubled_or_reordered(design: str) -> None:
    for seed in range(SEEDS_A_DESIGN):
        parameters = SimulationParameters(
            design=design,
            duration_s=6.0,
            faults=FAULTS[: 1 + seed % len(FAULTS)],
            mobility="standard" if seed % 2 else None,
            reconfigure=seed % 3 == 0,
        )
        result = simulate(parameters, seed)
        assert result.totals["acknowledged"] > 0
        for failure in result.failures:
            pytest.fail("\n".join((failure.command, *failure.sentences, *failure.story)))
