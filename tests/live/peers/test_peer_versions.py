"""Brokers of other versions: either they speak with each other, or both say once why not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from live_network import (
    LOOPBACK,
    SETTINGS,
    hearing,
    introduce,
    new_host,
    reader_and_writer,
    small_overlay,
)
from ordinary_clients import until

from meshwright.errors import OperatorError, PeerError
from meshwright.live.peers.handshake import Handshake, Known, Refusal, decode_handshake
from meshwright.live.peers.identity import own_identity
from meshwright.live.peers.joining import find_network
from meshwright.live.peers.peers import new_greeting
from meshwright.live.system.addresses import Whereabouts, parse_address
from meshwright.protocol.mqtt.packets import Publish
from meshwright.protocol.wire import SPOKEN, WireVersions, encode

OLDER = WireVersions(newest=2, oldest=2)
NEWER = WireVersions(newest=SPOKEN.newest + 2, oldest=SPOKEN.newest + 1)
NEWER_THAT_SPEAKS_OURS = WireVersions(newest=SPOKEN.newest + 1, oldest=SPOKEN.newest)
# As brokers of version 2 greeted: "b1" of the network "test".
GREETING_2 = bytes.fromhex(
    "9aa84772656574696e6702a474657374a262310192ab3132372e302e302e313a31a0c420"
    + "6b" * 32 + "c420" + "68" * 32 + "c400c2"
)  # fmt: skip


@pytest.mark.parametrize("versions", [OLDER, NEWER])
def test_a_broker_of_a_version_that_is_not_spoken_is_refused_once_at_both_ends(
    versions: WireVersions, tmp_path: Path
) -> None:
    async def story() -> None:
        overlay = small_overlay("chord", 2)
        first = new_host("b0", overlay, tmp_path)
        second = new_host("b1", overlay, tmp_path, replace(SETTINGS, versions=versions))
        heard: dict[str, list[str]] = {"b0": [], "b1": []}
        hosts = (first, second)
        for host in hosts:
            host.peers._refused = hearing(heard[host.name])
        introduce(hosts, {host.name: await host.start(LOOPBACK) for host in hosts})
        for _ in range(3):
            for host, peer in ((first, "b1"), (second, "b0")):
                host.peers.open(peer)
            await until(lambda: not any(host.peers._dials for host in hosts))
            await until(lambda: not any(host.peers._strangers for host in hosts))
        assert first.peers.connected() == second.peers.connected() == ()
        for host in hosts:
            await host.stop()
        older = "b1" if versions is OLDER else "b0"
        advice = f"run the newer Meshwright at '{older}' too."
        speak = {"b0": f"'b0' speaks {SPOKEN}", "b1": f"'b1' speaks {versions}"}
        assert heard == {
            "b0": [f"Between brokers, {speak['b1']} and {speak['b0']}; {advice}"],
            "b1": [f"Between brokers, {speak['b0']} and {speak['b1']}; {advice}"],
        }

    asyncio.run(story())


def test_brokers_of_two_versions_speak_with_each_other_if_both_speak_one(tmp_path: Path) -> None:
    async def story() -> None:
        overlay = small_overlay("chord", 2)
        newer = replace(SETTINGS, versions=NEWER_THAT_SPEAKS_OURS)
        hosts = (new_host("b0", overlay, tmp_path), new_host("b1", overlay, tmp_path, newer))
        introduce(hosts, {host.name: await host.start(LOOPBACK) for host in hosts})
        reader, writer = await reader_and_writer(hosts[1], hosts[0])
        writer.say(Publish("t", b"heard", 1, packet_id=1))
        await reader.until(lambda _got: reader.payloads() == [b"heard"])
        for host in hosts:
            await host.stop()

    asyncio.run(story())


def test_a_broker_of_version_2_can_read_why_it_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        host = new_host("b0", small_overlay("chord", 2), tmp_path)
        heard: list[str] = []
        host.peers._refused = hearing(heard)
        address = parse_address((await host.start(LOOPBACK)).peers)
        answers, line = await asyncio.open_connection(*address)
        line.write(len(GREETING_2).to_bytes(4, "big") + GREETING_2)
        async with asyncio.timeout(10):
            said = await answers.read()
        line.close()
        await host.stop()
        greeting, refusal = messages_in(said)
        # What version 2 looks at, where it looks for it.
        assert greeting[:4] == ["Greeting", SPOKEN.newest, "test", "b0"]
        assert refusal == ["Refusal", heard[0]]
        assert heard[0].startswith("Between brokers, 'b1' speaks version 2 and 'b0' speaks ver")

    asyncio.run(story())


def messages_in(said: bytes) -> list[list[object]]:
    found = []
    while said:
        end = 4 + int.from_bytes(said[:4], "big")
        found.append(msgspec.msgpack.decode(said[4:end]))
        said = said[end:]
    return found


def test_who_would_join_a_network_of_another_version_is_told_so(tmp_path: Path) -> None:
    async def story() -> None:
        host = new_host("b0", small_overlay("chord", 2), tmp_path)
        address = (await host.start(LOOPBACK)).peers
        other = replace(SETTINGS, versions=OLDER)
        with pytest.raises(OperatorError, match="run the newer Meshwright at 'b7' too"):
            await asyncio.to_thread(find_network, "b7", tmp_path / "b7", (address,), other)
        await host.stop()

    asyncio.run(story())


def handshake_of(name: str, folder: Path, versions: WireVersions = SPOKEN) -> Handshake:
    settings = replace(SETTINGS, versions=versions)
    identity = own_identity(name, folder / name)
    return Handshake(identity, new_greeting(settings, name, Whereabouts("at")), settings.secret)


def test_a_newer_greeting_may_say_more_than_is_read_here(tmp_path: Path) -> None:
    ours = handshake_of("b0", tmp_path)
    newer = handshake_of("b1", tmp_path, NEWER_THAT_SPEAKS_OURS)
    newer.said = encode([*msgspec.msgpack.decode(newer.said), "more"])
    met = {}
    for one, other in ((ours, newer), (newer, ours)):
        greeting = decode_handshake(other.said, one.greeting)
        assert not isinstance(greeting, Refusal)
        one.meet(greeting, other.said, is_dialler=one is ours)
        met[one] = greeting
    proof = newer.prove(Known(founders=("b1",)), is_dialler=False)
    assert ours.check(proof, met[ours], is_dialler=False).founders == ("b1",)


def test_a_greeting_of_a_later_version_may_look_quite_different(tmp_path: Path) -> None:
    ours = handshake_of("b0", tmp_path)
    later = ["Greeting", 9, "test", "b1", {"lives": 3}, None, 1, 2, 3, 4, 8, ["more"]]
    with pytest.raises(PeerError, match="'b1' speaks versions 8 to 9 and 'b0' speaks version"):
        decode_handshake(encode(later), ours.greeting)
    with pytest.raises(PeerError, match="is no handshake"):
        decode_handshake(encode(["Greeting", "nine"]), ours.greeting)
