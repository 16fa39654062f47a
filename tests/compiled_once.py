"""Kernels are compiled by one process of a test run; the others wait for it and load the result.

From a fresh clone all processes meet the same kernels at the same time, and Numba would compile
them in each: minutes of work that is thrown away.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from meshwright.kernel_cache import VARIABLE, choose_folder

LOCKS_NAME = "locks"

_held: set[str] = set()


def compile_once() -> None:
    """Have this process wait where another one compiles the kernel that it needs."""
    choose_folder()
    compile_here = Dispatcher.compile

    def compile_alone(kernel: Dispatcher, signature: Any) -> Any:
        name = f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"
        # The lock of this process first: whoever has that of a file never waits for the former.
        with global_compiler_lock, _alone(name):
            return compile_here(kernel, signature)

    Dispatcher.compile = compile_alone


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """One process at a time; kernels call each other in no circle, so no two wait for each other.

    A kernel that needs itself with other types is compiled inside its own lock.
    """
    if name in _held:
        yield
        return
    folder = Path(os.environ[VARIABLE]) / LOCKS_NAME
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _held.add(name)
        yield
    finally:
        _held.discard(name)
        os.close(descriptor)
