"""What the demonstration compiles beside its live part is what its plan uses."""

from __future__ import annotations

import subprocess
import sys

PLANS_AFTER_COMPILING = """
import sys
from numba.core.dispatcher import Dispatcher
from meshwright.lab import compiling
from meshwright.model.designs import candidates

def compiled():
    return {
        (name, kernel.__name__, str(signature))
        for name, module in list(sys.modules.items()) if ".kernels." in name
        for kernel in vars(module).values() if isinstance(kernel, Dispatcher)
        for signature in kernel.signatures
    }

for design in candidates():
    compiling.compile_for_plan(design)
before = compiled()
# As many topics as in the demonstration, of which each broker wants most, and more clients.
compiling.TOPICS, compiling.TOPICS_PER_BROKER, compiling.CLIENTS = 140, 130, 300
for design in candidates():
    compiling.compile_for_plan(design)
print(len(before), sorted(compiled() - before))
"""


def test_a_plan_for_a_larger_network_compiles_nothing_more() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PLANS_AFTER_COMPILING], capture_output=True, text=True, check=True
    )
    count, _, more = run.stdout.strip().partition(" ")
    # Kernels that others call are counted only where nothing was compiled before.
    assert int(count) > 30
    assert more == "[]"
