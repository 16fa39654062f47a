"""A file with a token in it: one line, which whoever gives orders shows, and nobody guesses."""

from __future__ import annotations

from pathlib import Path

from meshwright.errors import InputFileError
from meshwright.files.reading import read_bytes

LETTERS_MIN = 16
HOW_TO_MAKE = "make one: head -c 32 /dev/urandom | base64 > token"
# Of letters that a header of HTTP takes as they are.
VISIBLE = frozenset(range(0x20, 0x7F))


def read_token(path: Path, letters_min: int = LETTERS_MIN) -> str:
    """The token of a file; letters_min: 1 for whoever only shows it."""
    token = read_bytes(path).strip()
    if not token or not VISIBLE.issuperset(token):
        raise InputFileError(str(path), "a token is one line of ASCII", remedy=HOW_TO_MAKE)
    if len(token) < letters_min:
        raise InputFileError(
            str(path),
            f"the token has {len(token)} characters and could be guessed, and is to have "
            f"{letters_min} or more",
            remedy=HOW_TO_MAKE,
        )
    return token.decode("ascii")
