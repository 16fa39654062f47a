"""Where compiled kernels are kept: a folder for each state of their sources.

Numba looks only at the file of a kernel to decide whether its compiled form is still good, but a
kernel contains those that it calls from other files. A change there, as after a pull, would leave
compiled kernels that disagree, and crash. So the folder's name follows all the sources together.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

VARIABLE = "NUMBA_CACHE_DIR"
PREFIX = "kernels-"


def choose_folder() -> None:
    """Name the folder to Numba, unless the user did, and remove those of former sources."""
    if VARIABLE in os.environ:
        return
    package = Path(__file__).parent
    digest = hashlib.sha1(usedforsecurity=False)
    for path in sorted(package.glob("**/kernels/*.py")):
        stamp = path.stat()
        digest.update(f"{path} {stamp.st_mtime_ns} {stamp.st_size}\n".encode())
    parent = _first_writable(package / "__pycache__", Path.home() / ".cache" / "meshwright")
    folder = parent / f"{PREFIX}{digest.hexdigest()[:16]}"
    if not folder.exists():
        for former in parent.glob(f"{PREFIX}*"):
            shutil.rmtree(former, ignore_errors=True)
    os.environ[VARIABLE] = str(folder)


def _first_writable(*folders: Path) -> Path:
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return Path(tempfile.mkdtemp(prefix="meshwright-"))
