"""The text of an input file, or one sentence that says why it cannot be read."""

from __future__ import annotations

import gzip
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from meshwright.errors import CallerError, InputFileError, OperatorError, ProblemError

BYTE_ORDER_MARK = "\ufeff"


def read_text(path: Path) -> str:
    """The whole file as text: UTF-8, with or without a byte order mark, unpacked if it is .gz."""
    content = _unpacked(path, read_bytes(path)) if path.suffix == ".gz" else read_bytes(path)
    try:
        return content.decode("utf-8").removeprefix(BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        raise InputFileError(
            str(path),
            "this is not UTF-8 text",
            remedy="save the file as UTF-8",
            line=content.count(b"\n", 0, error.start) + 1,
        ) from None


def read_bytes(path: Path) -> bytes:
    """The whole file as it is."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputFileError(str(path), "there is no such file", remedy="check the name") from None
    except IsADirectoryError:
        raise InputFileError(
            str(path), "this is a folder, not a file", remedy="name a file inside it"
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputFileError(
            str(path),
            f"the file cannot be read ({reason.lower()})",
            remedy="check its name and permissions",
        ) from None


def read_if_there(path: Path) -> bytes | None:
    """The whole file; None if there is none, which is not the same as one that is forbidden."""
    return None if is_absent(path) else read_bytes(path)


def is_absent(path: Path) -> bool:
    """True if nothing has this name; False also where that is nobody's business."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


@contextmanager
def blaming(path: object) -> Iterator[None]:
    """Name the file, by its path or its address, whose content asks for what cannot be."""
    try:
        yield
    except (CallerError, ProblemError) as error:
        raise OperatorError(f"{path}: {error}") from error


def name_fault(name: str) -> str | None:
    """What is wrong with a name of a broker, topic or client, or None."""
    if not name:
        return "is empty"
    if name != name.strip():
        return "begins or ends with a blank"
    if not name.isprintable() and any(
        unicodedata.category(character) in {"Cc", "Cs"} for character in name
    ):
        return "contains a control character"
    return None


def _unpacked(path: Path, content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        raise InputFileError(
            str(path),
            "the name ends in .gz but this is not a whole gzip file",
            remedy="compress it again, or rename it",
        ) from None
