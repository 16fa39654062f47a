"""Are all records of simulated runs as they were at another commit?

`python tests/sim/golden.py COMMIT` runs the same mixes of network, traffic, faults, moves and
changes of overlay with the code of that commit and with the code here. A change that only moves or
renames leaves every digest as it was. Without a commit it prints the digests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from meshwright.lab.swarm import DESIGNS, cases, run_swarm

ROOT = Path(__file__).parents[2]
SEEDS = range(1, 21)


def print_digests() -> None:
    for case, result in run_swarm(cases(DESIGNS, SEEDS), processes=os.cpu_count() or 1):
        messages = sum(result.messages.values())
        print(f"{case.design} {case.seed} {result.digest} {messages} messages", flush=True)


def digests_of(source: Path) -> list[str]:
    run = subprocess.run(
        [sys.executable, __file__],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()


def compare_with(commit: str) -> None:
    words = ["git", "-C", str(ROOT), "archive", commit, "src"]
    archive = subprocess.run(words, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        before = digests_of(Path(folder) / "src")
    after = digests_of(ROOT / "src")
    differing = [line for line, other in zip(after, before, strict=True) if line != other]
    for line in differing:
        print(f"differs from {commit}: {line}")
    print(f"{len(after) - len(differing)} of {len(after)} runs have the records of {commit}.")
    if differing:
        raise SystemExit(1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        compare_with(sys.argv[1])
    else:
        print_digests()
