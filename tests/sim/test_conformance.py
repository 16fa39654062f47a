"""Every design through the same laws, with everything that may go wrong at once."""

from __future__ import annotations

import pytest

from meshwright.lab.swarm import Case, run_case
from meshwright.model.designs import candidates
from meshwright.model.designs import design as design_named

# Designs that are forwarded by one machine differ in their overlays only, so they share its mixes.
SEEDS_A_MACHINE = 12
SEEDS_A_DESIGN = 4


@pytest.mark.parametrize("design", candidates())
def test_nothing_acknowledged_is_lost_doubled_or_reordered(design: str) -> None:
    machine = design_named(design).forwarding
    sharing = sum(design_named(name).forwarding == machine for name in candidates())
    for seed in range(max(SEEDS_A_DESIGN, -(-SEEDS_A_MACHINE // sharing))):
        result = run_case(Case(design, seed)).result
        assert result.totals["acknowledged"] > 0
        for failure in result.failures:
            pytest.fail("\n".join((failure.command, *failure.sentences, *failure.story)))
