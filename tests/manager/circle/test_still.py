"""Predicted and measured cost of a delivery on a still workload, for each way of forwarding.

`python -m benchmarks live_prediction` measures every design so, with brokers as processes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from background_brokers import background_brokers

from meshwright.lab.still import still_costs
from meshwright.manager.network.running import RunningNetwork

BROKER_COUNT = 6


@pytest.mark.parametrize("design", ["dynatops", "pastry", "hypercube", "gm2", "tree", "hierarchy"])
def test_what_a_delivery_costs_is_what_was_predicted(design: str, tmp_path: Path) -> None:
    with background_brokers(design, tmp_path / "network", BROKER_COUNT) as brokers:
        found = still_costs(design, RunningNetwork(brokers.folder), brokers.addresses)
    assert found.outcome.end == "done"
    assert found.outcome.staying == {}
    assert found.faults == ()
    assert found.difference < 0.1
