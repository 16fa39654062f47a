"""A connection after the last word to its client: closed so that the client can read that word.

To close while the client still sends would reset the connection, and a reset throws away what the
client has not read yet: the reason why it was sent away. So only the sending half is closed at
first, and what still comes is read and forgotten, within bounds of time and bytes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LINGER_S = 5.0
LINGER_BYTES_MAX = 1 << 24


class Lingering(asyncio.Protocol):
    """Takes a connection over from its line; gone is told when it is lost.

    A client that does not read what was written to it is cut off when the time is over.
    """

    def __init__(
        self, transport: asyncio.Transport, gone: Callable[[Exception | None], None]
    ) -> None:
        self._transport = transport
        self._gone = gone
        self._byte_count = 0
        self._end = asyncio.get_running_loop().call_later(LINGER_S, transport.abort)
        transport.set_protocol(self)
        if not transport.is_reading():
            transport.resume_reading()
        if transport.can_write_eof():
            self._stop_sending()
        else:
            # TLS says so itself, and then reads until the client has said so, too.
            transport.close()

    def leave(self) -> None:
        """Wait no longer than until all is written."""
        self._transport.close()

    def _stop_sending(self) -> None:
        try:
            self._transport.write_eof()
        except OSError:
            # The client is gone already, and nobody has noticed yet.
            self._transport.abort()

    def data_received(self, block: bytes) -> None:
        self._byte_count += len(block)
        if self._byte_count > LINGER_BYTES_MAX:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end.cancel()
        self._gone(exc)
