"""The Java that Spark runs in: started out of reach of Ctrl-C, ended by whoever pressed it.

Spark's own way leaves Java and its Python workers in our group of processes, where a Ctrl-C makes
each of them write how far it was, and handles the signal by calling Java in the middle of a call.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from socketserver import BaseServer
from typing import Any

from py4j.java_gateway import JavaGateway, JVMView
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

from meshwright.errors import CallerError
from meshwright.pipeline.spark.interrupts import interrupts_held

STOP_S = 5.0

_running: list[JavaGateway] = []  # at most one: Spark has one Java in a process


def start_spark(settings: Mapping[str, str]) -> None:
    """Start Java, if it does not run yet, and Spark in it, on which a session can then stand."""
    settled = SparkConf()
    for name, value in settings.items():
        settled.set(name, value)
    if not _running:
        with interrupts_held():
            _running.append(launch_gateway(settled, {"start_new_session": True}))
    with _own_interrupts():
        SparkContext(conf=settled, gateway=_running[0])


def running_java() -> JVMView:
    """The classes of the Java that we started."""
    if not _running:
        raise CallerError("the session was not opened by meshwright.pipeline.spark.session")
    return _running[0].jvm


def end_java() -> None:
    """End Java in the middle of whatever it does; only a process that ends too may do that.

    It is ended also for who presses Ctrl-C again meanwhile.
    """
    with interrupts_held():
        _end_java()


def _end_java() -> None:
    _hear_nothing_more()
    while _running:
        gateway = _running.pop()
        process = gateway.proc
        if process is None:  # it was there before us, and is not ours to end
            continue
        _let_say_nothing_more(gateway.jvm)
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _hear_nothing_more() -> None:
    """Have nobody complain of a connection that Java leaves: counts of its tasks come on one."""
    counting: Any = BaseServer  # a class may be given another method, which its types do not say
    counting.handle_error = lambda *_: None


def _let_say_nothing_more(jvm: JVMView) -> None:
    """Have Java be silent on stderr: its threads complain of being ended."""
    with suppress(Py4JError, OSError):  # it may have ended by itself
        java: Any = jvm.java
        java.lang.System.setErr(java.io.PrintStream(java.io.OutputStream.nullOutputStream()))


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep what happens on Ctrl-C, which Spark would change."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        with suppress(ValueError):  # only the main thread may, and in others Spark does not either
            signal.signal(signal.SIGINT, before)
