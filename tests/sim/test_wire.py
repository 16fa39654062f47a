"""Brokers that speak and store bytes do exactly what brokers do that hand objects around."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from meshwright import protocol
from meshwright.errors import PeerError
from meshwright.model.overlay import Overlay
from meshwright.protocol.foundation.effects import Effect
from meshwright.protocol.foundation.events import Event, PeerEnvelope, Started
from meshwright.protocol.observation import Observation
from meshwright.protocol.peers.conversations import Hello
from meshwright.protocol.wire import DISK_VALUES, decode_disk, decode_envelopes, encode
from meshwright.sim.brokers.host import Machine
from meshwright.sim.runs.simulation import builder_of, simulate
from meshwright.sim.scenario.parameters import SimulationParameters

DESIGNS = ("chord", "tapestry", "quadtree", "hypercube", "gm2", "harary", "tree")
FAULTS = ("crash", "partition", "disconnect", "disk_full")


class ThroughBytes:
    """A broker whose envelopes and disk have been bytes on the way."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def step(self, now_us: int, event: Event) -> list[Effect]:
        if isinstance(event, PeerEnvelope):
            event = PeerEnvelope(event.peer, decode_envelopes(encode([event.envelope]))[0])
        elif isinstance(event, Started):
            items = (decode_disk(encode(key), encode(it)) for key, it in event.disk.items())
            event = Started(event.incarnation, dict(items))
        return self._machine.step(now_us, event)

    def observe(self) -> Observation:
        return self._machine.observe()


@pytest.mark.parametrize("design", DESIGNS)
def test_bytes_between_brokers_change_nothing(design: str) -> None:
    parameters = SimulationParameters(
        design=design, duration_s=5.0, faults=FAULTS, mobility="home+prefetching", reconfigure=True
    )
    build = builder_of(parameters)

    def through_bytes(name: str, overlay: Overlay) -> Any:
        return ThroughBytes(build(name, overlay))

    for seed in range(3):
        plain, wired = simulate(parameters, seed), simulate(parameters, seed, through_bytes)
        assert wired.totals["acknowledged"] > 0
        assert wired == plain


def test_what_is_no_envelope_is_refused() -> None:
    unheard = [31, 1, 2, 3, 4, None]
    for refused in (
        b"",
        b"\xc1",
        encode([["Hello", 1, 2, 3]]),
        encode([[33, 1]]),
        encode([unheard]),
        encode(Hello(1, 2, 3)),
    ):
        with pytest.raises(PeerError, match="cannot be read"):
            decode_envelopes(refused)
    assert decode_envelopes(encode([Hello(1, 2, 3)])) == [Hello(1, 2, 3)]


def test_an_envelope_names_its_fields_by_their_order_only() -> None:
    assert msgspec.msgpack.decode(encode(Hello(1, 2, 3))) == [32, 1, 2, 3]


def test_every_kind_of_disk_value_has_a_type() -> None:
    sources = [path.read_text() for path in Path(protocol.__path__[0]).rglob("*.py")]
    kinds = {kind for text in sources for kind in re.findall(r'write\(\(f?"([^"]+)"', text)}
    constants = {kind for text in sources for kind in re.findall(r'DiskKey = \("([^"]+)"', text)}
    assert kinds | constants <= set(DISK_VALUES)
