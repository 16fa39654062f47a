"""What one order across all topics costs between brokers, against an order for each topic."""

from __future__ import annotations

import statistics
import time

from benchmarks.table import Row
from meshwright.model.overlay import Overlay
from meshwright.protocol.broker import Broker
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.streams.outgoing import OutgoingSettings
from meshwright.sim.runs.collector import rare_collections
from meshwright.sim.runs.run import run
from meshwright.sim.scenario.parameters import SimulationParameters

QUALITIES = {"QoS 0": (1.0, 0.0, 0.0), "QoS 1": (0.0, 1.0, 0.0)}
ROUND_COUNT = 5
# It would be on for all topics if it cost no more.
SHARE_MAX = 0.05


def rows() -> list[Row]:
    with rare_collections():
        return [_row(name) for name in QUALITIES]


def _row(name: str) -> Row:
    """Rounds of both kinds by turns; CPU time of the whole run for each delivery."""
    plain_s, ordered_s = [], []
    for _ in range(ROUND_COUNT):
        plain_s.append(_measured(name, ())[0])
        seconds, message_count = _measured(name, ("#",))
        ordered_s.append(seconds)
    before = _measured(name, ())[1]
    share = statistics.median(ordered_s) / statistics.median(plain_s) - 1
    return Row(
        f"chord, 8 brokers, {name}, rows of messages on 12 topics: CPU time for each delivery",
        f"{share:+.0%} with one order",
        "off unless asked for",
        note=f"{message_count - before:+,} messages between brokers, to {before:,} without; "
        f"median of {ROUND_COUNT}; on for all only if under {SHARE_MAX:.0%}",
    )


def _measured(name: str, across_topics: tuple[str, ...]) -> tuple[float, int]:
    """Seconds for each delivery, and messages between brokers in all."""
    settings = BrokerSettings(outgoing=OutgoingSettings(across_topics=across_topics))

    def build(broker: str, overlay: Overlay) -> Broker:
        return Broker(broker, settings, overlay)

    parameters = SimulationParameters(
        design="chord",
        duration_s=5.0,
        publications_per_s=100.0,
        changes_per_s=0.0,
        qos_weights=QUALITIES[name],
        ordered=True,
    )
    start_s = time.process_time()
    done = run(parameters, 1, build)
    spent_s = time.process_time() - start_s
    message_count = sum(done.world.counts_by_class().values())
    return spent_s / len(done.world.history.deliveries), message_count
