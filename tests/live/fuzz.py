"""Packets that are nearly MQTT, by the million, against the codec and brokers that run.

`python -m tests.live.fuzz 1000000` (make fuzz) exits with 1 if a broker ends, hangs or leaks.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.protocol.mqtt.mqtt_mutations import blocks, conversation, mutated

from meshwright.client import Client
from meshwright.live.processes.local_network import LocalNetwork, free_ports
from meshwright.live.system.addresses import Address
from meshwright.planning.founding import founding_overlay
from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.packets import MQTT_3_1, MQTT_3_1_1, MQTT_5
from meshwright.protocol.mqtt.topic_texts import TopicTexts

VERSIONS = (MQTT_3_1, MQTT_3_1_1, MQTT_5)
NAME_COUNT = 8
LINE_COUNT = 8
PACKET_BYTES_MAX = 2_000
PATIENCE_S = 20.0
PROOF_EVERY_S = 1.0
ROUND_PACKETS = 50_000
# Sessions that are kept for ever are made by chance, and what waits for them is no leak.
FEW_WAIT = "[limits]\nqueue_max = 10\n"
# What sessions kept for ever and caches on their way to their bounds may come to; a leak is more.
GROWTH_BYTES_MAX = 64 << 20


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What was sent: packets, the connections that they went over, and proofs of life."""

    packets: int
    connections: int
    proofs: int = 0


def fuzz_codec(packet_count: int, seed: int) -> Fuzzed:
    """Decode packets; whatever is wrong with one is a fault of its connection and no error."""
    rng = np.random.default_rng(seed)
    spoken = {version: conversation(version, "c") for version in VERSIONS}
    topics = TopicTexts()
    sent = connections = 0
    while sent < packet_count:
        written = mutated(rng, spoken[VERSIONS[connections % len(VERSIONS)]])
        decoder = Decoder(packet_bytes_max=PACKET_BYTES_MAX, topic_alias_maximum=2, topics=topics)
        for block in blocks(rng, b"".join(written)):
            decoder.take(block)
        sent += len(written)
        connections += 1
    return Fuzzed(sent, connections)


async def fuzz_brokers(addresses: list[Address], packet_count: int, seed: int) -> Fuzzed:
    """Send packets to brokers that run, while two good clients prove that these still work."""
    lines = [
        asyncio.create_task(_attack(addresses, number, packet_count // LINE_COUNT, seed))
        for number in range(LINE_COUNT)
    ]
    proofs = 0
    reader, writer = Client(str(addresses[-1]), "good reader"), Client(str(addresses[0]), "good")
    async with asyncio.timeout(PATIENCE_S):
        await reader.__aenter__()
        await writer.__aenter__()
        await reader.subscribe("good/#", 1)
    while proofs == 0 or not all(line.done() for line in lines):
        await _prove(reader, writer, proofs)
        proofs += 1
        await asyncio.wait(lines, timeout=PROOF_EVERY_S)
    for client in (reader, writer):
        await client.__aexit__(None, None, None)
    sent = [await line for line in lines]
    return Fuzzed(sum(one.packets for one in sent), sum(one.connections for one in sent), proofs)


async def _prove(reader: Client, writer: Client, number: int) -> None:
    """A message goes from one broker to the other, and is acknowledged."""
    payload = b"%d" % number
    async with asyncio.timeout(PATIENCE_S):
        await writer.publish("good/proof", payload, 1)
        async for message in reader.messages:
            if message.payload == payload:
                return


async def _attack(addresses: list[Address], line: int, packet_count: int, seed: int) -> Fuzzed:
    """One connection after another, each with packets that are nearly right."""
    rng = np.random.default_rng((seed, line))
    sent = connections = 0
    while sent < packet_count:
        version = VERSIONS[rng.integers(len(VERSIONS))]
        name = f"bad{rng.integers(NAME_COUNT)}"
        # Sessions of MQTT 3 that are kept are kept for ever, which would look like a leak.
        is_clean = version != MQTT_5 or bool(rng.integers(2))
        written = mutated(rng, conversation(version, name, is_clean=is_clean))
        address = addresses[rng.integers(len(addresses))]
        async with asyncio.timeout(PATIENCE_S):
            # A broker that has had enough closes while we write.
            with suppress(OSError):
                await _send(rng, address, b"".join(written))
        sent += len(written)
        connections += 1
    return Fuzzed(sent, connections)


async def _send(rng: np.random.Generator, address: Address, stream: bytes) -> None:
    answers, line = await asyncio.open_connection(*address)
    try:
        for block in blocks(rng, stream):
            if line.is_closing() or answers.at_eof():
                return
            line.write(block)
            if rng.integers(4) == 0:
                await line.drain()
                await asyncio.sleep(0)
        if rng.integers(2):
            line.write_eof()
            await answers.read()
    finally:
        line.close()
        with suppress(OSError):
            await line.wait_closed()


def main(packet_count: int) -> int:
    """Fuzz both, tell what came of it, and return the exit code."""
    begun_s = time.perf_counter()
    decoded = fuzz_codec(packet_count, 0)
    print(f"codec: {decoded.packets:,} packets in {time.perf_counter() - begun_s:.0f} s")
    with tempfile.TemporaryDirectory() as folder:
        port = free_ports(4)
        overlay = founding_overlay("chord", ("one", "other"))
        settings = Path(folder) / "broker.toml"
        settings.write_text(FEW_WAIT)
        network = LocalNetwork(
            overlay, Path(folder), port=port, peer_port=port + 2, settings=settings
        )
        network.start()
        try:
            return _fuzz_processes(network, packet_count)
        finally:
            network.stop()


def _fuzz_processes(network: LocalNetwork, packet_count: int) -> int:
    addresses = [broker.clients for broker in network.brokers]
    first_bytes: list[int] = []
    done = rounds = 0
    while done < packet_count:
        begun_s = time.perf_counter()
        sent = asyncio.run(fuzz_brokers(addresses, min(ROUND_PACKETS, packet_count - done), rounds))
        if network.ended() is not None:
            print("a broker has ended")
            return 1
        held_bytes = [_resident_bytes(one.process.pid) for one in network.brokers]
        first_bytes = first_bytes or held_bytes
        done += sent.packets
        rounds += 1
        print(
            f"brokers: {done:,} packets, {sent.connections:,} connections, {sent.proofs} proofs in "
            f"{time.perf_counter() - begun_s:.0f} s; "
            f"{', '.join(f'{one / 2**20:.1f} MiB' for one in held_bytes)}",
            flush=True,
        )
    grown = [now - then for now, then in zip(held_bytes, first_bytes, strict=True)]
    if max(grown) > GROWTH_BYTES_MAX:
        print(f"a broker has grown by {max(grown) / 2**20:.1f} MiB since the first round")
        return 1
    print("no broker ended, hung or leaked")
    return 0


def _resident_bytes(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * 4_096


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
