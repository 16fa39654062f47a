"""A small MQTT 5 client that goes where the network sends it, and stays itself on the way.

It is given one broker or more, keeps its session among them, follows a broker that sends it
elsewhere, and tries the next when one is gone. What was published and not answered is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Any, Self

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from meshwright.errors import OperatorError, PeerError

ELSEWHERE = (0x9C, 0x9D)
PAUSE_S = 0.2
LOOK_EVERY_S = 1.0
PAUSE_MAX_S = 5.0
WEEK_S = 7 * 24 * 3600


class Client:
    """One client of a network of brokers.

    brokers: addresses as host:port. broker: the one where the client is, or is going to.
    """

    def __init__(
        self,
        brokers: str | Sequence[str],
        client_id: str,
        *,
        session_expiry_s: int = WEEK_S,
        user_name: str | None = None,
        password: str | None = None,
        keep_alive_s: int = 30,
    ) -> None:
        self._brokers = [brokers] if isinstance(brokers, str) else list(brokers)
        if not self._brokers or not all(map(_address, self._brokers)):
            raise OperatorError("A client needs the address of a broker, such as 127.0.0.1:1883.")
        self.broker = self._brokers[0]
        self._session_expiry_s = session_expiry_s
        self._keep_alive_s = keep_alive_s
        self._subscriptions: dict[str, int] = {}
        self._messages: asyncio.Queue[paho.MQTTMessage] = asyncio.Queue()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._is_wanted = False
        self._pause_s = PAUSE_S
        self._looking: asyncio.TimerHandle | None = None
        self._paho = paho.Client(
            CallbackAPIVersion.VERSION2, client_id, protocol=paho.MQTTv5, reconnect_on_failure=False
        )
        if user_name is not None:
            self._paho.username_pw_set(user_name, password)
        self._paho.on_connect = self._on_connect
        self._paho.on_disconnect = self._on_disconnect
        self._paho.on_message = self._on_message
        self._paho.on_publish = self._on_publish
        self._paho.on_subscribe = self._on_subscribe
        self._paho.on_socket_open = self._on_socket_open
        self._paho.on_socket_close = self._on_socket_close
        self._paho.on_socket_register_write = self._on_register_write
        self._paho.on_socket_unregister_write = self._on_unregister_write

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._open: asyncio.Future[None] = self._loop.create_future()
        self._is_wanted = True
        self._travelling: asyncio.Task[None] | None = self._loop.create_task(self._travel())
        await asyncio.shield(self._open)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_wanted = False
        if self._travelling is not None:
            self._travelling.cancel()
        self._paho.disconnect()
        if self._looking is not None:
            self._looking.cancel()

    async def subscribe(self, topic_filter: str, qos: int = 1) -> None:
        """Ask for messages; returns when the network has granted it."""
        self._subscriptions[topic_filter] = qos
        await asyncio.shield(self._open)
        result, number = self._paho.subscribe(topic_filter, options=SubscribeOptions(qos=qos))
        if result == paho.MQTT_ERR_SUCCESS and number is not None:
            await self._answer(number)

    async def publish(
        self, topic: str, payload: bytes, qos: int = 1, *, retain: bool = False
    ) -> None:
        """Publish; with QoS 1 and 2, returns when the network has the message for good."""
        sent = self._paho.publish(topic, payload, qos, retain)
        if qos:
            await self._answer(sent.mid)

    async def move_to(self, broker: str) -> None:
        """Go to another broker; the session and all that waits in it follow."""
        self._open = self._loop.create_future()
        self.broker = broker
        self._paho.disconnect()
        await asyncio.shield(self._open)

    @property
    async def messages(self) -> AsyncIterator[paho.MQTTMessage]:
        """What comes in, in order, wherever the client is meanwhile."""
        while True:
            yield await self._messages.get()

    async def _travel(self) -> None:
        """Connect to the broker of choice, or the next after it."""
        while self._is_wanted:
            host, port = _address(self.broker)
            properties = _properties(self._session_expiry_s)
            try:
                await asyncio.to_thread(
                    self._paho.connect,
                    host,
                    port,
                    self._keep_alive_s,
                    clean_start=False,
                    properties=properties,
                )
            except OSError:
                self._choose_next()
                await asyncio.sleep(self._pause_s)
                self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)
            else:
                self._look_after()
                return

    def _look_after(self) -> None:
        """Let the library keep its time, while there is a connection."""
        if self._paho.loop_misc() == paho.MQTT_ERR_SUCCESS:
            self._looking = self._loop.call_later(LOOK_EVERY_S, self._look_after)

    def _choose_next(self) -> None:
        known = self._brokers
        place = known.index(self.broker) + 1 if self.broker in known else 0
        self.broker = known[place % len(known)]

    async def _answer(self, number: int) -> None:
        answer: asyncio.Future[None] = self._loop.create_future()
        self._waiting[number] = answer
        await answer

    def _answered(self, number: int, problem: str | None) -> None:
        answer = self._waiting.pop(number, None)
        if answer is None or answer.done():
            return
        if problem is None:
            answer.set_result(None)
        else:
            answer.set_exception(PeerError(problem))

    def _connected(self, reason: ReasonCode, reference: str | None, is_present: bool) -> None:
        if reason.is_failure:
            if reason.value in ELSEWHERE and reference:
                self.broker = reference
            elif not self._open.done():
                self._is_wanted = False
                self._open.set_exception(PeerError(f"{self.broker} refused the client: {reason}."))
            return
        self._pause_s = PAUSE_S
        if not is_present:
            for topic_filter, qos in self._subscriptions.items():
                self._paho.subscribe(topic_filter, options=SubscribeOptions(qos=qos))
        if not self._open.done():
            self._open.set_result(None)

    def _disconnected(self, reason: ReasonCode, reference: str | None) -> None:
        if not self._is_wanted:
            return
        if reason.value in ELSEWHERE and reference:
            self.broker = reference
        if self._open.done():
            self._open = self._loop.create_future()
        self._travelling = self._loop.create_task(self._travel())

    def _on_connect(self, _client: Any, _data: Any, flags: Any, reason: Any, said: Any) -> None:
        self._tell(self._connected, reason, _reference(said), flags.session_present)

    def _on_disconnect(self, _client: Any, _data: Any, _flags: Any, reason: Any, said: Any) -> None:
        self._tell(self._disconnected, reason, _reference(said))

    def _on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        self._tell(self._messages.put_nowait, message)

    def _on_publish(self, _client: Any, _data: Any, number: int, reason: Any, _said: Any) -> None:
        problem = f"The message was refused: {reason}." if reason.is_failure else None
        self._tell(self._answered, number, problem)

    def _on_subscribe(
        self, _client: Any, _data: Any, number: int, reasons: list[Any], _said: Any
    ) -> None:
        refused = [str(one) for one in reasons if one.is_failure]
        problem = f"The subscription was refused: {', '.join(refused)}." if refused else None
        self._tell(self._answered, number, problem)

    def _on_socket_open(self, client: paho.Client, _data: Any, line: Any) -> None:
        self._tell(self._loop.add_reader, line, client.loop_read)

    def _on_socket_close(self, _client: Any, _data: Any, line: Any) -> None:
        self._loop.remove_reader(line)
        self._loop.remove_writer(line)

    def _on_register_write(self, client: paho.Client, _data: Any, line: Any) -> None:
        self._tell(self._loop.add_writer, line, client.loop_write)

    def _on_unregister_write(self, _client: Any, _data: Any, line: Any) -> None:
        self._tell(self._stop_writing, line)

    def _stop_writing(self, line: Any) -> None:
        if line.fileno() >= 0:
            self._loop.remove_writer(line)

    def _tell(self, action: Any, *facts: Any) -> None:
        """Bring something from the thread that connects to the event loop."""
        self._loop.call_soon_threadsafe(action, *facts)


def _address(broker: str) -> tuple[str, int]:
    host, _, port = broker.rpartition(":")
    if not host or not port.isdigit():
        raise OperatorError(f"{broker!r} is no address of a broker; write host:port.")
    return host, int(port)


def _properties(session_expiry_s: int) -> Properties:
    make: Any = Properties  # the library says nothing of its types here
    properties: Properties = make(PacketTypes.CONNECT)
    properties.SessionExpiryInterval = session_expiry_s
    return properties


def _reference(said: Properties | None) -> str | None:
    return getattr(said, "ServerReference", None)
