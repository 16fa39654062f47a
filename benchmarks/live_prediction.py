"""What a plan says a delivery will cost beside what it does cost, on a still workload.

For every design a network of brokers, each a process, is measured, planned for, changed under
traffic and measured again; both costs are messages between brokers for each that a client gets.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.table import Row
from meshwright.lab.demo import DemoFolder, DemoParameters, live_network
from meshwright.lab.still import StillCosts, still_costs
from meshwright.manager.network.running import RunningNetwork
from meshwright.model.designs import candidates

BROKERS = 6
OFF_MAX = 0.1


def rows() -> list[Row]:
    return [_row(_costs(design)) for design in candidates()]


def _costs(design: str) -> StillCosts:
    with tempfile.TemporaryDirectory() as root:
        folder = DemoFolder(Path(root))
        folder.prepare()
        parameters = DemoParameters(brokers=BROKERS, design=design)
        with live_network(parameters, folder, is_kept=False) as network:
            addresses = {one.name: str(one.clients) for one in network.brokers}
            return still_costs(design, RunningNetwork(folder.network), addresses)


def _row(found: StillCosts) -> Row:
    predicted, measured = found.predicted, found.measured
    return Row(
        f"{found.design}: messages for a delivery once a plan is in force",
        f"{measured.after:.3f}",
        f"{predicted.after:.3f} predicted, off by less than {OFF_MAX:.0%}",
        met=found.difference < OFF_MAX and not found.faults,
        note=f"off by {found.difference:.1%}; before the plan {measured.before:.3f}, "
        f"{predicted.before:.3f} predicted; {found.outcome.moved} clients moved; "
        f"{len(found.faults)} lost, doubled or reordered",
    )
