"""A few thousand of the packets of `make fuzz`, at brokers on real sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path

from live_network import port_of, running_brokers
from tests.live.fuzz import fuzz_brokers

from meshwright.live.system.addresses import Address


def test_brokers_outlive_packets_that_are_nearly_right(tmp_path: Path) -> None:
    async def story() -> None:
        async with running_brokers("chord", tmp_path, 2) as brokers:
            addresses = [Address("127.0.0.1", port_of(broker)) for broker in brokers]
            sent = await fuzz_brokers(addresses, 3_000, seed=1)
            assert sent.packets >= 3_000
            assert sent.proofs

    asyncio.run(story())
