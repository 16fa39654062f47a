"""Links between brokers are for brokers of the network alone."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
import uvloop
from certificates import Papers
from live_network import (
    ANY_PORT,
    LOOPBACK,
    SETTINGS,
    hearing,
    introduce,
    new_host,
    running_brokers,
    small_overlay,
)
from ordinary_clients import until

from meshwright.live.peers import connection, peers
from meshwright.live.peers.connection import PeerConnection
from meshwright.live.peers.handshake import Known
from meshwright.live.peers.peers import Peers, PeerSettings
from meshwright.live.processes.live_broker import peer_settings
from meshwright.live.settings import PeerLinkSettings
from meshwright.protocol.foundation.events import LinkUp

GIVEN_UP_S = 0.1


def settings_of(papers: Papers, secret: Path) -> PeerSettings:
    tls = papers.settings(asks=True)
    return peer_settings(PeerLinkSettings(secret_file=secret, tls=tls))


def secret_in(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize("stranger", [None, "another authority", "another secret"])
def test_brokers_link_up_with_certificates_and_a_secret_or_not_at_all(
    stranger: str | None, tmp_path: Path
) -> None:
    ours, theirs = Papers(tmp_path / "ours"), Papers(tmp_path / "theirs")
    secret = secret_in(tmp_path / "secret", "a staple of words\n")
    guess = secret_in(tmp_path / "guess", "the guess of a horse\n")
    papers = theirs if stranger == "another authority" else ours
    other = settings_of(papers, guess if stranger == "another secret" else secret)

    async def story() -> None:
        overlay = small_overlay("chord", 2)
        first = new_host("b0", overlay, tmp_path, settings_of(ours, secret))
        second = new_host("b1", overlay, tmp_path, other)
        refusals: list[str] = []
        first.peers._refused = second.peers._refused = hearing(refusals)
        hosts = (first, second)
        brokers = {host.name: await host.start(LOOPBACK) for host in hosts}
        introduce(hosts, brokers)
        async with asyncio.timeout(20):
            if stranger is None:
                while not (first.peers.connected() and second.peers.connected()):
                    await asyncio.sleep(0.01)
                assert refusals == []
            elif stranger == "another secret":
                while not refusals:
                    await asyncio.sleep(0.01)
            else:
                # Every dial of either side ends in the handshake.
                for host in hosts:
                    while host.peers._dials:
                        await asyncio.sleep(0.01)
        if stranger is not None:
            assert first.peers.connected() == second.peers.connected() == ()
        for host in hosts:
            await host.stop()

    asyncio.run(story())


@pytest.mark.parametrize(("heartbeat_s", "is_noticed"), [(0.1, True), (60.0, False)])
def test_a_broker_that_falls_silent_is_lost_after_four_heartbeats(
    heartbeat_s: float, is_noticed: bool, tmp_path: Path
) -> None:
    async def story() -> None:
        links = PeerLinkSettings(listen=ANY_PORT, heartbeat_s=heartbeat_s)
        async with running_brokers("chord", tmp_path, 2, peers=links) as (first, second):
            async with asyncio.timeout(20):
                while len(first.host.view().alive) < 2:
                    await asyncio.sleep(0.01)
            await second.stop()
            async with asyncio.timeout(20):
                while is_noticed and len(first.host.view().alive) == 2:
                    await asyncio.sleep(0.01)
            assert (len(first.host.view().alive) == 1) is is_noticed

    asyncio.run(story())


def test_a_dial_that_is_given_up_once_it_stands_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands = PeerConnection.connection_made

    def stands_late(self: PeerConnection, transport: asyncio.BaseTransport) -> None:
        stands(self, transport)
        time.sleep(2 * GIVEN_UP_S if self.is_dialler else 0)  # all else waits, as on a busy machine

    monkeypatch.setattr(peers, "DIAL_S", GIVEN_UP_S)
    monkeypatch.setattr(connection, "HANDSHAKE_S", 2 * GIVEN_UP_S)
    monkeypatch.setattr(PeerConnection, "connection_made", stands_late)
    faults: list[object] = []

    async def strangers_left() -> list[PeerConnection]:
        asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
        async with running_brokers("chord", tmp_path, 2) as brokers:
            await asyncio.sleep(10 * GIVEN_UP_S)
            monkeypatch.setattr(PeerConnection, "connection_made", stands)
            await until(lambda: all(one.host.peers.connected() for one in brokers))
            return [left for one in brokers for left in one.host.peers._strangers]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        left = runner.run(strangers_left())
    assert not faults
    assert not left


def test_a_peer_that_comes_while_nobody_knows_where_it_is_stays_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> list[object]:
        told: list[object] = []
        here, there = (
            Peers(
                name, tmp_path / name, SETTINGS, tell=tell, refused=lambda _reason, _address: None
            )
            for name, tell in (("here", told.append), ("there", lambda _event: None))
        )
        there.brokers |= {"here": await here.listen(LOOPBACK, 1)}
        await there.listen(LOOPBACK, 1)
        comes = here._established

        def wanted_as_it_comes(connection: PeerConnection, news: Known) -> None:
            here.open("there")
            comes(connection, news)

        monkeypatch.setattr(here, "_established", wanted_as_it_comes)
        there.open("here")
        await until(lambda: bool(told))
        await asyncio.sleep(0.01)
        found = list(told)
        await there.close()
        await here.close()
        return found

    assert asyncio.run(story()) == [LinkUp("there")]
