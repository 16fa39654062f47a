"""A Spark cluster or a Connect server on loopback, as tests start and stop them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pyspark

from meshwright.pipeline.spark.environment import prepare_environment
from quick_spark import QUICK_JAVA, QUICK_QUERIES

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
PATIENCE_S = 400.0
POLL_S = 0.1


class SparkProcesses:
    """Programs of Spark by name, each with all its children in a group of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, kind: str, *words: str) -> None:
        """Start a class of org.apache.spark.deploy; its output goes to a log in the folder."""
        with (self.folder / f"{name}.log").open("wb") as log:
            self._running[name] = subprocess.Popen(
                [str(SPARK_CLASS), f"org.apache.spark.deploy.{kind}", *words],
                env={
                    **os.environ,
                    "SPARK_DAEMON_MEMORY": "640m",
                    "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
                },
                cwd=self.folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        """kill -9 one of them, and its children."""
        process = self._running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def kill_all(self) -> None:
        """What is left of them."""
        for name in list(self._running):
            self.kill(name)

    def wait_until(self, is_ready: Callable[[], bool]) -> None:
        """Ask again and again; give up with what they logged."""
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            try:
                if is_ready():
                    return
            except (OSError, json.JSONDecodeError):  # a starting master has a page before its data
                pass
            time.sleep(POLL_S)
        logs = [path.read_text() for path in sorted(self.folder.glob("*.log"))]
        raise AssertionError("\n".join(["Spark does not start", *logs]))


def mounted(folder: Path) -> dict[str, str]:
    """What makes a folder the address viewfs://far/d."""
    return {"spark.hadoop.fs.viewfs.mounttable.far.link./d": f"file://{folder}"}


@contextmanager
def standalone_cluster(folder: Path, worker_count: int) -> Iterator[tuple[str, SparkProcesses]]:
    """A master and workers, worker-0 and on, of one core each: its address and its processes."""
    with _processes(folder) as spark:
        port, page_port = _free_ports(2)
        master = f"spark://127.0.0.1:{port}"
        host = ("--host", "127.0.0.1")
        spark.start("master", "master.Master", *host, "--port", str(port),
                    "--webui-port", str(page_port))  # fmt: skip
        spark.wait_until(lambda: _alive_workers(page_port) == 0)
        for number in range(worker_count):
            name = f"worker-{number}"
            spark.start(name, "worker.Worker", *host, "--cores", "1", "--memory", "1g",
                        "--webui-port", "0", "--work-dir", str(folder / name), master)  # fmt: skip
        spark.wait_until(lambda: _alive_workers(page_port) == worker_count)
        yield master, spark


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """A Spark Connect server of two cores: its address."""
    with _processes(folder) as spark:
        (port,) = _free_ports(1)
        settings = QUICK_QUERIES | mounted(folder)
        spark.start(
            "connect", "SparkSubmit", "--master", "local[2]", "--driver-java-options", QUICK_JAVA,
            "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
            "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
            "--conf", f"spark.connect.grpc.binding.port={port}",
            *(word for setting in settings.items() for word in ("--conf", "=".join(setting))),
            "--conf", "spark.ui.enabled=false", "spark-internal",
        )  # fmt: skip
        spark.wait_until(lambda: _listens(port))
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def _processes(folder: Path) -> Iterator[SparkProcesses]:
    prepare_environment("local")
    spark = SparkProcesses(folder)
    try:
        yield spark
    finally:
        spark.kill_all()


def _alive_workers(page_port: int) -> int:
    connection = HTTPConnection("127.0.0.1", page_port)
    try:
        connection.request("GET", "/json/")
        return int(json.load(connection.getresponse())["aliveworkers"])
    finally:
        connection.close()


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port)):
        return True


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
