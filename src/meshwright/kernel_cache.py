"""Where compiled kernels are kept: a folder for each state of their sources.

Numba looks only at the file of a kernel to decide whether its compiled form is still good, but a
kernel contains those that it calls from other files. A change there, as after a pull, would leave
compiled kernels that disagree, and crash. So the folder's name follows all the sources together.
Their content counts, not their place: on executors they are in an archive of that run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import zipfile
import zlib
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
    """Name the folder to Numba, unless the user did, and remove those of former sources.

    Every package of kernels asks for it before it loads one.
    """
    ours = f"{__name__}.{KeptKernel.__name__}"
    os.environ.setdefault(LOCATORS_VARIABLE, f"{ours},{LOCATORS_OF_NUMBA}")
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = str(_own_folder())
    if (numba := sys.modules.get("numba")) is not None:  # it has read the environment already
        numba.config.reload_config()


def _own_folder() -> Path:
    package = Path(__file__).parent
    parent = _first_writable(package / "__pycache__", Path.home() / ".cache" / "meshwright")
    folder = parent / f"{PREFIX}{_sources_digest(package)}"
    if not folder.exists():
        for former in parent.glob(f"{PREFIX}*"):
            shutil.rmtree(former, ignore_errors=True)
    return folder


class KeptKernel:
    """What Numba asks of a kernel of ours: where its compiled form is, and whether it is good."""

    def __init__(self, kernel: FunctionType) -> None:
        self._first_line = kernel.__code__.co_firstlineno
        self._digest = _own_digest()
        self._folder = Path(os.environ[VARIABLE]) / self._digest / kernel.__module__

    @classmethod
    def from_function(cls, kernel: FunctionType, file: str) -> KeptKernel | None:
        """Nothing for what is not ours or cannot be kept: then Numba asks the next."""
        if not Path(file).is_relative_to(Path(__file__).parent):
            return None
        found = cls(kernel)
        return found if _is_writable(found._folder) else None

    def get_cache_path(self) -> str:
        return str(self._folder)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_source_stamp(self) -> str:
        return self._digest

    def get_disambiguator(self) -> str:
        return str(self._first_line)


@cache
def _own_digest() -> str:
    return _sources_digest(Path(__file__).parent)


def _sources_digest(package: Path) -> str:
    """The content of all kernels, the same in an archive as in a folder."""
    archive = package.parent
    found = _archived(archive) if archive.is_file() else _unpacked(package)
    lines = "".join(f"{name} {checksum} {size}\n" for name, checksum, size in sorted(found))
    return hashlib.sha1(lines.encode(), usedforsecurity=False).hexdigest()[:16]


def _archived(archive: Path) -> Iterator[tuple[str, int, int]]:
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            if "/kernels/" in entry.filename:
                yield entry.filename, entry.CRC, entry.file_size


def _unpacked(package: Path) -> Iterator[tuple[str, int, int]]:
    for path in package.glob("**/kernels/*.py"):
        content = path.read_bytes()
        yield path.relative_to(package.parent).as_posix(), zlib.crc32(content), len(content)


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
