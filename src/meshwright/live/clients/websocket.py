"""MQTT in WebSocket messages: bytes of the wire in, bytes of MQTT out, and back."""

from __future__ import annotations

from dataclasses import dataclass

from wsproto import ConnectionType, WSConnection
from wsproto.connection import ConnectionState
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.utilities import RemoteProtocolError

SUBPROTOCOLS = ("mqtt", "mqttv3.1")
UNSUPPORTED = 1003
BAD_REQUEST = 400
FORBIDDEN = 403
NORMAL = 1000
ENDED = (ConnectionState.LOCAL_CLOSING, ConnectionState.CLOSED, ConnectionState.REJECTING)


@dataclass(slots=True)
class Taken:
    """What came of some bytes: MQTT for the broker, an answer for the wire, and whether to end."""

    mqtt: bytes = b""
    answer: bytes = b""
    is_over: bool = False


class WebSocket:
    """The server's side of one WebSocket connection.

    Nothing is taken or said any more once either side has ended it.
    origins: the sites whose pages may open one, if not all may; who is no browser names no site,
    and is let pass.
    """

    def __init__(self, origins: tuple[str, ...] = ()) -> None:
        self._connection = WSConnection(ConnectionType.SERVER)
        self._origins = origins

    def take(self, block: bytes) -> Taken:
        """Bytes that came on the wire."""
        taken = Taken()
        if self._connection.state in ENDED:
            return taken
        try:
            self._connection.receive_data(block)
            for event in self._connection.events():
                self._take_event(event, taken)
        except RemoteProtocolError as error:
            if error.event_hint is not None:
                taken.answer += self._connection.send(error.event_hint)
            taken.is_over = True
        return taken

    def wrap(self, mqtt: bytes) -> bytes:
        """MQTT for the client, as bytes of the wire."""
        if self._connection.state is not ConnectionState.OPEN:
            return b""
        return self._connection.send(BytesMessage(data=mqtt))

    def end(self) -> bytes:
        """The server has nothing more to say, as bytes of the wire."""
        if self._connection.state is not ConnectionState.OPEN:
            return b""
        return self._connection.send(CloseConnection(code=NORMAL))

    def _take_event(self, event: object, taken: Taken) -> None:
        if isinstance(event, Request):
            self._take_request(event, taken)
        elif isinstance(event, BytesMessage):
            taken.mqtt += bytes(event.data)
        elif isinstance(event, TextMessage):
            taken.answer += self._connection.send(CloseConnection(code=UNSUPPORTED))
            taken.is_over = True
        elif isinstance(event, Ping):
            taken.answer += self._connection.send(event.response())
        elif isinstance(event, CloseConnection):
            taken.answer += self._connection.send(event.response())
            taken.is_over = True

    def _take_request(self, request: Request, taken: Taken) -> None:
        chosen = next((one for one in request.subprotocols if one in SUBPROTOCOLS), None)
        if not self._may_come_from(request) or chosen is None:
            status = BAD_REQUEST if chosen is None else FORBIDDEN
            taken.answer += self._connection.send(RejectConnection(status_code=status))
            taken.is_over = True
        else:
            taken.answer += self._connection.send(AcceptConnection(subprotocol=chosen))

    def _may_come_from(self, request: Request) -> bool:
        named = [value for name, value in request.extra_headers if name.lower() == b"origin"]
        allowed = {origin.lower().rstrip("/") for origin in self._origins}
        return not allowed or all(one.decode("latin-1").lower() in allowed for one in named)
