from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests that use Spark go to one process, so that one virtual machine starts."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


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
