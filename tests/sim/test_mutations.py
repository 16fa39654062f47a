"""A swarm that finds nothing proves nothing: each of these broken lines must be found out."""

from __future__ import annotations

import inspect
import sys
import textwrap
from typing import Any

import pytest

from meshwright.protocol.deliveries import Deliveries
from meshwright.protocol.departing import Departing
from meshwright.protocol.incoming import Incoming
from meshwright.protocol.outgoing import Outgoing
from meshwright.protocol.publishing import Publishing
from meshwright.protocol.sessions import Sessions
from meshwright.protocol.turn import Journal
from meshwright.sim.parameters import SimulationParameters
from meshwright.sim.simulation import simulate

SEEDS_MAX = 40

MUTATIONS = [
    pytest.param(Journal, "close", "if self._waiting:", "if False:", id="early-promise"),
    pytest.param(
        Outgoing, "publish", 'turn.write(("log", topic, number), publication)', "pass", id="no-log"
    ),
    pytest.param(
        Outgoing, "tick", "if member.pending and", "if False and", id="no-repair-when-late"
    ),
    pytest.param(
        Outgoing, "_refresh", "if name != newcomer and", "if False and", id="nothing-unchecked-owed"
    ),
    pytest.param(
        Incoming, "_is_next", "return previous <= stream.last", "return True", id="no-waiting"
    ),
    pytest.param(
        Incoming, "arrive", "if frame.number <= stream.last:", "if False:", id="no-memory"
    ),
    pytest.param(
        Incoming, "_pass_on", 'turn.write(("position", *key), frame.number)', "pass", id="no-place"
    ),
    pytest.param(
        Incoming, "_pass_on", "if after is not None and", "if False and", id="order-not-carried"
    ),
    pytest.param(
        Deliveries,
        "queue",
        'turn.write(("queue", session.client, waiting.place), waiting)',
        "pass",
        id="queue-not-on-disk",
    ),
    pytest.param(
        Publishing,
        "publish",
        "session.received[packet.packet_id] = None",
        "pass",
        id="qos-2-not-remembered",
    ),
    pytest.param(
        Departing,
        "_go_if_complete",
        "if any(places.get(key, 0) < number for key, number in departure.owed.items()):",
        "if False:",
        id="leaves-too-early",
    ),
    pytest.param(
        Sessions, "deliver", "if frame.number <= floor:", "if False:", id="no-floors"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("owner", "method", "line", "broken"), MUTATIONS)
def test_the_swarm_finds_a_broken_line(
    owner: type, method: str, line: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, mutated(owner, method, line, broken))
    assert any(simulate(scenario(seed), seed).failures for seed in range(SEEDS_MAX))


def scenario(seed: int) -> SimulationParameters:
    return SimulationParameters(
        design=("chord", "tree", "gm2")[seed % 3],
        duration_s=8.0,
        faults=("crash", "partition", "disconnect"),
        mobility="standard",
        content_share=0.2,
        settle_max_s=40.0,
    )


def mutated(owner: type, method: str, line: str, broken: str) -> Any:
    source = textwrap.dedent(inspect.getsource(getattr(owner, method)))
    assert source.count(line) == 1, f"{line!r} is not in {owner.__name__}.{method} just once"
    names = dict(vars(sys.modules[owner.__module__]))
    exec(source.replace(line, broken), names)
    return names[method]
