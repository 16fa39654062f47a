"""Just enough of an HTTP server for metrics, health and operators' questions, on h11."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qsl, urlsplit

import h11
import msgspec

# A plan that moves a hundred thousand clients has some twenty megabytes.
BODY_BYTES_MAX = 1 << 20
PLAN_BYTES_MAX = 64 << 20
# A request is whole after so long, and the next one begins, or the answer is read.
REQUEST_S = 10.0
IDLE_S = 60.0
UNAUTHORIZED = 401


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked: the path without its query, the query's names and values, and the body."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """What is answered."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


Answer = Callable[[Request], Awaitable[Response]]
# Takes the header Authorization of a request, or "", and answers who is not to go on.
Admit = Callable[[str], Response | None]


def json_response(value: object, status: int = 200) -> Response:
    """A value as JSON, with a line end for people who look at it in a terminal."""
    return Response(status, msgspec.json.encode(value) + b"\n", "application/json")


class HttpGuests:
    """All connections at one door; where they are too many, who asks nothing makes room."""

    def __init__(self, count_max: int) -> None:
        self._count_max = count_max
        # In the order in which they came.
        self._guests: dict[HttpConnection, None] = {}
        self._is_closed = False

    def enter(self, guest: HttpConnection) -> bool:
        """One more; False if there is no room, or the door has closed since it was accepted."""
        if self._is_closed:
            return False
        if len(self._guests) >= self._count_max:
            idle = next((one for one in self._guests if not one.is_answering), None)
            if idle is None:
                return False
            del self._guests[idle]
            idle.end()
        self._guests[guest] = None
        return True

    def leave(self, guest: HttpConnection) -> None:
        """One is gone."""
        self._guests.pop(guest, None)

    def send_away(self) -> None:
        """The door closes: all go, those that are being answered after that."""
        self._is_closed = True
        for guest in list(self._guests):
            guest.end_once_answered()


class HttpConnection(asyncio.Protocol):
    """One connection: its requests are answered one after the other, each in its time."""

    def __init__(
        self,
        answer: Answer,
        guests: HttpGuests,
        *,
        body_bytes_max: int = BODY_BYTES_MAX,
        admit: Admit | None = None,
    ) -> None:
        self._answer = answer
        self._admit = admit
        self._body_bytes_max = body_bytes_max
        self._guests = guests
        self._deadline: asyncio.TimerHandle | None = None
        self._connection = h11.Connection(h11.SERVER)
        self._transport: asyncio.Transport | None = None
        self._request: h11.Request | None = None
        self._body = bytearray()
        self._answering: asyncio.Task[None] | None = None
        self._is_idle = False
        self._is_last = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        if self._guests.enter(self):
            self._end_in(REQUEST_S)
        else:
            self.end()

    def data_received(self, block: bytes) -> None:
        if self._is_idle:
            self._is_idle = False
            self._end_in(REQUEST_S)
        self._connection.receive_data(block)
        self._take()

    def connection_lost(self, _exc: Exception | None) -> None:
        self._transport = None
        self._guests.leave(self)
        if self._deadline is not None:
            self._deadline.cancel()
        if self._answering is not None:
            self._answering.cancel()

    @property
    def is_answering(self) -> bool:
        """True while a request is being answered."""
        return self._answering is not None

    def end(self) -> None:
        """Break the connection."""
        if self._transport is not None:
            self._transport.abort()

    def end_once_answered(self) -> None:
        """Break the connection, after the answer that is under way."""
        if self._answering is None:
            self.end()
        else:
            self._is_last = True

    def _end_in(self, patience_s: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(patience_s, self.end)

    def _take(self) -> None:
        """Read on until a request is whole; while one is answered, the next waits."""
        while self._answering is None:
            try:
                event = self._connection.next_event()
            except h11.RemoteProtocolError as error:
                self._refuse(Response(400, f"{error}\n".encode()))
                return
            if isinstance(event, h11.Request):
                # Before a stranger's body is read.
                refusal = None if self._admit is None else self._admit(_authorization(event))
                if refusal is not None:
                    self._refuse(refusal)
                    return
                self._request, self._body = event, bytearray()
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > self._body_bytes_max:
                    said = f"At most {self._body_bytes_max} bytes are taken.\n"
                    self._refuse(Response(413, said.encode()))
                    return
            elif isinstance(event, h11.EndOfMessage):
                self._answering = asyncio.get_running_loop().create_task(self._respond())
            else:
                if isinstance(event, h11.ConnectionClosed) and self._transport is not None:
                    self._transport.close()
                return

    async def _respond(self) -> None:
        assert self._request is not None
        parts = urlsplit(self._request.target.decode("ascii", "replace"))
        method = self._request.method.decode("ascii")
        query = dict(parse_qsl(parts.query))
        try:
            response = await self._answer(Request(method, parts.path, query, bytes(self._body)))
        except asyncio.CancelledError:
            self.end()  # nobody will answer any more: the loop ends
            raise
        self._send(response)
        self._answering = None
        self._is_idle = True
        self._end_in(IDLE_S)
        if self._is_last or self._connection.our_state is h11.MUST_CLOSE:
            if self._transport is not None:
                self._transport.close()
        elif self._connection.our_state is h11.DONE:
            self._connection.start_next_cycle()
            self._take()

    def _refuse(self, response: Response) -> None:
        if self._connection.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._send(response)
        if self._transport is not None:
            self._transport.close()

    def _send(self, response: Response) -> None:
        if self._transport is None:
            return
        headers = [
            ("Content-Type", response.content_type),
            ("Content-Length", str(len(response.body))),
        ]
        if response.status == UNAUTHORIZED:
            headers.append(("WWW-Authenticate", "Bearer"))
        parts = (
            h11.Response(status_code=response.status, headers=headers),
            h11.Data(data=response.body),
            h11.EndOfMessage(),
        )
        for part in parts:
            self._transport.write(self._connection.send(part) or b"")


def _authorization(request: h11.Request) -> str:
    found = (value for name, value in request.headers if name == b"authorization")
    return next(found, b"").decode("latin-1")
