"""What a program prints must not depend on how Python hashes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def outputs_under_two_hash_seeds(program: str) -> set[str]:
    """All that a program prints in two processes; one element if they agree."""
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
