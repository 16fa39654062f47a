"""Clients of which every byte is in the hands of the test, through any kind of door."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from typing import Literal

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, BytesMessage, CloseConnection, Request

Transport = Literal["tcp", "websocket"]
READ_BYTES = 1 << 16


class RawClient:
    """closing_code: with which a WebSocket was ended by the other side."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.closing_code: int | None = None
        self._websocket: WSConnection | None = None

    @classmethod
    async def open(
        cls, port: int, transport: Transport = "tcp", context: ssl.SSLContext | None = None
    ) -> RawClient:
        reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
        client = cls(reader, writer)
        if transport == "websocket":
            await client._shake_hands()
        return client

    def send(self, mqtt: bytes) -> None:
        if self._websocket is not None:
            mqtt = self._websocket.send(BytesMessage(data=mqtt))
        self.writer.write(mqtt)

    async def read(self, count: int) -> bytes:
        """So many bytes of MQTT, or fewer if no more come."""
        got = b""
        while len(got) < count:
            block = await self._read_some()
            if block is None:
                break
            got += block
        return got

    async def read_to_end(self) -> bytes:
        """All that comes until the server closes."""
        return await self.read(1 << 62)

    async def close(self) -> None:
        self.writer.close()
        with suppress(OSError):  # the other side may be quicker
            await self.writer.wait_closed()

    async def _read_some(self) -> bytes | None:
        block = await self.reader.read(READ_BYTES)
        if not block:
            return None
        if self._websocket is None:
            return block
        got = b""
        self._websocket.receive_data(block)
        for event in self._websocket.events():
            if isinstance(event, BytesMessage):
                got += bytes(event.data)
            elif isinstance(event, CloseConnection):
                self.closing_code = event.code
            else:
                assert isinstance(event, AcceptConnection)
        return got

    async def _shake_hands(self) -> None:
        self._websocket = WSConnection(ConnectionType.CLIENT)
        request = Request(host="localhost", target="/mqtt", subprotocols=["mqtt"])
        self.writer.write(self._websocket.send(request))
        assert await self._read_some() == b""
