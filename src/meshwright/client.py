"""A small MQTT 5 client that goes where the network sends it, and stays itself on the way.

It is given one broker or more, keeps its session among them, follows a broker that sends it
elsewhere, and tries the next when one is gone. What was asked for or published, and was not
answered, is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MessageState
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from meshwright.errors import OperatorError, PeerError

ELSEWHERE = (0x9C, 0x9D)
# Unavailable, busy, over a quota, too many connections at once: all of it passes.
PASSING = (0x88, 0x89, 0x97, 0x9F)
PAUSE_S = 0.2
LOOK_EVERY_S = 1.0
PAUSE_MAX_S = 5.0
WEEK_S = 7 * 24 * 3600


class Watcher(Protocol):
    """Somebody who is told what a client goes through, in order."""

    def connected(self, broker: str, *, session_present: bool) -> None:
        """A broker let the client in."""

    def disconnected(self) -> None:
        """The connection is over."""

    def received(self, message: paho.MQTTMessage) -> None:
        """A message came."""


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
        watcher: Watcher | None = None,
    ) -> None:
        self._brokers = [brokers] if isinstance(brokers, str) else list(brokers)
        if not self._brokers or not all(map(_address, self._brokers)):
            raise OperatorError("A client needs the address of a broker, such as 127.0.0.1:1883.")
        self.broker = self._brokers[0]
        self._session_expiry_s = session_expiry_s
        self._keep_alive_s = keep_alive_s
        self._watcher = watcher
        self._subscriptions: dict[str, int] = {}
        self._requests: dict[str, _Request] = {}
        self._asked: dict[int, _Request] = {}
        self._messages: asyncio.Queue[paho.MQTTMessage] = asyncio.Queue()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        # Who waits for a connection goes before whoever comes when there is one.
        self._in_turn = asyncio.Lock()
        self._is_wanted = False
        self._was_turned_away = False
        self._is_lost = False
        self._pause_s = PAUSE_S
        self._looking: asyncio.TimerHandle | None = None
        self._paho = _Library(
            CallbackAPIVersion.VERSION2, client_id, protocol=paho.MQTTv5, reconnect_on_failure=False
        )
        if user_name is not None:
            self._paho.username_pw_set(user_name, password)
        self._paho.on_connect = self._on_connect
        self._paho.on_disconnect = self._on_disconnect
        self._paho.on_message = self._on_message
        self._paho.on_publish = self._on_publish
        self._paho.on_subscribe = self._on_request_answered
        self._paho.on_unsubscribe = self._on_request_answered
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
        await self._request(topic_filter, qos)

    async def unsubscribe(self, topic_filter: str) -> None:
        """Ask for no more messages; returns when the network has confirmed it."""
        await self._request(topic_filter, None)

    async def publish(
        self, topic: str, payload: bytes, qos: int = 1, *, retain: bool = False
    ) -> None:
        """Publish; with QoS 1 and 2, returns when the network has the message for good."""
        # The library would send it before what an earlier connection left unanswered.
        async with self._in_turn:
            await asyncio.shield(self._open)
            sent = self._paho.publish(topic, payload, qos, retain)
        if qos:
            await self._answer(sent.mid)

    async def move_to(self, broker: str) -> None:
        """Go to another broker; the session and all that waits in it follow."""
        await asyncio.shield(self._open)
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
            if self._was_turned_away:
                self._was_turned_away = False
                await asyncio.sleep(self._pause_s)
                self._pause_s = min(2 * self._pause_s, PAUSE_MAX_S)
            host, port = _address(self.broker)
            properties = _properties(self._session_expiry_s)
            self._is_lost = False
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
                continue
            self._look_after()
            # The connection may be over before the thread that made it has said so.
            if not self._is_lost:
                return

    def _look_after(self) -> None:
        """Let the library keep its time, while there is a connection."""
        if self._paho.loop_misc() == paho.MQTT_ERR_SUCCESS:
            self._looking = self._loop.call_later(LOOK_EVERY_S, self._look_after)

    def _choose_next(self) -> None:
        """Try another broker, after a while."""
        self._was_turned_away = True
        known = self._brokers
        place = known.index(self.broker) + 1 if self.broker in known else 0
        self.broker = known[place % len(known)]

    async def _request(self, topic_filter: str, qos: int | None) -> None:
        request = _Request(topic_filter, qos, self._loop.create_future())
        async with self._in_turn:
            await asyncio.shield(self._open)
            self._requests[topic_filter] = request
            self._ask(request)
        await request.answer

    def _ask(self, request: _Request) -> None:
        """Send a request; one that does not get through is sent on the next connection."""
        if request.qos is None:
            _, number = self._paho.unsubscribe(request.topic_filter)
        else:
            options = SubscribeOptions(qos=request.qos)
            _, number = self._paho.subscribe(request.topic_filter, options=options)
        if number is not None:
            self._asked[number] = request

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

    def _request_answered(self, number: int, refused: list[str]) -> None:
        request = self._asked.pop(number, None)
        if request is None:
            return
        if self._requests.get(request.topic_filter) is request:
            del self._requests[request.topic_filter]
        if request.qos is None or refused:
            self._subscriptions.pop(request.topic_filter, None)
        else:
            self._subscriptions[request.topic_filter] = request.qos
        if request.answer.done():
            return
        if refused:
            problem = f"The subscription was refused: {', '.join(refused)}."
            request.answer.set_exception(PeerError(problem))
        else:
            request.answer.set_result(None)

    def _connected(self, reason: ReasonCode, reference: str | None, is_present: bool) -> None:
        if reason.is_failure:
            self._turned_away(reason, reference)
            return
        self._pause_s = PAUSE_S
        if self._watcher is not None:
            self._watcher.connected(self.broker, session_present=is_present)
        self._asked.clear()
        if not is_present:
            for topic_filter, qos in self._subscriptions.items():
                again = _Request(topic_filter, qos, self._loop.create_future())
                self._requests.setdefault(topic_filter, again)
        for request in self._requests.values():
            self._ask(request)
        if not self._open.done():
            self._open.set_result(None)

    def _turned_away(self, reason: ReasonCode, reference: str | None) -> None:
        if reason.value in ELSEWHERE and reference:
            self.broker = reference
        elif reason.value in PASSING:
            self._choose_next()
        elif not self._open.done():
            self._is_wanted = False
            self._open.set_exception(PeerError(f"{self.broker} refused the client: {reason}."))

    def _disconnected(self, reason: ReasonCode, reference: str | None) -> None:
        if self._watcher is not None:
            self._watcher.disconnected()
        self._is_lost = True
        if not self._is_wanted:
            return
        if reason.value in ELSEWHERE and reference:
            self.broker = reference
        if self._open.done():
            self._open = self._loop.create_future()
        if self._travelling is None or self._travelling.done():
            self._travelling = self._loop.create_task(self._travel())

    def _on_connect(self, _client: Any, _data: Any, flags: Any, reason: Any, said: Any) -> None:
        self._tell(self._connected, reason, _reference(said), flags.session_present)

    def _on_disconnect(self, _client: Any, _data: Any, _flags: Any, reason: Any, said: Any) -> None:
        self._tell(self._disconnected, reason, _reference(said))

    def _on_message(self, _client: Any, _data: Any, message: paho.MQTTMessage) -> None:
        self._tell(self._received, message)

    def _received(self, message: paho.MQTTMessage) -> None:
        if self._watcher is not None:
            self._watcher.received(message)
        self._messages.put_nowait(message)

    def _on_publish(self, _client: Any, _data: Any, number: int, reason: Any, _said: Any) -> None:
        problem = f"The message was refused: {reason}." if reason.is_failure else None
        self._tell(self._answered, number, problem)

    def _on_request_answered(
        self, _client: Any, _data: Any, number: int, reasons: list[Any], _said: Any
    ) -> None:
        refused = [str(one) for one in reasons if one.is_failure]
        self._tell(self._request_answered, number, refused)

    def _on_socket_open(self, client: paho.Client, _data: Any, line: Any) -> None:
        self._tell(self._while_open, self._loop.add_reader, line, client.loop_read)

    def _on_socket_close(self, _client: Any, _data: Any, line: Any) -> None:
        self._loop.remove_reader(line)
        self._loop.remove_writer(line)

    def _on_register_write(self, client: paho.Client, _data: Any, line: Any) -> None:
        self._tell(self._while_open, self._loop.add_writer, line, client.loop_write)

    def _on_unregister_write(self, _client: Any, _data: Any, line: Any) -> None:
        self._tell(self._while_open, self._loop.remove_writer, line)

    def _while_open(self, action: Any, line: Any, *facts: Any) -> None:
        if line.fileno() >= 0:
            action(line, *facts)

    def _tell(self, action: Any, *facts: Any) -> None:
        """Bring something from the thread that connects to the event loop."""
        self._loop.call_soon_threadsafe(action, *facts)


class _Library(paho.Client):
    """The library, which by itself forgets what it was about to send again if it connects twice.

    A PUBREL would become a PUBLISH, and a message of QoS 2 would come twice.
    """

    def _messages_reconnect_reset_out(self) -> None:
        for message in self._out_messages.values():
            if message.state == MessageState.MQTT_MS_RESEND_PUBREL:
                message.state = MessageState.MQTT_MS_WAIT_FOR_PUBCOMP
        super()._messages_reconnect_reset_out()


@dataclass(frozen=True, slots=True)
class _Request:
    """A subscription that is asked for, or its end if there is no QoS."""

    topic_filter: str
    qos: int | None
    answer: asyncio.Future[None]


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
