"""Who may come in where brokers meet: no stranger, no changed word, no borrowed name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from certificates import Papers
from live_network import LOOPBACK, SETTINGS, hearing, new_host, reader_and_writer, small_overlay
from ordinary_clients import until
from typer.testing import CliRunner

from meshwright.cli.brokers.live_options import combined_settings
from meshwright.cli.main import app
from meshwright.errors import OperatorError
from meshwright.live.host.host import Host
from meshwright.live.peers.handshake import Greeting, Proof, Refusal
from meshwright.live.peers.joining import find_network
from meshwright.live.peers.peers import PeerSettings
from meshwright.live.processes.live_broker import peer_settings
from meshwright.live.processes.local_network import LocalNetwork, free_ports
from meshwright.live.settings import PeerLinkSettings
from meshwright.live.system.addresses import Address, Whereabouts, parse_address
from meshwright.planning.founding import founding_overlay
from meshwright.protocol.mqtt.packets import Publish
from meshwright.protocol.wire import SPOKEN, encode

WORDS = "a secret that is long enough\n"
TAMPERED = "was not sent so"


def judged(*words: str | Path) -> Any:
    return CliRunner().invoke(app, ["broker", *map(str, words), "--test-config"])


@pytest.mark.parametrize("address", ["0.0.0.0:22000", "[::]:22000", "broker.example:22000"])
def test_a_door_for_brokers_beyond_this_machine_needs_a_secret_or_certificates(
    address: str, tmp_path: Path
) -> None:
    refused = judged("--peer-listen", address, "--data", tmp_path / "b")
    assert refused.exit_code == 2
    assert "anybody could join" in refused.stderr
    assert "peers.secret_file" in refused.stderr
    started = CliRunner().invoke(app, ["broker", "--peer-listen", address])
    assert started.stderr == refused.stderr
    config = tmp_path / "broker.toml"
    config.write_text(f'[peers]\nlisten = "{address}"\n')
    assert judged("--config", config).exit_code == 2
    secret = tmp_path / "secret"
    secret.write_text(WORDS)
    given = combined_settings(
        config, name=None, listen=None, peer_listen=None, folder=None, secret=secret
    )
    assert given.peers.secret_file == secret
    papers = Papers(tmp_path)
    with config.open("a") as file:
        file.write(f'[peers.tls]\ncertificate = "{papers.certificate}"\nkey = "{papers.key}"\n')
    assert "peers.tls has no authorities" in judged("--config", config).stderr


def test_a_secret_that_could_be_guessed_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("short\n")
    with pytest.raises(OperatorError, match="could be guessed"):
        peer_settings(PeerLinkSettings(secret_file=secret))


class Meddler:
    """Stands between two brokers and passes on messages of the dialler as it likes."""

    def __init__(self, target: str, changed: Callable[[int, bytes], list[bytes]]) -> None:
        self._target = parse_address(target)
        self._changed = changed
        self._server: asyncio.Server | None = None

    async def open(self) -> str:
        self._server = await asyncio.start_server(self._between, "127.0.0.1", 0)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _between(self, answers: asyncio.StreamReader, line: asyncio.StreamWriter) -> None:
        others, onward = await asyncio.open_connection(*self._target)
        await asyncio.gather(
            self._pass_on(answers, onward), self._pass_on(others, line, is_changed=False)
        )

    async def _pass_on(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, *, is_changed: bool = True
    ) -> None:
        number = 0
        try:
            while True:
                length = await source.readexactly(4)
                said = length + await source.readexactly(int.from_bytes(length, "big"))
                to.writelines(self._changed(number, said) if is_changed else [said])
                number += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            to.close()

    def close(self) -> None:
        assert self._server is not None
        self._server.close()


def as_they_are(_number: int, said: bytes) -> list[bytes]:
    return [said]


def with_a_bit_changed(number: int, said: bytes) -> list[bytes]:
    return [said] if number < 4 else [said[:-1] + bytes((said[-1] ^ 1,))]


def with_a_word_changed(number: int, said: bytes) -> list[bytes]:
    return [said] if number < 4 else [said[:5] + bytes((said[5] ^ 1,)) + said[6:]]


def each_twice(number: int, said: bytes) -> list[bytes]:
    return [said] if number < 4 else [said, said]


def without_some(number: int, said: bytes) -> list[bytes]:
    return [] if number == 4 else [said]


def with_more(number: int, said: bytes) -> list[bytes]:
    return [said] if number < 4 else [said, b"\0\0\0\x01\x90"]


@pytest.mark.parametrize(
    "changed",
    [as_they_are, with_a_bit_changed, with_a_word_changed, each_twice, without_some, with_more],
)
def test_what_is_meddled_with_between_brokers_breaks_the_link(
    changed: Callable[[int, bytes], list[bytes]], tmp_path: Path
) -> None:
    async def story() -> None:
        overlay = small_overlay("chord", 2)
        first, second = (new_host(name, overlay, tmp_path) for name in ("b0", "b1"))
        told: list[str] = []
        second.peers._refused = hearing(told)
        await first.start(LOOPBACK)
        found = await second.start(LOOPBACK)
        meddler = Meddler(found.peers, changed)
        first.peers.brokers["b1"] = Whereabouts(await meddler.open())
        first.peers.open("b1")
        await until(lambda: bool(first.peers.connected() and second.peers.connected()))
        if changed is as_they_are:
            reader, writer = await reader_and_writer(second, first)
            for number in range(8):
                writer.say(Publish("t", b"%d" % number, 1, packet_id=number + 1))
            await reader.until(lambda _got: len(reader.payloads()) == 8)
            assert not told
        else:
            await until(lambda: any(TAMPERED in reason for reason in told))
        for host in (first, second):
            await host.stop()
        meddler.close()

    asyncio.run(story())


def test_handshakes_that_are_nearly_right_harm_nobody(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    greeting = Greeting(
        SPOKEN.newest, "test", "stranger", 1, Whereabouts("nowhere"), b"k" * 32, b"h" * 32
    )
    names = list(msgspec.structs.asdict(greeting))
    odd = (b"", b"\0" * 32, b"x" * 32, "", "b0", "\n" * 300, -1, 2**62, True)

    def spoilt() -> bytes:
        name, value = names[rng.integers(len(names))], odd[rng.integers(len(odd))]
        said = bytearray(encode(msgspec.structs.replace(greeting, **{name: value})))
        if rng.integers(2):
            said[rng.integers(len(said))] ^= 1 << int(rng.integers(8))
        more = encode((Proof(b"", b"", b""), Refusal("no\n" * 9), greeting)[rng.integers(3)])
        parts = (bytes(said), more, rng.bytes(rng.integers(40)))
        return b"".join(len(one).to_bytes(4, "big") + one for one in parts)

    async def knock(address: Address) -> None:
        answers, line = await asyncio.open_connection(*address)
        line.write(spoilt())
        with suppress(ConnectionError):
            await answers.read()
        line.close()

    async def story() -> None:
        wrong: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: wrong.append(what))
        async with pair(tmp_path) as (first, _):
            told: list[str] = []
            first.peers._refused = hearing(told)
            address = parse_address(first.peers.brokers["b0"].peers)
            for _ in range(10):
                await asyncio.gather(*(knock(address) for _ in range(20)))
            await until(lambda: not first.peers._strangers)
            assert first.peers.connected() == ("b1",)
            assert 1 < len(told) < 200
        assert not wrong

    asyncio.run(story())


@asynccontextmanager
async def pair(folder: Path, settings: PeerSettings = SETTINGS) -> AsyncIterator[list[Host]]:
    """Two brokers that have met."""
    overlay = small_overlay("chord", 2)
    hosts = [new_host(name, overlay, folder, settings) for name in ("b0", "b1")]
    found = [await host.start(LOOPBACK) for host in hosts]
    hosts[0].peers.brokers["b1"] = found[1]
    hosts[0].peers.open("b1")
    await until(lambda: all(host.peers.connected() for host in hosts))
    try:
        yield hosts
    finally:
        for host in hosts:
            await host.stop()


def test_a_broker_that_knows_the_secret_cannot_take_the_name_of_another(tmp_path: Path) -> None:
    async def story() -> None:
        async with pair(tmp_path) as (first, second):
            heard: list[str] = []
            first.peers._refused = hearing(heard)
            await second.stop()
            await until(lambda: not first.peers.connected())
            told: list[str] = []
            thief = new_host("b1", small_overlay("chord", 2), tmp_path / "elsewhere")
            thief.peers._refused = hearing(told)
            await thief.start(LOOPBACK)
            thief.peers.brokers["b0"] = first.peers.brokers["b0"]
            thief.peers.open("b0")
            await until(lambda: bool(heard and told))
            assert "The name 'b1' belongs to another broker" in heard[0]
            assert told[0].startswith("'b0' refuses this broker: The name 'b1' belongs to another")
            assert not first.peers.connected()
            await thief.stop()
            # The one whose name it is may come back.
            owner = new_host("b1", small_overlay("chord", 2), tmp_path)
            await owner.start(LOOPBACK)
            owner.peers.brokers["b0"] = first.peers.brokers["b0"]
            owner.peers.open("b0")
            await until(lambda: bool(first.peers.connected()))
            await owner.stop()

    asyncio.run(story())


def test_a_newcomer_learns_who_has_which_name_from_whom_it_joins(tmp_path: Path) -> None:
    async def story() -> None:
        async with pair(tmp_path) as (first, second):
            third = new_host("b2", small_overlay("chord", 3), tmp_path)
            await third.start(LOOPBACK)
            third.peers.brokers["b0"] = first.peers.brokers["b0"]
            third.peers.open("b0")
            await until(lambda: "b0" in third.peers.connected())
            await second.stop()
            heard: list[str] = []
            third.peers._refused = hearing(heard)
            thief = new_host("b1", small_overlay("chord", 3), tmp_path / "elsewhere")
            await thief.start(LOOPBACK)
            thief.peers.brokers["b2"] = third.peers.brokers["b2"]
            thief.peers.open("b2")
            await until(lambda: any("belongs to another broker" in one for one in heard))
            assert "b1" not in third.peers.connected()
            await thief.stop()
            await third.stop()

    asyncio.run(story())


def test_a_name_that_is_taken_is_refused_aloud_to_who_would_join(tmp_path: Path) -> None:
    async def story() -> None:
        async with pair(tmp_path) as (first, second):
            heard: list[str] = []
            first.peers._refused = hearing(heard)
            for name, at in (("b1", first), ("b0", first)):
                address = at.peers.brokers[at.name].peers
                with pytest.raises(OperatorError, match=rf"{name} cannot join at {address}: .*nam"):
                    await asyncio.to_thread(
                        find_network, name, tmp_path / "other" / name, (address,), SETTINGS
                    )
            await until(lambda: len(heard) == 2)
            assert "'b1' belongs to another broker" in heard[0]
            assert "calls itself 'b0' too" in heard[1]
            assert second.peers.connected() == ("b0",)

    asyncio.run(story())


def test_a_folder_belongs_to_one_broker(tmp_path: Path) -> None:
    async def story() -> None:
        async with pair(tmp_path):
            pass

    asyncio.run(story())
    with pytest.raises(OperatorError, match="belongs to the broker 'b0', not to 'b7'"):
        find_network("b7", tmp_path / "b0", ("127.0.0.1:1",), SETTINGS)


def test_who_passes_on_words_of_another_through_its_own_certificate_is_found_out(
    tmp_path: Path,
) -> None:
    papers, others = Papers(tmp_path / "ours"), Papers(tmp_path / "others")
    issued = papers.authority.issue_cert("localhost")
    issued.cert_chain_pems[0].write_to_path(str(others.certificate))
    issued.private_key_pem.write_to_path(str(others.key))

    def shown_by(one: Papers) -> PeerSettings:
        tls = msgspec.structs.replace(one.settings(asks=True), authorities=papers.trusted)
        return peer_settings(PeerLinkSettings(tls=tls))

    async def story() -> None:
        async with pair(tmp_path, shown_by(papers)) as hosts:
            assert all(host.peers.connected() for host in hosts)
        # A member with a certificate of its own says that it has that of another.
        lying = as_if(shown_by(others), shown_by(papers))
        overlay = small_overlay("chord", 2)
        first = new_host("b0", overlay, tmp_path, shown_by(papers))
        second = new_host("b1", overlay, tmp_path, lying)
        heard: list[str] = []
        first.peers._refused = hearing(heard)
        at = [await host.start(LOOPBACK) for host in (first, second)]
        first.peers.brokers["b1"] = at[1]
        first.peers.open("b1")
        await until(lambda: bool(heard))
        assert "shows another certificate than it says" in heard[0]
        for host in (first, second):
            await host.stop()

    asyncio.run(story())


def test_those_who_fail_at_encryption_take_no_room_from_brokers(tmp_path: Path) -> None:
    papers = Papers(tmp_path / "ours")
    settings = peer_settings(PeerLinkSettings(tls=papers.settings(asks=True)))

    async def story() -> None:
        overlay = small_overlay("chord", 2)
        first, second = (new_host(name, overlay, tmp_path, settings) for name in ("b0", "b1"))
        at = [await host.start(LOOPBACK) for host in (first, second)]
        for _ in range(first.peers._strangers_max + 1):
            answers, line = await asyncio.open_connection(*parse_address(at[0].peers))
            line.write(b"this is no TLS\r\n" * 10)
            with suppress(ConnectionError):
                await answers.read()
            line.close()
        second.peers.brokers["b0"] = at[0]
        second.peers.open("b0")
        await until(lambda: bool(first.peers.connected()))
        for host in (first, second):
            await host.stop()

    asyncio.run(story())


def as_if(shows: PeerSettings, says: PeerSettings) -> PeerSettings:
    """Settings of who shows one certificate and says that it is another."""
    return PeerSettings(
        network=shows.network,
        secret=shows.secret,
        listening=shows.listening,
        dialling=shows.dialling,
        certificate=says.certificate,
    )


def modes_in(folder: Path) -> dict[str, int]:
    """Who may see what is in a folder."""
    modes = {}
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            modes[path.name] = path.stat().st_mode & 0o777
    return modes


def test_a_network_on_this_machine_has_a_secret_by_which_another_broker_joins(
    tmp_path: Path,
) -> None:
    port = free_ports(4)
    settings = tmp_path / "broker.toml"
    settings.write_text('[telemetry]\ntrace = "up/trace"\ntrace_every_s = 0.1\n')
    network = LocalNetwork(
        founding_overlay("chord", ("b0", "b1")),
        tmp_path / "up",
        port=port,
        peer_port=port + 2,
        settings=settings,
    )
    network.start()
    try:
        secret = tmp_path / "up" / "secret"
        assert secret.stat().st_mode & 0o777 == 0o600
        address = f"127.0.0.1:{port + 2}"
        stock = PeerSettings(network="meshwright", secret=b"")
        with pytest.raises(OperatorError, match="does not know the secret"):
            find_network("north", tmp_path / "north", (address,), stock)
        given = peer_settings(PeerLinkSettings(secret_file=secret))
        assert find_network("north", tmp_path / "north", (address,), given).overlay.brokers == (
            "b0",
            "b1",
        )
        log = (tmp_path / "up" / "b0" / "broker.log").read_text()
        assert "'north' does not know the secret of this network" in log
        deadline_s = time.monotonic() + 20
        while "b0.parquet" not in (modes := modes_in(tmp_path / "up")):
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        modes |= modes_in(tmp_path / "north")
        assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}
        assert {"overlay.json", "brokers.json", "network.json"} <= set(modes)
        assert {"broker.sqlite", "broker.sqlite-wal", "identity.json", "broker.log"} <= set(modes)
        assert {"trace", "brokers", "b0.parquet"} <= set(modes)
    finally:
        network.stop()
