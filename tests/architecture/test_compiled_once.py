"""Two processes of a test run that need the same kernel at the same time compile it once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from meshwright.kernel_cache import VARIABLE

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from compiled_once import compile_once
compile_once()
from numba import njit

@njit(cache=True)
def inner(number):
    return number + 1

@njit(cache=True)
def outer(number):
    return inner(number) + inner(number * 1.5)

print("ready", flush=True)
sys.stdin.readline()
assert outer(3) == 9.5
print(sum(outer.stats.cache_misses.values()))
"""


def test_two_processes_that_need_a_kernel_at_once_compile_it_once(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests"))),
        VARIABLE: str(tmp_path / "kernels"),
    }
    both = [
        subprocess.Popen(
            [sys.executable, str(program)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sorted(process.communicate()[0] for process in both) == ["0\n", "1\n"]
