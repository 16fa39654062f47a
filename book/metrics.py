"""docs/reference/metrics.md: every metric of a broker, read off one that has one of everything."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from prometheus_client.core import Metric

from book.markdown import code, item, page
from meshwright.live.system.clock import Clock
from meshwright.live.telemetry.carried import CarriedFrames
from meshwright.live.telemetry.meter import Meter
from meshwright.live.telemetry.metrics import NAMED_MAX, Readings, metric_families
from meshwright.live.telemetry.reports import Reports
from meshwright.model.overlay import Overlay
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.inspection import BrokerView, FullQueueView, HeldBackView, QueueView
from meshwright.protocol.reconfiguration.topic_watch import TopicCohesion

HEAD = f"""# Metrics

With `telemetry.http` set, a broker answers `/metrics` in Prometheus' text format. Counters count
from the start of the broker. Of full queues, clients that wait and weak topics, {NAMED_MAX} at most
are named. Those of messages that were carried, of arrivals and of reports are there where telemetry
is recorded (`telemetry.trace`). A manager has no metrics of its own: its [REST](rest.md) service
tells figures of the whole network (`/figures`).
"""


def metrics_page() -> str:
    """The page."""
    with TemporaryDirectory() as folder:
        families = list(metric_families(_readings(Path(folder))))
    by_kind = {
        kind: "\n".join(_told(one) for one in families if one.type == kind)
        for kind in ("counter", "gauge")
    }
    return page(HEAD.strip(), "## Counters", by_kind["counter"], "## Gauges", by_kind["gauge"])


def _told(family: Metric) -> str:
    """One metric, with the labels that its samples have."""
    sample = family.samples[0]
    labels = f" by {', '.join(map(code, sample.labels))}" if sample.labels else ""
    return item(f"{code(sample.name)}{labels}", family.documentation)


def _readings(folder: Path) -> Readings:
    """A broker to which everything has happened once, so that every metric has a sample."""
    meter = Meter(Clock())
    meter.carried = CarriedFrames("b0", lambda _topic: True)
    meter.refused[0x97] = meter.dropped["any"] = meter.peer_messages[PeerMessage] = 1
    meter.losses.count("c", "t")
    return Readings(
        meter=meter, view=_view(), clients=1, peers=1, slow_dropped=1, connections_refused=1,
        sync_count=1, sync_s=1.0, loop_lag_s=0.0, disk_is_full=False, started_s=0.0,
        reports=Reports(folder, "b0", 0),
    )  # fmt: skip


def _view() -> BrokerView:
    return BrokerView(
        broker="b0",
        epoch=1,
        overlay=Overlay(design="tree", brokers=("b0", "b1"), links=(("b0", "b1"),)),
        alive=("b0", "b1"),
        removed=(),
        neighbours=("b1",),
        sessions=(),
        interests=(),
        queues=(QueueView("deliveries", 0, 1),),
        plan=None,
        star=None,
        is_emptying=False,
        retained=0,
        kept=0,
        full_queues=(FullQueueView("c", "b0"),),
        held_back=(
            HeldBackView(client="c", topic="t", waits_for="d", broker="b1", messages=1, since_us=0),
        ),
        round_trips_ms={"b1": 1.0},
        staying={"any": 1},
        weak_topics=(TopicCohesion(topic="t", held=1, k=2, receivers=3),),
    )
