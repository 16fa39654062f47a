"""Three MQTT clients that anybody may use, behind one face: paho, aiomqtt and Mosquitto's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

import aiomqtt
import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

HOST = "127.0.0.1"
PATIENCE_S = 20


class Got(NamedTuple):
    """A message as a client shows it."""

    topic: str
    payload: str
    is_retained: bool = False


class Reader(Protocol):
    """A client that reads; it has subscribed when it is open. will: topic and payload."""

    got: list[Got]

    async def open(
        self,
        port: int,
        topic_filter: str,
        *,
        keeps: bool = False,
        will: tuple[str, str] | None = None,
    ) -> None:
        """Connect and subscribe; keeps: the session outlives the connection."""

    async def close(self) -> None:
        """Leave politely."""

    async def die(self) -> None:
        """Vanish without a word."""


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something that the clients' own loops and processes do."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.002)


class AioReader:
    """aiomqtt, with MQTT 5."""

    def __init__(self, name: str) -> None:
        self.got: list[Got] = []
        self._name = name

    async def open(
        self,
        port: int,
        topic_filter: str,
        *,
        keeps: bool = False,
        will: tuple[str, str] | None = None,
    ) -> None:
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 600 if keeps else 0
        self._client = aiomqtt.Client(
            HOST,
            port,
            identifier=self._name,
            protocol=aiomqtt.ProtocolVersion.V5,
            clean_start=not keeps,
            properties=properties,
            will=None if will is None else aiomqtt.Will(*will, qos=1),
        )
        await self._client.__aenter__()
        self._listening = asyncio.create_task(self._listen())
        await self._client.subscribe(topic_filter, qos=1)

    async def close(self) -> None:
        self._listening.cancel()
        await self._client.__aexit__(None, None, None)

    async def die(self) -> None:
        line = self._client._client.socket()
        assert isinstance(line, socket.socket)
        line.shutdown(socket.SHUT_RDWR)
        with suppress(aiomqtt.MqttError):
            await self._listening
        with suppress(aiomqtt.MqttError):
            await self._client.__aexit__(None, None, None)

    async def _listen(self) -> None:
        async for message in self._client.messages:
            payload = bytes(message.payload).decode()
            self.got.append(Got(str(message.topic), payload, message.retain))


class PahoReader:
    """paho-mqtt with its own thread, and MQTT 3.1.1."""

    def __init__(self, name: str) -> None:
        self.got: list[Got] = []
        self._name = name

    async def open(
        self,
        port: int,
        topic_filter: str,
        *,
        keeps: bool = False,
        will: tuple[str, str] | None = None,
    ) -> None:
        granted: list[int] = []
        self._client = client = paho.Client(
            CallbackAPIVersion.VERSION2,
            self._name,
            clean_session=not keeps,
            protocol=paho.MQTTv311,
            reconnect_on_failure=False,
        )
        if will is not None:
            client.will_set(*will, qos=1)
        client.on_connect = lambda *_: client.subscribe(topic_filter, qos=1)
        client.on_subscribe = lambda _client, _data, number, *_: granted.append(number)
        client.on_message = lambda _client, _data, message: self.got.append(
            Got(message.topic, message.payload.decode(), message.retain)
        )
        client.connect(HOST, port)
        client.loop_start()
        await until(lambda: bool(granted))

    async def close(self) -> None:
        self._client.disconnect()
        await asyncio.to_thread(self._client.loop_stop)

    async def die(self) -> None:
        line = self._client.socket()
        assert isinstance(line, socket.socket)
        line.shutdown(socket.SHUT_RDWR)
        await asyncio.to_thread(self._client.loop_stop)


class MosquittoReader:
    """mosquitto_sub."""

    def __init__(self, name: str) -> None:
        self.got: list[Got] = []
        self._name = name

    async def open(
        self,
        port: int,
        topic_filter: str,
        *,
        keeps: bool = False,
        will: tuple[str, str] | None = None,
    ) -> None:
        command = ["mosquitto_sub", "-d", "-p", str(port), "-i", self._name, "-q", "1"]
        command += ["-t", topic_filter, "-F", "got %r %t %p"]
        if keeps:
            command.append("-c")
        if will is not None:
            topic, payload = will
            command += ["--will-topic", topic, "--will-payload", payload, "--will-qos", "1"]
        # Line by line, so that nothing waits in the process.
        self._process = await asyncio.create_subprocess_exec(
            "stdbuf", "-oL", *command, stdout=asyncio.subprocess.PIPE
        )
        self._is_open = False
        self._listening = asyncio.create_task(self._listen())
        await until(lambda: self._is_open)

    async def close(self) -> None:
        self._process.terminate()
        await self._process.wait()
        await self._listening

    async def die(self) -> None:
        self._process.kill()
        await self._process.wait()
        await self._listening

    async def _listen(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            words = line.decode().strip().split(" ")
            self._is_open |= words[0] == "Subscribed"
            if words[0] == "got":
                self.got.append(Got(words[2], words[3], words[1] == "1"))


async def aio_publish(port: int, topic: str, *payloads: str, retain: bool = False) -> None:
    """Publish with aiomqtt, one after another."""
    async with aiomqtt.Client(HOST, port, protocol=aiomqtt.ProtocolVersion.V5) as client:
        for payload in payloads:
            await client.publish(topic, payload, qos=1, retain=retain)


async def paho_publish(port: int, topic: str, *payloads: str, retain: bool = False) -> None:
    """Publish with paho-mqtt, all at once."""
    client = paho.Client(CallbackAPIVersion.VERSION2, protocol=paho.MQTTv311)
    client.connect(HOST, port)
    client.loop_start()
    sent = [client.publish(topic, payload, qos=2, retain=retain) for payload in payloads]
    await until(lambda: all(one.is_published() for one in sent))
    client.disconnect()
    await asyncio.to_thread(client.loop_stop)


async def mosquitto_publish(port: int, topic: str, *payloads: str, retain: bool = False) -> None:
    """Publish with mosquitto_pub, a line a message."""
    command = ["mosquitto_pub", "-p", str(port), "-q", "1", "-t", topic, "-l"]
    process = await asyncio.create_subprocess_exec(
        *command, *(["-r"] if retain else []), stdin=asyncio.subprocess.PIPE
    )
    await process.communicate("".join(f"{payload}\n" for payload in payloads).encode())
    assert process.returncode == 0
