"""Where compiled kernels are kept: a folder for each state of their sources.

Numba looks only at the file of a kernel to decide whether its compiled form is still good, but a
kernel contains those that it calls from other files. A change there, as after a pull, would leave
compiled kernels that disagree, and crash. So the folder's name follows all the sources together.
On executors our package is an archive, at another path in every run: there its content counts.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FunctionType

VARIABLE = "NUMBA_CACHE_DIR"
LOCATORS_VARIABLE = "NUMBA_CACHE_LOCATOR_CLASSES"
LOCATORS_OF_NUMBA = (
    "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator,"
    "ZipCacheLocator"
)
PREFIX = "kernels-"


def choose_folder() -> None:
    """Name the folder to Numba, unless the user did, and remove those of former sources."""
    package = Path(__file__).parent
    if package.parent.is_file():
        ours = f"{__name__}.{ArchivedKernel.__name__}"
        os.environ.setdefault(LOCATORS_VARIABLE, f"{ours},{LOCATORS_OF_NUMBA}")
    if VARIABLE in os.environ:
        return
    parent = _first_writable(package / "__pycache__", Path.home() / ".cache" / "meshwright")
    folder = parent / f"{PREFIX}{_sources_digest(package)}"
    if not folder.exists():
        for former in parent.glob(f"{PREFIX}*"):
            shutil.rmtree(former, ignore_errors=True)
    os.environ[VARIABLE] = str(folder)


class ArchivedKernel:
    """What Numba asks of a kernel in our archive: where its compiled form is, and if it is good."""

    def __init__(self, kernel: FunctionType) -> None:
        self._first_line = kernel.__code__.co_firstlineno
        self._digest = _sources_digest(Path(__file__).parent)
        self._folder = Path(os.environ[VARIABLE]) / self._digest / kernel.__module__

    @classmethod
    def from_function(cls, kernel: FunctionType, file: str) -> ArchivedKernel | None:
        """Nothing for what is not in our archive or cannot be kept: then Numba asks the next."""
        found = cls(kernel)
        is_ours = file.startswith(str(Path(__file__).parents[1]))
        return found if is_ours and _is_writable(found._folder) else None

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return str(self._first_line)


def _sources_digest(package: Path) -> str:
    """All kernels: in an archive what they are, else where and how old they are."""
    digest = hashlib.sha1(usedforsecurity=False)
    archive = package.parent
    for line in _archived(archive) if archive.is_file() else _stamps(package):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:16]


@cache
def _archived(archive: Path) -> tuple[str, ...]:
    with zipfile.ZipFile(archive) as packed:
        return tuple(
            f"{entry.filename} {entry.CRC} {entry.file_size}"
            for entry in packed.infolist()
            if "/kernels/" in entry.filename
        )


def _stamps(package: Path) -> Iterator[str]:
    for path in sorted(package.glob("**/kernels/*.py")):
        stamp = path.stat()
        yield f"{path} {stamp.st_mtime_ns} {stamp.st_size}"


def _first_writable(*folders: Path) -> Path:
    for folder in folders:
        if _is_writable(folder):
            return folder
    return Path(tempfile.mkdtemp(prefix="meshwright-"))


def _is_writable(folder: Path) -> bool:
    """True once the folder is there and ours to use."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK)
