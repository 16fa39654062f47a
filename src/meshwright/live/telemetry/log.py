"""What happens, as JSON lines: a time, a broker, a fixed event name, and its fields."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

import msgspec

from meshwright.errors import OperatorError

SECOND_US = 1_000_000


class Log:
    """Writes one line an event, to a file or to the standard error."""

    def __init__(self, broker: str, path: Path | None) -> None:
        self._broker = broker
        try:
            self._out: TextIO = sys.stderr if path is None else path.open("a", encoding="utf-8")
        except OSError as error:
            raise OperatorError(
                f"{path}: the log cannot be written ({error.strerror}); choose another file."
            ) from error

    def event(self, time_us: int, name: str, **fields: Any) -> None:
        """Write one event."""
        moment = datetime.fromtimestamp(time_us / SECOND_US, UTC)
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "broker": self._broker,
            "event": name,
            **fields,
        }
        self._out.write(msgspec.json.encode(line).decode() + "\n")
        self._out.flush()

    def record(self, time_us: int, record: Any) -> None:
        """Write what the broker itself reports; its kind is the name of the event."""
        fields = msgspec.to_builtins(record)
        fields = fields if isinstance(fields, dict) else {"fields": fields}
        self.event(time_us, type(record).__name__, **fields)

    def close(self) -> None:
        if self._out is not sys.stderr:
            self._out.close()
