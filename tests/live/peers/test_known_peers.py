"""Keys of other brokers are kept on disk, beside the loop that all connections share."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from pathlib import Path

import pytest
from live_network import running_brokers
from ordinary_clients import until

from meshwright.files.writing import write_whole
from meshwright.live.peers import identity
from meshwright.live.peers.connection import PeerConnection
from meshwright.live.peers.handshake import Known
from meshwright.live.peers.identity import KnownPeers


def test_a_hundred_keys_that_come_at_once_are_written_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Path] = []

    def counted(contents: Mapping[Path, bytes], *, is_private: bool) -> None:
        written.extend(contents)
        write_whole(contents, is_private=is_private)

    monkeypatch.setattr(identity, "write_whole", counted)
    keys = {f"b{number}": bytes([number]) * 32 for number in range(100)}
    known = KnownPeers(tmp_path)

    async def meet_all() -> None:
        known.learn({"b0": keys["b0"]}, but="me")
        writing = asyncio.create_task(known.write())
        for name, key in keys.items():
            await asyncio.sleep(0)
            known.learn({name: key}, but="me")
        await writing

    asyncio.run(meet_all())
    again = KnownPeers(tmp_path)
    again.open()
    assert again.keys == keys
    assert len(written) < 10


def test_what_brokers_tell_each_other_when_they_meet_is_not_kept_with_the_connection(
    tmp_path: Path,
) -> None:
    async def kept_when_met() -> list[object]:
        async with running_brokers("chord", tmp_path, 3) as brokers:
            await until(lambda: all(len(one.host.peers.connected()) == 2 for one in brokers))
            connections = [one for one in gc.get_objects() if isinstance(one, PeerConnection)]
            assert connections
            return [kept for one in connections for kept in vars(one).values()]

    assert not any(isinstance(one, Known) for one in asyncio.run(kept_when_met()))
