from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

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
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}


class Companions(LoadScopeScheduling):
    """Tests of the pipeline go to one process, which starts one virtual machine; so do a cluster's.

    The groups of pytest-xdist are marks that pytest 9.2 no longer hands on.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file == "tests/pipeline/test_cluster.py":
            return file
        return "pipeline" if file.startswith("tests/pipeline/") else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Companions:
    return Companions(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of a test run; commands called in the same process use it too."""
    from meshwright.pipeline.session import open_session

    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("JAVA_HOME", raising=False)
        environment.setenv("PATH", "/usr/bin:/bin")
        session = open_session("meshwright-tests", master="local[2]", settings=QUICK_START)
    yield session
    session.stop()
