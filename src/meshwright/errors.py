"""The whole error tree; below the root the question is whose fault it is.

MeshwrightError
    CallerError         the code that calls us passed something impossible
    PeerError           another broker or client broke the protocol
    OperatorError       a file, option or setting given by a person is wrong
        InputFileError      with the file, and the line where there is one
    ProblemError        the question itself has no answer (k larger than the network, ...)
"""

from __future__ import annotations


class MeshwrightError(Exception):
    """Root of all errors raised on purpose."""


class CallerError(MeshwrightError):
    """The calling code passed something impossible."""


class PeerError(MeshwrightError):
    """Another broker or client broke the protocol."""


class OperatorError(MeshwrightError):
    """A file, option or setting given by a person is wrong."""


class InputFileError(OperatorError):
    """A file cannot be used: which one, where in it, what is wrong and what to do."""

    def __init__(self, path: str, problem: str, *, remedy: str, line: int | None = None) -> None:
        self.path = path
        self.line = line
        self.problem = problem
        self.remedy = remedy
        where = path if line is None else f"{path}, line {line}"
        super().__init__(f"{where}: {problem}; {remedy}.")


class ProblemError(MeshwrightError):
    """The question itself has no answer."""
