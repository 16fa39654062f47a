"""A file of user names and hashes, one a line: `name:hash`.

Hashes are argon2's, or those of Mosquitto's password_file: `$7$` (PBKDF2 with SHA-512) and `$6$`
(SHA-512 with a salt). Checking a password takes tens of milliseconds on purpose, so it is never
done on the event loop.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode
from functools import cache
from pathlib import Path

import argon2

from meshwright.errors import InputFileError, OperatorError
from meshwright.files.reading import name_fault, read_text
from meshwright.files.writing import write_whole

ARGON2 = "$argon2"
MOSQUITTO = ("$6$", "$7$")
SHA512_BYTES = 64
ITERATIONS_MAX = 10_000_000

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
        if found is not None and found.startswith(ARGON2):
            return _is_argon2(found, password)
        # An unknown name, and a hash that is quickly computed, take as long as any other.
        _is_argon2(_nobody(), password)
        return found is not None and _is_mosquitto(found, password)


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


def hash_fault(found: str) -> str | None:
    """Why nobody's password could be held against a hash, if so."""
    if not found.startswith((ARGON2, *MOSQUITTO)):
        return "the password is not hashed in a way that is known here"
    try:
        if found.startswith(ARGON2):
            argon2.extract_parameters(found)
            return None
        iterations, salt, digest = _parts(found)
    except (ValueError, argon2.exceptions.InvalidHashError):
        return "the hash is damaged"
    is_whole = salt and len(digest) == SHA512_BYTES and 0 <= iterations <= ITERATIONS_MAX
    return None if is_whole else "the hash is damaged"


def _is_argon2(found: str, password: bytes) -> bool:
    try:
        return _HASHER.verify(found, password)
    except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
        return False


def _is_mosquitto(found: str, password: bytes) -> bool:
    iterations, salt, digest = _parts(found)
    if iterations:
        computed = hashlib.pbkdf2_hmac("sha512", password, salt, iterations)
    else:
        computed = hashlib.sha512(password + salt).digest()
    return hmac.compare_digest(computed, digest)


def _parts(found: str) -> tuple[int, bytes, bytes]:
    """Iterations, 0 for a plain digest, salt and digest of one of Mosquitto's hashes."""
    _, kind, *iterations, salt, digest = found.split("$")
    if len(iterations) != (kind == "7"):
        raise ValueError(found)
    count = int(iterations[0]) if iterations else 0
    if iterations and count < 1:
        raise ValueError(found)
    return count, b64decode(salt, validate=True), b64decode(digest, validate=True)


def _read(path: Path) -> dict[str, str]:
    hashes: dict[str, str] = {}
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        user, colon, found = line.partition(":")
        if not colon or not user or hash_fault(found) is not None:
            raise InputFileError(
                str(path),
                "this is no user with a hash that is known here",
                remedy="use meshwright passwd to write the file",
                line=number,
            )
        if user in hashes:
            raise InputFileError(
                str(path), f"{user!r} stands here twice", remedy="remove one line", line=number
            )
        hashes[user] = found
    return hashes


def _write(path: Path, hashes: dict[str, str]) -> None:
    lines = "".join(f"{user}:{found}\n" for user, found in hashes.items())
    write_whole({path: lines.encode("utf-8")}, is_private=True)


@cache
def _nobody() -> str:
    """What a stranger's password is held against: an unknown name takes as long as a known one."""
    return _HASHER.hash("nobody")
