"""The whole error tree; below the root the question is whose fault it is.

MeshwrightError
    CallerError         the code that calls us passed something impossible
        ArgumentError, FilterError, OverlayError    with what is wrong in which of them
    PeerError           another broker or client broke the protocol
        MqttError           a client broke MQTT, with the reason code to answer
    OperatorError       a file, option or setting given by a person is wrong
        InputFileError, SettingError    with the file and the line, or with the key
    ProblemError        the question itself has no answer (k larger than the network, ...)
"""

from __future__ import annotations

FILTER_SHOWN_MAX = 80  # characters of a refused filter that its message repeats


class MeshwrightError(Exception):
    """Root of all errors raised on purpose."""


class CallerError(MeshwrightError):
    """The calling code passed something impossible."""


class ArgumentError(CallerError):
    """An argument is not what it must be: whose, which one, what it is, what it must be."""

    def __init__(self, owner: str, name: str, given: str, wanted: str) -> None:
        self.owner = owner
        self.name = name
        self.given = given
        self.wanted = wanted
        super().__init__(f"{owner}: {name} is {given}; it must be {wanted}.")


class FilterError(CallerError):
    """A text is no topic name or no filter: which one, what is wrong and what to do."""

    def __init__(self, text: str, problem: str, *, remedy: str) -> None:
        self.text = text
        self.problem = problem
        self.remedy = remedy
        shown = text if len(text) <= FILTER_SHOWN_MAX else text[:FILTER_SHOWN_MAX] + "…"
        super().__init__(f"{shown!r}: {problem}; {remedy}.")


class OverlayError(CallerError):
    """An overlay contradicts itself: at which place of it, what is wrong and what to do."""

    def __init__(self, place: tuple[str | int, ...], problem: str, remedy: str) -> None:
        self.place = place
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}; {remedy}.")


class PeerError(MeshwrightError):
    """Another broker or client broke the protocol."""


class MqttError(PeerError):
    """Somebody broke MQTT: how, and with which reason code of MQTT 5 to close the connection."""

    def __init__(self, reason: int, problem: str) -> None:
        self.reason = reason
        self.problem = problem
        super().__init__(f"{problem} (reason code 0x{reason:02X}); the connection is closed.")


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


class SettingError(OperatorError):
    """A setting cannot work: which one, what is wrong and what to do.

    place: the keys on the way to it, and the number of a table among its like.
    """

    def __init__(self, place: tuple[str | int, ...], problem: str, *, remedy: str) -> None:
        self.place = place
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem}; {remedy}.")


class ProblemError(MeshwrightError):
    """The question itself has no answer."""
