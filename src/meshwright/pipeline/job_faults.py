"""Spark's failures as one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from meshwright.errors import InputFileError, OperatorError
from meshwright.pipeline.imports.pieces import CHANGED_FILE
from meshwright.pipeline.places.place import place_of
from meshwright.pipeline.tables.traces import ASIDE
from meshwright.pipeline.tables.values import UNFIT

UNREADABLE_FILE = re.compile(r"Encountered error while reading file (\S+?)\.(?:\s|$)")
CHANGED = re.compile(rf"{CHANGED_FILE} (\S+?)\.(?:\s|$)")
UNFIT_VALUE = re.compile(f"{UNFIT}([^{UNFIT}]*){UNFIT}([^{UNFIT}]*){UNFIT}")
# What the system says of a disk that takes no more.
TAKES_NO_MORE = re.compile(
    "No space left on device|Disk quota exceeded|File too large|Read-only file system"
)
WRITING = re.compile(r"while writing rows to (.+?)\. SQLSTATE")
STAGED = re.compile(rf"/\.([^/]+){re.escape(ASIDE)}/.*$")
PYTHON_WORKER = "exception was thrown from the Python worker"
PYTHON_RAISED = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception): .*$", re.MULTILINE)
REASON_SHOWN_MAX = 300


@contextmanager
def spark_faults() -> Iterator[None]:
    """Turn what Spark raises in a job into an error of ours that says what to do.

    Who is interrupted while a result is fetched hears from Spark that it could not send it.
    """
    try:
        yield
    except (PySparkException, Py4JError) as error:
        if _was_interrupted(error):
            raise KeyboardInterrupt from None
        cause = getattr(error, "java_exception", None)
        text = str(cause) if cause is not None else str(error)
        if (fault := _fault_of_reading(text)) is not None:
            raise fault from error
        if (found := UNFIT_VALUE.search(text)) is not None:
            raise InputFileError(
                _named(found[1]), found[2], remedy="correct the table, or import it anew"
            ) from error
        # Java tells the outermost failure first, and the disk's below it.
        if (found := TAKES_NO_MORE.search(whole := str(error))) is not None:
            raise OperatorError(_unwritable(whole, found[0])) from error
        raise OperatorError(f"Spark could not finish the work ({_reason(text)}).") from error


@contextmanager
def reading_faults() -> Iterator[None]:
    """The same of files that are read in this process."""
    try:
        yield
    except OSError as error:
        if (fault := _fault_of_reading(str(error))) is None:
            raise
        raise fault from error


def _fault_of_reading(text: str) -> InputFileError | None:
    """What is wrong with a text file, if that is what the text says."""
    if (found := UNREADABLE_FILE.search(text)) is not None:
        return InputFileError(
            _named(found[1]), "the file is damaged or cut short", remedy="fetch or make it again"
        )
    if (found := CHANGED.search(text)) is not None:
        return InputFileError(
            _named(found[1]), "the file was written to while it was read", remedy="try again"
        )
    return None


def _was_interrupted(error: BaseException) -> bool:
    """Whether an error came up while a Ctrl-C was on its way."""
    before = error.__context__
    return before is not None and (
        isinstance(before, KeyboardInterrupt) or _was_interrupted(before)
    )


def _unwritable(text: str, reason: str) -> str:
    """Which disk takes no more: that of a table, or the one with what Spark keeps meanwhile."""
    if (found := WRITING.search(text)) is not None:
        where, choice = STAGED.sub(r"/\1", _named(found[1])), "choose another folder"
    else:
        where, choice = "What Spark keeps while it works", "set spark.local.dir to another folder"
    return f"{where}: this cannot be written ({reason.lower()}); make room or {choice}."


def _reason(text: str) -> str:
    """What went wrong, in a line: Java says it first, Python on the last line of its traceback."""
    first = text.strip().splitlines()[0]
    raised = PYTHON_RAISED.findall(text) if PYTHON_WORKER in first else []
    return (raised[-1] if raised else first)[:REASON_SHOWN_MAX]


def _named(file: str) -> str:
    """A file of Spark's by the name that a person gave it."""
    return str(place_of(file) if file.startswith("file:") else unquote(file))
