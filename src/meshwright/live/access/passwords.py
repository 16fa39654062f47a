"""A file of user names and argon2 hashes, one a line: `name:hash`.

Checking a password takes tens of milliseconds on purpose, so it is never done on the event loop.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import argon2

from meshwright.errors import InputFileError, OperatorError
from meshwright.files.reading import name_fault, read_text
from meshwright.files.writing import write_whole

_HASHER = argon2.PasswordHasher()


class Passwords:
    """Users by name."""

    def __init__(self, hashes: dict[str, str]) -> None:
        self._hashes = hashes

    def has(self, user: str) -> bool:
        """True if there is such a user."""
        return user in self._hashes

    def are_right(self, user: str, password: bytes) -> bool:
        """True if this is the user's password; slow."""
        found = self._hashes.get(user)
        try:
            _HASHER.verify(found or _nobody(), password)
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return False
        return found is not None


def read_passwords(path: Path) -> Passwords:
    """The users of a file."""
    _nobody()
    return Passwords(_read(path))


def set_password(path: Path, user: str, password: bytes) -> bool:
    """Give a user a password, in a new file if need be; True if the user had one before."""
    if fault := name_fault(user):
        raise OperatorError(f"The user name {user!r} {fault}; choose another.")
    if ":" in user:
        raise OperatorError(f"The user name {user!r} holds a colon; choose another.")
    if not password:
        raise OperatorError("The password is empty; choose another.")
    hashes = _read(path) if path.exists() else {}
    had_one = user in hashes
    hashes[user] = _HASHER.hash(password)
    _write(path, hashes)
    return had_one


def remove_user(path: Path, user: str) -> None:
    """Take a user out of a file."""
    hashes = _read(path)
    if hashes.pop(user, None) is None:
        raise OperatorError(f"{path}: there is no user {user!r}; check the name.")
    _write(path, hashes)


def _read(path: Path) -> dict[str, str]:
    hashes: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        user, colon, found = line.partition(":")
        if not colon or not user or not _is_hash(found):
            raise InputFileError(
                str(path),
                "this is no user with an argon2 hash",
                remedy="use meshwright passwd to write the file",
                line=number,
            )
        if user in hashes:
            raise InputFileError(
                str(path), f"{user!r} stands here twice", remedy="remove one line", line=number
            )
        hashes[user] = found
    return hashes


def _is_hash(text: str) -> bool:
    try:
        argon2.extract_parameters(text)
    except argon2.exceptions.InvalidHashError:
        return False
    return True


def _write(path: Path, hashes: dict[str, str]) -> None:
    lines = "".join(f"{user}:{found}\n" for user, found in hashes.items())
    write_whole({path: lines.encode("utf-8")}, is_private=True)


@cache
def _nobody() -> str:
    """What a stranger's password is held against: an unknown name takes as long as a known one."""
    return _HASHER.hash("nobody")
