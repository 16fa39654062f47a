"""Every design through the same laws, with everything that may go wrong at once."""

from __future__ import annotations

import pytest

from meshwright.lab.swarm import Case, run_case
from meshwright.model.designs import candidates

SEEDS_A_DESIGN = 12


@pytest.mark.parametrize("design", candidates())
def test_nothing_acknowledged_is_lost_doubled_or_reordered(design: str) -> None:
    for seed in range(SEEDS_A_DESIGN):
        result = run_case(Case(design, seed)).result
        assert result.totals["acknowledged"] > 0
        for failure in result.failures:
            pytest.fail("\n".join((failure.command, *failure.sentences, *failure.story)))
