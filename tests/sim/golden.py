"""Are all records of simulated runs as they were at another commit?

`python tests/sim/golden.py COMMIT` runs the same mixes of network, traffic, faults, moves and
changes of overlay with the code of that commit and with the code here. A change that only moves or
renames leaves every digest as it was; a design that only one of the two has is left out. With
--print and names of designs it prints their digests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from meshwright.errors import ProblemError
from meshwright.lab.swarm import cases, mixed, run_swarm

ROOT = Path(__file__).parents[2]
SEEDS = range(1, 21)
PRINT = "--print"


def print_digests(names: list[str]) -> None:
    known = [name for name in names if is_known(name)]
    for case, result in run_swarm(cases(known, SEEDS), processes=os.cpu_count() or 1):
        messages = sum(result.messages.values())
        print(f"{case.design} {case.seed} {result.digest} {messages} messages", flush=True)


def is_known(name: str) -> bool:
    """Whether the code has a design, also that of a commit where designs were listed elsewhere."""
    try:
        mixed(cases([name], SEEDS)[0])
    except ProblemError:
        return False
    return True


def digests_of(source: Path, names: tuple[str, ...]) -> dict[str, str]:
    """What was printed of each run, by its design and seed."""
    run = subprocess.run(
        [sys.executable, __file__, PRINT, *names],
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.rsplit(" ", 3) for line in run.stdout.splitlines()]
    return {line[0]: " ".join(line[1:]) for line in lines}


def compare_with(commit: str) -> None:
    words = ["git", "-C", str(ROOT), "archive", commit, "src"]
    archive = subprocess.run(words, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
        before = digests_of(Path(folder) / "src", candidates())
    after = digests_of(ROOT / "src", candidates())
    both = [run for run in after if run in before]
    differing = [run for run in both if after[run] != before[run]]
    for run in differing:
        print(f"differs from {commit}: {run} {after[run]}")
    print(f"{len(both) - len(differing)} of {len(both)} runs have the records of {commit}.")
    if differing or not both:
        raise SystemExit(1)


if __name__ == "__main__":
    if sys.argv[1] == PRINT:
        print_digests(sys.argv[2:])
    else:
        from meshwright.model.designs import candidates

        compare_with(sys.argv[1])
