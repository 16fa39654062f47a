"""A session belongs to its user, and nobody gets what its user may not read."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import aiomqtt
import msgspec
import pytest
from certificates import Papers
from live_network import ANY_PORT, introduce, port_of, small_overlay
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from meshwright.live.access.passwords import set_password
from meshwright.live.processes.live_broker import LiveBroker
from meshwright.live.processes.local_network import free_ports
from meshwright.live.settings import (
    AccessSettings,
    ListenerSettings,
    LiveSettings,
    PeerLinkSettings,
)
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.events import SystemPublished

V311, V5 = aiomqtt.ProtocolVersion.V311, aiomqtt.ProtocolVersion.V5
RULES = """
user alice
topic readwrite #
user bob
topic read open/#
user carol
topic readwrite #
"""
POLICIES = ("standard", "prefetching", "logging", "home", "device")


@cache
def hashes() -> str:
    """A file of three users, whose hashes take a while."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "passwords"
        for user in ("alice", "bob", "carol"):
            set_password(path, user, b"staple")
        return path.read_text()


def access_in(folder: Path, rules: str = RULES) -> AccessSettings:
    passwords, path = folder / "passwords", folder / "rules"
    passwords.write_text(hashes())
    path.write_text(rules)
    return AccessSettings(passwords=passwords, rules=path)


@asynccontextmanager
async def brokers_with(
    folder: Path, access: AccessSettings, count: int = 1, **options: Any
) -> AsyncIterator[list[LiveBroker]]:
    """Brokers that take users with passwords, and anonymous clients."""
    overlay = small_overlay("chord", count)
    listener = options.pop("listener", ListenerSettings(address=ANY_PORT, anonymous=True))
    brokers = [
        LiveBroker(
            LiveSettings(
                name=name,
                folder=folder / name,
                listeners=(listener,),
                peers=PeerLinkSettings(listen=ANY_PORT),
                access=access,
                **options,
            ),
            overlay,
            recorded=lambda _time_us, _record: None,
            refused=lambda _reason, _address: None,
        )
        for name in overlay.brokers
    ]
    for broker in brokers:
        await broker.start()
    known = {name: at for one in brokers for name, at in one.host.peers.brokers.items()}
    introduce((broker.host for broker in brokers), known)
    try:
        yield brokers
    finally:
        for broker in brokers:
            await broker.stop()


def client(
    broker: LiveBroker, client_id: str, user: str | None, version: Any = V5, **options: Any
) -> aiomqtt.Client:
    """A client whose session lasts."""
    options.setdefault("clean_session" if version == V311 else "clean_start", False)
    if version == V5:
        properties = Properties(PacketTypes.CONNECT)
        properties.SessionExpiryInterval = 600
        options["properties"] = properties
    return aiomqtt.Client(
        "localhost",
        port_of(broker),
        identifier=client_id,
        username=user,
        password=None if user is None else "staple",
        protocol=version,
        timeout=20,
        **options,
    )


async def read(one: aiomqtt.Client, last: str) -> list[str]:
    """All that a client gets up to a message."""
    got: list[str] = []
    async with asyncio.timeout(20):
        async for message in one.messages:
            assert isinstance(message.payload, bytes)
            got.append(message.payload.decode())
            if got[-1] == last:
                break
    return got


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("other", ["bob", None])
def test_another_user_gets_nothing_of_a_session_and_cannot_end_its_connection(
    version: Any, other: str | None, tmp_path: Path
) -> None:
    async def story() -> None:
        access = access_in(tmp_path, RULES + "anonymous\ntopic read open/#\n")
        async with brokers_with(tmp_path, access) as (broker,):
            async with client(broker, "door", "alice", version) as door:
                await door.subscribe("secret/#", qos=1)
            async with client(broker, "writer", "carol") as writer:
                await writer.publish("secret/a", "queued", qos=1)
                async with client(broker, "door", other, version) as thief:
                    await thief.subscribe("open/#", qos=1)
                    await writer.publish("secret/a", "live", qos=1)
                    async with client(broker, "door", "alice", version) as door:
                        await writer.publish("secret/a", "last", qos=1)
                        assert await read(door, "last") == ["queued", "live", "last"]
                        await writer.publish("open/a", "end", qos=1)
                        assert await read(thief, "end") == ["end"]
                        await writer.publish("secret/a", "still here", qos=1)
                        assert await read(door, "still here") == ["still here"]

    asyncio.run(story())


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("mobility", POLICIES)
def test_another_user_gets_nothing_of_a_session_at_another_broker(
    mobility: str, clean: bool, tmp_path: Path
) -> None:
    async def story() -> None:
        access = access_in(tmp_path)
        async with brokers_with(tmp_path, access, 2, mobility=mobility) as (one, two):
            async with client(one, "door", "alice") as door:
                await door.subscribe("secret/#", qos=1)
            async with client(one, "writer", "carol") as writer:
                await writer.publish("secret/a", "queued", qos=1)
                async with client(two, "door", "bob", clean_start=clean) as thief:
                    await thief.subscribe("open/#", qos=1)
                    await writer.publish("secret/a", "live", qos=1)
                    await writer.publish("open/a", "end", qos=1)
                    assert await read(thief, "end") == ["end"]
                    async with client(two, "door", "alice") as door:
                        await writer.publish("secret/a", "last", qos=1)
                        assert await read(door, "last") == ["queued", "live", "last"]
                        await writer.publish("open/a", "both stay", qos=1)
                        assert await read(thief, "both stay") == ["both stay"]

    asyncio.run(story())


def test_a_certificate_names_the_user_to_whom_a_session_belongs(tmp_path: Path) -> None:
    async def story() -> None:
        papers = Papers(tmp_path)
        listener = ListenerSettings(address=ANY_PORT, tls=papers.settings(asks=True))
        access = access_in(tmp_path)

        def with_papers(name: str) -> aiomqtt.Client:
            return client(broker, "door", None, tls_context=papers.for_client(name))

        async with brokers_with(tmp_path, access, listener=listener) as (broker,):
            async with with_papers("alice") as door:
                await door.subscribe("secret/#", qos=1)
            async with with_papers("carol") as other:
                await other.publish("secret/a", "queued", qos=1)
                await other.subscribe("open/#", qos=1)
                await other.publish("open/a", "end", qos=1)
                assert await read(other, "end") == ["end"]
            async with with_papers("alice") as door:
                assert await read(door, "queued") == ["queued"]

    asyncio.run(story())


@pytest.mark.parametrize("count", [1, 2])
def test_a_right_that_is_taken_away_ends_what_stands_on_it(count: int, tmp_path: Path) -> None:
    async def story() -> None:
        access = access_in(tmp_path, RULES.replace("open/#", "#"))
        async with brokers_with(tmp_path, access, count) as brokers:
            here, there = brokers[0], brokers[-1]
            async with client(there, "writer", "carol") as writer:
                await writer.publish("secret/kept", "retained", qos=1, retain=True)
                async with client(here, "sleeper", "bob") as sleeper:
                    await sleeper.subscribe("+/a", qos=1)
                await writer.publish("secret/a", "queued", qos=1)
                await writer.publish("open/a", "open", qos=1)
                async with client(here, "reader", "bob") as reader:
                    await reader.subscribe("#", qos=1)
                    assert await read(reader, "retained") == ["retained"]
                    for qos in (0, 1):
                        await writer.publish("secret/b", f"before {qos}", qos=qos)
                        assert await read(reader, f"before {qos}") == [f"before {qos}"]
                    assert access.rules is not None
                    access.rules.write_text(RULES)
                    for broker in brokers:
                        broker.reload()
                    for qos in (0, 1):
                        await writer.publish("secret/b", f"after {qos}", qos=qos)
                    await writer.publish("open/b", "end", qos=1)
                    assert await read(reader, "end") == ["end"]
                    await reader.subscribe("+/kept", qos=1)
                    await writer.publish("open/b", "no look", qos=1)
                    assert await read(reader, "no look") == ["no look"]
                async with client(here, "sleeper", "bob") as sleeper:
                    await writer.publish("open/a", "end", qos=1)
                    assert await read(sleeper, "end") == ["open", "end"]

    asyncio.run(story())


def test_a_will_is_not_published_where_its_client_may_write_no_more(tmp_path: Path) -> None:
    async def story() -> None:
        access = access_in(tmp_path)
        assert access.rules is not None
        async with (
            brokers_with(tmp_path, access) as (broker,),
            client(broker, "reader", "alice") as reader,
        ):
            await reader.subscribe("#", qos=1)
            will = aiomqtt.Will("open/will", b"will", qos=1)
            dying = client(broker, "dying", "carol", will=will)
            await dying.__aenter__()
            access.rules.write_text(RULES.replace("user carol\ntopic readwrite", "topic read"))
            broker.reload()
            dying._client._sock_close()
            while len(broker.host.clients) > 1:
                await asyncio.sleep(0.01)
            await reader.publish("open/a", "end", qos=1)
            assert await read(reader, "end") == ["end"]

    asyncio.run(story())


def test_a_user_that_is_gone_is_sent_away_and_a_broken_file_changes_nothing(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        access = access_in(tmp_path)
        async with brokers_with(tmp_path, access) as (broker,):
            bob, alice = client(broker, "b", "bob"), client(broker, "a", "alice")
            await bob.__aenter__()
            async with alice:
                assert access.passwords is not None
                lines = access.passwords.read_text().splitlines(keepends=True)
                access.passwords.write_text("".join(lines[::2]) + "nonsense\n")
                with pytest.raises(Exception, match="line 3"):
                    broker.reload()
                await bob.publish("open/x", "refused, but connected", qos=1)
                access.passwords.write_text("".join(lines[::2]))
                broker.reload()
                with pytest.raises(aiomqtt.MqttError, match="Disconnected"):
                    async with asyncio.timeout(20):
                        await anext(bob.messages)
                await alice.subscribe("x", qos=1)
                await alice.publish("x", "stays", qos=1)
                assert await read(alice, "stays") == ["stays"]

    asyncio.run(story())


@pytest.mark.parametrize("way", ["filter", "refuse"])
def test_a_denial_inside_a_wider_filter_filters_or_refuses(way: Any, tmp_path: Path) -> None:
    async def story() -> None:
        rules = "topic readwrite #\ntopic deny home/secret\n"
        access = msgspec.structs.replace(access_in(tmp_path, rules), partly_readable=way)
        async with (
            brokers_with(tmp_path, access) as (broker,),
            client(broker, "reader", "alice") as reader,
        ):
            (granted,) = await reader.subscribe("#", qos=1)
            assert granted.is_failure is (way == "refuse")
            (shared,) = await reader.subscribe("$share/group/#", qos=1)
            (denied,) = await reader.subscribe("home/secret", qos=1)
            assert str(shared) == str(denied) == "Not authorized"
            await reader.subscribe("home/end", qos=1)
            broker.host.tell(SystemPublished(Publication("x@b0", 1, "home/secret"), False))
            await reader.publish("home/light", "on", qos=1)
            await reader.publish("home/end", "end", qos=1)
            assert await read(reader, "end") == ["on", "end"][way == "refuse" :]

    asyncio.run(story())


def test_sighup_has_a_broker_read_its_rules_anew(tmp_path: Path) -> None:
    rules, settings = tmp_path / "rules", tmp_path / "broker.toml"
    rules.write_text("topic readwrite #\n")
    port = free_ports(2)
    settings.write_text(
        f'name = "b0"\nfolder = "data"\n[[listeners]]\naddress = "127.0.0.1:{port}"\n'
        f'anonymous = true\n[peers]\nlisten = "127.0.0.1:{port + 1}"\n'
        '[access]\nrules = "rules"\n[telemetry]\nlog = "log"\n'
    )
    command = [sys.executable, "-m", "meshwright", "broker", "--config", str(settings)]

    def events() -> list[str]:
        text = (tmp_path / "log").read_text() if (tmp_path / "log").exists() else ""
        return [json.loads(line)["event"] for line in text.splitlines()]

    async def until(event: str) -> None:
        async with asyncio.timeout(60):
            while event not in events():
                await asyncio.sleep(0.02)

    async def story(process: subprocess.Popen[bytes]) -> None:
        await until("started")
        async with aiomqtt.Client("127.0.0.1", port, protocol=V5) as one:
            await one.subscribe("#", qos=1)
            await one.publish("secret", "before", qos=1)
            assert await read(one, "before") == ["before"]
            rules.write_text("nonsense\n")
            process.send_signal(signal.SIGHUP)
            await until("access_kept")
            rules.write_text("topic readwrite open\n")
            process.send_signal(signal.SIGHUP)
            await until("access_reloaded")
            await one.publish("secret", "after", qos=1)
            await one.publish("open", "end", qos=1)
            assert await read(one, "end") == ["end"]

    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        asyncio.run(story(process))
    finally:
        process.terminate()
        assert process.wait(30) == 0
