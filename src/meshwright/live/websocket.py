"""MQTT in WebSocket messages: bytes of the wire in, bytes of MQTT out, and back."""

from __future__ import annotations

from dataclasses import dataclass

from wsproto import ConnectionType, WSConnection
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


@dataclass(slots=True)
class Taken:
    """What came of some bytes: MQTT for the broker, an answer for the wire, and whether to end."""

    mqtt: bytes = b""
    answer: bytes = b""
    is_over: bool = False


class WebSocket:
    """The server's side of one WebSocket connection."""

    def __init__(self) -> None:
        self._connection = WSConnection(ConnectionType.SERVER)

    def take(self, block: bytes) -> Taken:
        """Bytes that came on the wire."""
        taken = Taken()
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
        return self._connection.send(BytesMessage(data=mqtt))

    def _take_event(self, event: object, taken: Taken) -> None:
        if isinstance(event, Request):
            chosen = next((one for one in event.subprotocols if one in SUBPROTOCOLS), None)
            if chosen is None:
                taken.answer += self._connection.send(RejectConnection(status_code=400))
                taken.is_over = True
            else:
                taken.answer += self._connection.send(AcceptConnection(subprotocol=chosen))
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
