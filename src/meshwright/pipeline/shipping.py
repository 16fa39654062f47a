"""Our package on the executors of a cluster: one archive, sent with the session."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path

from pyspark.sql import SparkSession

PACKAGE = Path(__file__).parents[1]
STAMP = (1980, 1, 1, 0, 0, 0)


def ship_package(session: SparkSession) -> None:
    """Make `import meshwright` work in Python that runs on executors."""
    folder = tempfile.mkdtemp(prefix="meshwright-")
    # A driver serves the archive to executors that come later, so it stays as long as we do.
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = Path(folder) / "meshwright.zip"
    pack_package(archive)
    session.addArtifacts(str(archive), pyfile=True)


def pack_package(archive: Path) -> None:
    """The package's modules in one archive; the same sources give the same bytes."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(PACKAGE.rglob("*.py")):
            name = (Path(PACKAGE.name) / path.relative_to(PACKAGE)).as_posix()
            packed.writestr(zipfile.ZipInfo(name, STAMP), path.read_bytes())
