"""The one Spark session: embedded by default, on a cluster or a Connect server where asked.

Without a master or a remote the environment decides (SPARK_REMOTE, MASTER, SPARK_CONF_DIR,
PYSPARK_SUBMIT_ARGS), and where that is silent too, all cores of this machine do the work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import NoReturn, TypeAlias

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from meshwright.errors import OperatorError
from meshwright.pipeline.spark.environment import (
    forget_empty,
    is_this_machine,
    prepare_environment,
    refuse_silence,
)
from meshwright.pipeline.spark.java import end_java, start_spark
from meshwright.pipeline.spark.settings_folder import default_settings
from meshwright.pipeline.spark.shipping import ship_package

Session: TypeAlias = SparkSession  # for rooms that do not speak Spark themselves

SETTINGS_EVERYWHERE = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # Spark's own form of a time is one that other readers of Parquet have given up.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
}
SETTINGS_OF_A_DRIVER = {
    "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.executorEnv.TZ": "UTC",
}
SETTINGS_OF_THIS_MACHINE = {
    "spark.ui.enabled": "false",
    # To open a file costs little here, and to list one is not worth a task: many are read as one.
    "spark.sql.files.openCostInBytes": "16384",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}
# Executors elsewhere need not have our package before a worker starts, and have their own logs.
SETTINGS_OF_THIS_PROCESS = {"spark.python.daemon.module": "meshwright.pipeline.spark.worker_daemon"}
PLACES = {"spark.master": "--master", "spark.remote": "--remote"}
PARTITIONS_PER_CORE = 4
# For a minute's work: what Java compiles thoroughly would not run long enough to pay.
SHORT_WORK = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


def open_session(
    application: str,
    *,
    master: str | None = None,
    remote: str | None = None,
    is_short: bool = False,
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session in UTC with a quiet console; what the user has set in the environment is kept.

    On a cluster or a Connect server our package is sent along. is_short: it has little to do.
    """
    _refuse_both(master, remote)
    _refuse_own_settings(settings or {})
    forget_empty()
    address = remote or master or os.environ.get("SPARK_REMOTE") or os.environ.get("MASTER")
    is_served = remote is not None or (master is None and "SPARK_REMOTE" in os.environ)
    refuse_silence(address)
    prepare_environment(address)
    if master is not None:
        os.environ.pop("SPARK_REMOTE", None)  # what is asked for comes before the environment
    builder = SparkSession.builder.appName(application)
    chosen = {**SETTINGS_EVERYWHERE}
    if not is_served:
        chosen |= SETTINGS_OF_A_DRIVER
        if is_this_machine(address):
            named = default_settings()
            ours = SETTINGS_OF_THIS_MACHINE | (SHORT_WORK if is_short else {})
            if (address or named.get("spark.master", "local")).startswith("local"):
                ours |= SETTINGS_OF_THIS_PROCESS
            chosen |= {name: value for name, value in ours.items() if name not in named}
        chosen |= settings or {}
    try:
        if is_served and address is not None:
            builder = builder.remote(address)
        else:
            place = {} if master is None else {"spark.master": master}
            start_spark({**chosen, "spark.app.name": application, **place})
        session = builder.config(map={**chosen}).getOrCreate()
        if is_served:
            _set_served(session, settings or {})
        _settle(session)
    except (PySparkException, Py4JError, ValueError) as error:
        _refuse(address, error)
    except KeyboardInterrupt:
        end_java()
        raise
    return session


@contextmanager
def spark_session(
    application: str,
    *,
    master: str | None = None,
    remote: str | None = None,
    is_short: bool = False,
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """A session for some work, stopped afterwards; one that runs already is used and left running.

    A running session stands as it stands: a master or settings given beside it change nothing.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        yield running
        return
    session = open_session(
        application, master=master, remote=remote, is_short=is_short, settings=settings
    )
    with ExitStack() as ending:
        ending.callback(_stop, session)
        try:
            yield session
        except KeyboardInterrupt:
            ending.pop_all()  # a session whose Java has ended would warn that nobody answers
            if is_remote():
                cancel_jobs(session)
            end_java()
            raise


def cancel_jobs(session: SparkSession) -> None:
    """Have Spark end what it works on, where nobody waits for it any more."""
    with suppress(PySparkException, Py4JError, OSError):  # it may have ended by itself
        session.interruptAll()


def tag_jobs(session: SparkSession, tag: str) -> None:
    """Have all jobs that this thread begins known by a tag."""
    if is_remote():
        session.addTag(tag)
    else:  # a driver's session would know its tags only in the thread that gave them
        session.sparkContext.addJobTag(tag)


def cancel_tagged(session: SparkSession, tag: str) -> None:
    """Have Spark end the jobs that are known by a tag, whichever threads began them."""
    with suppress(PySparkException, Py4JError, OSError):  # they may have ended by themselves
        if is_remote():
            session.interruptTag(tag)
        else:
            session.sparkContext.cancelJobsWithTag(tag)


def page_address(session: SparkSession) -> str | None:
    """Where the web UI of a driver of our own is, if it has one."""
    return None if is_remote() else session.sparkContext.uiWebUrl


def runs_here(session: SparkSession) -> bool:
    """Whether driver and executors are one process on this machine."""
    return not is_remote() and _master(session).startswith("local")


def _stop(session: SparkSession) -> None:
    with suppress(Py4JError, OSError):  # Java may have ended by itself, and does not answer
        session.stop()


def _settle(session: SparkSession) -> None:
    """What can be known only of a session that runs: how wide a shuffle is, who needs our code."""
    if runs_here(session):
        partitions = "spark.sql.shuffle.partitions"
        if session.conf.get(partitions) == "200":  # Spark's own default suits a cluster
            cores = _core_count(_master(session))
            session.conf.set(partitions, str(PARTITIONS_PER_CORE * cores))
    else:
        ship_package(session)


def _master(session: SparkSession) -> str:
    return session.conf.get("spark.master", "") or ""


def _core_count(place: str) -> int:
    """Cores that local, local[4] or local[*] means."""
    asked = place.removeprefix("local").strip("[]").split(",")[0]
    if asked == "*":
        return len(os.sched_getaffinity(0))
    return int(asked) if asked else 1


def _refuse_both(master: str | None, remote: str | None) -> None:
    if master is not None and remote is not None:
        raise OperatorError("Spark has either a master or a remote; give --master or --remote.")


def _refuse_own_settings(settings: Mapping[str, str]) -> None:
    """Say which settings are not for users: results rest on them, or an option has them."""
    for name in settings:
        if name in SETTINGS_EVERYWHERE:
            raise OperatorError(f"--conf {name}: Meshwright's results rest on it; leave it out.")
        if name in PLACES:
            raise OperatorError(f"--conf {name}: give {PLACES[name]} instead.")


def _set_served(session: SparkSession, settings: Mapping[str, str]) -> None:
    """Settings of a session on a server; some it would pass over, as it has its own."""
    for name, value in settings.items():
        if not session.conf.isModifiable(name):
            raise OperatorError(
                f"{name} cannot be set over Spark Connect; set it where the server is started."
            )
        session.conf.set(name, value)


def _refuse(address: str | None, error: Exception) -> NoReturn:
    """One sentence instead of two stacks of calls."""
    cause = getattr(error, "java_exception", None)
    reason = str(cause.getMessage() if cause is not None else error).strip().splitlines()[0]
    raise OperatorError(
        f"Spark does not start at {address or 'this machine'} ({reason}); "
        "check --master or --remote and the settings in the environment."
    ) from error
