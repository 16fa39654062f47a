"""Our package, and a user's module, on the executors of a cluster: archives, sent along."""

from __future__ import annotations

import atexit
import importlib
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

PACKAGE = Path(__file__).parents[2]
STAMP = (1980, 1, 1, 0, 0, 0)


def ship_package(session: SparkSession) -> None:
    """Make `import meshwright` work in Python that runs on executors."""
    _ship(session, PACKAGE)


def ship_module(session: SparkSession, module_name: str) -> None:
    """Make a user's own module, or the package it is in, importable on executors.

    What is installed here is expected there too.
    """
    name = module_name.partition(".")[0]
    file = importlib.import_module(name).__file__
    if file is None or name in sys.stdlib_module_names:
        return
    path = Path(file)
    root = path.parent if path.name == "__init__.py" else path
    if root != PACKAGE and "site-packages" not in root.parts:
        _ship(session, root)


def pack_package(archive: Path, root: Path = PACKAGE) -> None:
    """The modules of a package, or one module, in one archive; same sources give same bytes."""
    paths = sorted(root.rglob("*.py")) if root.is_dir() else [root]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in paths:
            name = path.relative_to(root.parent).as_posix()
            packed.writestr(zipfile.ZipInfo(name, STAMP), path.read_bytes())


def _ship(session: SparkSession, root: Path) -> None:
    folder = tempfile.mkdtemp(prefix="meshwright-")
    # A driver serves the archive to executors that come later, so it stays as long as we do.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = Path(folder) / f"{root.stem}.zip"
    pack_package(archive, root)
    session.addArtifacts(str(archive), pyfile=True)
