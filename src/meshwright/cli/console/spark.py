"""A command's work on Spark: the session, a bar of Spark's own tasks, and how long it took."""

from __future__ import annotations

import logging
import os
import re
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from meshwright.cli.console.screen import task_bar, working
from meshwright.errors import OperatorError
from meshwright.model.wording import counted
from meshwright.pipeline.places.place import Address, Place
from meshwright.pipeline.spark.interrupts import interrupts_held

if TYPE_CHECKING:
    from meshwright.pipeline.spark.session import Session


# Some million packed rows: half of Java's time at 100,000 of them goes into compiling thoroughly.
SHORT_WORK_BYTES_MAX = 32 * 2**20
SHORT_WORK_ROWS_MAX = 1_000_000
PY4J_COMPLAINTS = ("KeyboardInterrupt", "Exception while sending command")
MEMORY = re.compile(r"([1-9]\d*)([kmgt])b?", re.IGNORECASE)
DRIVER_MEMORY = "spark.driver.memory"
# Spark asks for 450 MiB, and Java keeps some of what it gets to itself.
MEMORY_MIN_MB = 480


@dataclass(frozen=True, slots=True)
class SparkChoice:
    """Where Spark works and how, as the options of a command say."""

    master: str | None = None
    remote: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


def chosen_spark(
    master: str | None,
    remote: str | None,
    conf: list[str] | None = None,
    memory: str | None = None,
    *,
    ui: bool = False,
) -> SparkChoice:
    """What --master, --remote, --conf, --memory and --ui say; refuses what says nothing."""
    settings = {}
    for given in conf or ():
        key, equals, value = given.partition("=")
        if not equals or not key.startswith("spark."):
            raise OperatorError(f"--conf {given}: this sets nothing; write spark.KEY=VALUE.")
        settings[key] = value
    if memory is not None:
        if not MEMORY.fullmatch(memory):
            raise OperatorError(f"--memory {memory}: this is no size; write 800m, 4g, ...")
        settings[DRIVER_MEMORY] = memory
    asked = settings.get(DRIVER_MEMORY, "")
    if 0 < _bytes(asked) < MEMORY_MIN_MB * 2**20:
        option = "--conf spark.driver.memory=" if memory is None else "--memory "
        raise OperatorError(f"{option}{asked}: Spark takes {MEMORY_MIN_MB}m or more; give more.")
    if ui:
        settings["spark.ui.enabled"] = "true"
    return SparkChoice(master, remote, settings)


def _bytes(memory: str) -> int:
    """A size as Spark writes it; 0 for what only Spark can read."""
    size = MEMORY.fullmatch(memory)
    return 0 if size is None else int(size[1]) * 1024 ** (1 + "kmgt".index(size[2].lower()))


class SparkWork:
    """A session to work with; once the work is over, the seconds that it took.

    say: tells whoever waits which part of the work begins.
    """

    def __init__(self, session: Session, say: Callable[[str], None]) -> None:
        self.session = session
        self.say = say
        self.seconds = 0.0

    def told(self, row_count: int) -> str:
        """Rows and elapsed time, for people."""
        return rows_told(row_count, self.seconds)


def rows_told(row_count: int, seconds: float) -> str:
    """Rows and elapsed time, for people."""
    return f"{counted(row_count, 'row')} in {seconds:.1f} s"


def is_for_this_machine(spark: SparkChoice) -> bool:
    """Whether nobody asks for another machine, or for Spark with settings of their own."""
    if spark != SparkChoice():
        return False
    with interrupts_held():
        from meshwright.pipeline.spark.environment import is_this_machine
    return is_this_machine(os.environ.get("SPARK_REMOTE") or os.environ.get("MASTER") or None)


def is_short_work(*inputs: Place) -> bool:
    """Whether files and folders are small enough that starting up costs more than the work.

    What is at an address is not looked at before Spark starts, and taken to be large.
    """
    paths = [place for place in inputs if isinstance(place, Path)]
    files = (
        file
        for path in paths
        for file in (path.rglob("*") if path.is_dir() else (path,))
        if file.is_file()
    )
    size = sum(file.stat().st_size for file in files)
    return len(paths) == len(inputs) and size <= SHORT_WORK_BYTES_MAX


@contextmanager
def opened_session(spark: SparkChoice, *, is_short: bool = False) -> Iterator[Session]:
    """Open the session, and close it again; is_short: it has little to do.

    Where Spark serves its web UI, stderr says where.
    """
    with ExitStack() as opened:
        opened.enter_context(quiet_py4j())
        with working("Starting Spark"):
            with interrupts_held():
                from meshwright.pipeline.spark.environment import memory_bytes
                from meshwright.pipeline.spark.session import page_address, spark_session
            asked = spark.settings.get(DRIVER_MEMORY, "")
            if _bytes(asked) > (there := memory_bytes()):
                typer.echo(
                    f"Spark's driver may take {asked}, and this machine has "
                    f"{there / 2**30:.1f} GiB: it is ended if it takes more.",
                    err=True,
                )
            session = opened.enter_context(
                spark_session(
                    "meshwright",
                    master=spark.master,
                    remote=spark.remote,
                    is_short=is_short,
                    settings=spark.settings,
                )
            )
        if (address := page_address(session)) is not None:
            typer.echo(f"Spark's web UI while it works: {address}", err=True)
        yield session


@contextmanager
def session_work(session: Session, description: str) -> Iterator[SparkWork]:
    """Work on a session that stands, with a bar of how far its jobs are."""
    with interrupts_held():
        from meshwright.pipeline.job_faults import spark_faults
        from meshwright.pipeline.spark.job_status import followed_jobs

    began_s = time.monotonic()
    with task_bar(description) as bar, followed_jobs(session, bar.count), spark_faults():
        work = SparkWork(session, bar.say)
        yield work
    work.seconds = time.monotonic() - began_s


@contextmanager
def spark_work(
    description: str,
    spark: SparkChoice,
    *,
    is_short: bool = False,
    only_in: Place | None = None,
) -> Iterator[SparkWork]:
    """Both at once; the time counts from when the session stands.

    only_in: the folder that no other run may write to meanwhile; one of this machine is looked at
    before Spark starts.
    """
    with ExitStack() as entered:
        if isinstance(only_in, Path):
            entered.enter_context(_alone_in(only_in))
        session = entered.enter_context(opened_session(spark, is_short=is_short))
        if isinstance(only_in, Address):
            entered.enter_context(_alone_in(only_in))
        yield entered.enter_context(session_work(session, description))


def told_stale_pyspark(error: ImportError) -> str | None:
    """Where the pyspark is that Python found before ours and that cannot be imported, if so."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    if not (error.name or "").startswith("pyspark") and not any(
        Path(file).is_relative_to(folder) for file in files
    ):
        return None
    named = [Path(one).absolute() for one in os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    if folder.parent == Path.cwd():
        remedy = "go to another folder"
    elif folder.parent in named:
        remedy = "unset PYTHONPATH"
    else:
        return None
    return f"{folder}: this pyspark stands before the one of Meshwright ({error}); {remedy}."


def _alone_in(folder: Place) -> AbstractContextManager[bool]:
    with interrupts_held():
        from meshwright.pipeline.places.alone import alone_in

    return alone_in(folder)


@contextmanager
def quiet_py4j() -> Iterator[None]:
    """Have Py4J write no traceback when it is interrupted, or Java has ended under it.

    Whoever pressed Ctrl-C knows, and of a Java that ended by itself a sentence of ours tells. What
    Py4J says under its own name comes as late as when the process ends, so that it stays unheard.
    """
    logging.getLogger("py4j").propagate = False
    root = logging.getLogger()
    root.addFilter(_is_news)
    try:
        yield
    finally:
        root.removeFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith(PY4J_COMPLAINTS)
