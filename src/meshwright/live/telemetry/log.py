"""What happens, as JSON lines: a time, a broker, a fixed event name, and its fields."""

from __future__ import annotations

import errno
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.writing import private_opener
from meshwright.model.times import SECOND_US

OFTEN = ("Refused", "Dropped", "QueueRecord", "HeldBackRecord", "TopicCohesion", "TurnedAway")


class Log:
    """Writes one line an event, to a file or to the standard error; broker None: of a manager.

    Lines that cannot be written, on a full disk for one, are left out, and counted in the next one.
    """

    def __init__(self, broker: str | None, path: Path | None) -> None:
        self._broker = broker
        # By name of an event that comes often: when it was last written, and how many were not.
        self._unsaid: dict[str, tuple[int, int]] = {}
        self._left_out = 0
        self._is_cut = False
        try:
            self._out: BinaryIO | None = None if path is None else _appending(path)
        except OSError as error:
            raise OperatorError(
                f"{path}: the log cannot be written ({error.strerror}); choose another file."
            ) from error

    def event(self, time_us: int, name: str, **fields: Any) -> None:
        """Write one event."""
        moment = datetime.fromtimestamp(time_us / SECOND_US, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            **({} if self._broker is None else {"broker": self._broker}),
            "event": name,
            **fields,
        }
        if self._left_out:
            line["left_out"] = self._left_out
        try:
            self._write(msgspec.json.encode(line) + b"\n")
        except OSError:
            self._left_out += 1
        else:
            self._left_out = 0

    def _write(self, line: bytes) -> None:
        if self._out is None:
            sys.stderr.write(line.decode())
            sys.stderr.flush()
            return
        # What was cut short is a line of its own.
        line = b"\n" * self._is_cut + line
        written = self._out.write(line)
        self._is_cut = written < len(line)
        if self._is_cut:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def record(self, time_us: int, record: Any) -> None:
        """Write what the broker itself reports; its kind is the name of the event.

        Of what messages and queues bring about, one line a second is written, which says how many
        were not.
        """
        name = type(record).__name__
        if name in OFTEN:
            last_us, unsaid = self._unsaid.get(name, (-SECOND_US, 0))
            if 0 <= time_us - last_us < SECOND_US:
                self._unsaid[name] = (last_us, unsaid + 1)
                return
            self._unsaid[name] = (time_us, 0)
        else:
            unsaid = 0
        fields = msgspec.to_builtins(record)
        fields = fields if isinstance(fields, dict) else {"fields": fields}
        if unsaid:
            fields["unsaid"] = unsaid
        self.event(time_us, name, **fields)

    def close(self) -> None:
        if self._out is not None:
            self._out.close()


def _appending(path: Path) -> BinaryIO:
    return open(path, "ab", buffering=0, opener=private_opener)
