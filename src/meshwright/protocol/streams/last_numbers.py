"""The last number of each key, in bounded memory."""

from __future__ import annotations

REMEMBERED_MIN = 65_536


class LastNumbers:
    """The last numbers of at least REMEMBERED_MIN keys, those used last, and at most twice as many.

    Memory is bounded, as a client that comes with a new session each time is a new key each time.
    """

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        self._newer: dict[tuple[str, str], int] = {}
        self._older: dict[tuple[str, str], int] = {}

    def __len__(self) -> int:
        return len(self._newer) + len(self._older)

    def get(self, key: tuple[str, str], default: int) -> int:
        """The last number of a key, or the default if none is remembered."""
        found = self._newer.get(key)
        return self._older.get(key, default) if found is None else found

    def __setitem__(self, key: tuple[str, str], number: int) -> None:
        newer = self._newer
        newer[key] = number
        if len(newer) >= REMEMBERED_MIN:
            self._older, self._newer = newer, {}

    def advance(self, key: tuple[str, str], below: int, number: int) -> bool:
        """Set the number of a key if it was below another one; False if it was not."""
        newer = self._newer
        found = newer.get(key)
        if found is None:
            found = self._older.get(key, 0)
        if found >= below:
            return False
        newer[key] = number
        if len(newer) >= REMEMBERED_MIN:
            self._older, self._newer = newer, {}
        return True
