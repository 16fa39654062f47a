from __future__ import annotations

import functools
import gc
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import typer.testing
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from compiled_once import compile_once
from quick_spark import QUICK_JAVA, QUICK_QUERIES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer

# The same examples on every machine: a failure seen once is seen by everybody.
# The first example of a test may compile a kernel, so no example has a deadline.
settings.register_profile(
    "replayable",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("replayable")

QUICK_START = {
    **QUICK_QUERIES,
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.default.parallelism": "2",
    "spark.driver.memory": "1g",  # what waits to be collected takes gigabytes otherwise
}
# What waits for live brokers, or works in Python on Spark's behalf, has a virtual machine apart.
BESIDE_SPARK = (
    "tests/cli/test_demo.py",
    "tests/cli/test_sweep_command.py",
    "tests/lab/experiments/test_running.py",
)
ON_SPARK = ("tests/pipeline/", "tests/cli/test_replay_commands.py")
# Goes to one process: commands that need the same kernels.
TOGETHER = ("tests/architecture/test_docs.py",)
# How far all other tests stand back, so that these long chains do not end last.
STEP_BACK = 5


# Tests leave few circles: looking for them every 700 objects takes a fifth of a simulated run.
ALLOCATIONS_BETWEEN = 20_000


class Companions(LoadScopeScheduling):
    """Tests on Spark go to one process, as its virtual machine gets quicker with every query.

    The groups of pytest-xdist are marks that pytest 9.2 no longer hands on.
    """

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)


def scope_of(nodeid: str) -> str:
    """Tests that go to one process, one after the other; most go by themselves."""
    file = nodeid.partition("::")[0]
    if file in TOGETHER:
        return file
    if file in BESIDE_SPARK:
        return "beside spark"
    return "spark" if file.startswith(ON_SPARK) else nodeid


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes minutes in one process begins first, so that nobody waits for it in the end."""
    items.sort(key=lambda item: scope_of(item.nodeid) == item.nodeid)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A process of a whole run that has no chain to work off leaves the cores to those that have.

    Nobody may take that back, so a process that is through with its chain stands back, too.
    """
    is_one_of_many = "PYTEST_XDIST_WORKER" in os.environ
    if is_one_of_many and scope_of(item.nodeid) == item.nodeid and os.nice(0) < STEP_BACK:
        os.nice(STEP_BACK)


def pytest_configure() -> None:
    """Commands that tests start can be interrupted, also where this runs in the background.

    No kernel is compiled by two processes, and the tree of commands, which never changes, is made
    once: that takes longer than most commands.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    compile_once()
    typer.testing._get_command = functools.cache(typer.testing._get_command)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What stands now stays: the collector need not look at it again, and looks less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(ALLOCATIONS_BETWEEN, *gc.get_threshold()[1:])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Companions:
    return Companions(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """As many as cores; two more for all tests, as live brokers and Spark are waited for."""
    return len(os.sched_getaffinity(0)) + 2 * (config.option.numprocesses == "auto")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of a test run; commands called in the same process use it too."""
    from meshwright.pipeline.spark.session import open_session

    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("JAVA_HOME", raising=False)
        environment.setenv("PATH", "/usr/bin:/bin")
        session = open_session("meshwright-tests", master="local[2]", settings=QUICK_START)
    yield session
    session.stop()
