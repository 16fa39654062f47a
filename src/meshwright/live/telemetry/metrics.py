"""A broker's counts as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from meshwright.live.telemetry.carried import CarriedCounts
from meshwright.live.telemetry.meter import Meter
from meshwright.live.telemetry.reports import Reports
from meshwright.protocol.inspection import BrokerView

NAMED_MAX = 100
SLOW = "the client reads too slowly"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """All that metrics tell of one moment; slow_dropped: messages that slow clients did not get."""

    meter: Meter
    view: BrokerView
    clients: int
    peers: int
    slow_dropped: int
    connections_refused: int
    sync_count: int
    sync_s: float
    loop_lag_s: float
    disk_is_full: bool
    started_s: float
    reports: Reports | None


def metrics_text(readings: Readings) -> bytes:
    """The readings in Prometheus' text format."""
    registry = CollectorRegistry()
    registry.register(_Readings(readings))
    return generate_latest(registry)


def metric_families(readings: Readings) -> Iterator[Metric]:
    """Every metric by its name, with its meaning and what the readings say of it."""
    yield from _traffic(readings)
    yield from _losses(readings)
    yield from _standing(readings)
    yield from _waits(readings.view)
    if readings.reports is not None:
        yield from _reports(readings.reports)


class _Readings(Collector):
    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Metric]:
        return metric_families(self._readings)


def _traffic(readings: Readings) -> Iterator[Metric]:
    meter = readings.meter
    by_qos = (
        ("messages_received", "Messages that clients published", meter.received_messages),
        ("message_bytes_received", "Payload bytes of them", meter.received_bytes),
        ("messages_sent", "Messages delivered to clients", meter.sent_messages),
        ("message_bytes_sent", "Payload bytes of them", meter.sent_bytes),
    )
    for name, meaning, counts in by_qos:
        family = CounterMetricFamily(f"meshwright_{name}", meaning, labels=["qos"])
        for qos, count in enumerate(counts):
            family.add_metric([str(qos)], count)
        yield family
    meaning = "Messages sent to other brokers"
    family = CounterMetricFamily("meshwright_peer_messages_sent", meaning, labels=["class"])
    for name, count in meter.peer_messages_by_class().items():
        family.add_metric([name], count)
    yield family
    if meter.carried is not None:
        yield from _carried(meter.carried.counts)


def _carried(counts: CarriedCounts) -> Iterator[Metric]:
    meaning = "Messages of publications that came from other brokers"
    family = CounterMetricFamily("meshwright_carried", meaning, labels=["kind"])
    for name in ("entering", "wanted", "relayed"):
        family.add_metric([name], getattr(counts, name))
    yield family
    meaning = "Publications that came from other brokers for clients here"
    yield CounterMetricFamily("meshwright_arrivals", meaning, value=counts.arrivals)
    meaning = "Hops that they had made"
    yield CounterMetricFamily("meshwright_arrival_hops", meaning, value=counts.arrival_hops)


def _losses(readings: Readings) -> Iterator[Metric]:
    meter = readings.meter
    refused = CounterMetricFamily(
        "meshwright_refused", "What clients asked for in vain, by reason code", labels=["reason"]
    )
    for reason, count in sorted(meter.refused.items()):
        refused.add_metric([f"0x{reason:02x}"], count)
    yield refused
    dropped = CounterMetricFamily(
        "meshwright_dropped", "Messages that were not handed on, by reason", labels=["reason"]
    )
    reasons = {**meter.dropped, SLOW: readings.slow_dropped}
    for text, count in sorted(reasons.items()):
        dropped.add_metric([text], count)
    yield dropped
    losses = (("client", meter.losses.by_client), ("topic", meter.losses.by_topic))
    for label, counts in losses:
        name, meaning = f"meshwright_dropped_by_{label}", f"Messages not handed on, by {label}"
        family = CounterMetricFamily(name, meaning, labels=[label])
        for text, count in sorted(counts.items()):
            family.add_metric([text], count)
        yield family
    yield CounterMetricFamily(
        "meshwright_connections_refused",
        "Connections that were too many",
        value=readings.connections_refused,
    )


def _waits(view: BrokerView) -> Iterator[Metric]:
    """Queues that are full, and who waits for which of them; the first ones of many by name."""
    meaning = "Clients and groups whose queues are known to be full"
    yield GaugeMetricFamily("meshwright_full_queues", meaning, value=len(view.full_queues))
    meaning = "Clients that are not answered until there is room for what they publish"
    yield GaugeMetricFamily("meshwright_held_back_clients", meaning, value=len(view.held_back))
    full = GaugeMetricFamily(
        "meshwright_full_queue", "1 for a queue that is full", labels=["client", "at"]
    )
    for queue in view.full_queues[:NAMED_MAX]:
        full.add_metric([queue.client, queue.broker], 1)
    yield full
    held = GaugeMetricFamily(
        "meshwright_held_back_messages",
        "Messages of a client that wait, and for whose queue",
        labels=["client", "topic", "waits_for", "at"],
    )
    for one in view.held_back[:NAMED_MAX]:
        held.add_metric([one.client, one.topic, one.waits_for, one.broker], one.messages)
    yield held


def _standing(readings: Readings) -> Iterator[Metric]:
    view = readings.view
    counts = (
        ("connects", "Clients that were let in", readings.meter.connects),
        ("disk_syncs", "Syncs of the disk", readings.sync_count),
        ("disk_sync_seconds", "Time that they took", readings.sync_s),
    )
    for name, meaning, count in counts:
        yield CounterMetricFamily(f"meshwright_{name}", meaning, value=count)
    gauges = (
        ("clients", "Clients that are connected", readings.clients),
        ("sessions", "Sessions that are kept here", len(view.sessions)),
        (
            "subscriptions",
            "Subscriptions of all sessions",
            sum(len(one.subscriptions) for one in view.sessions),
        ),
        (
            "retained",
            "Topics whose retained message is kept here, those of $SYS among them",
            view.retained,
        ),
        ("kept_publications", "Publications that somebody may still need", view.kept),
        ("peers_connected", "Brokers with which a connection stands", readings.peers),
        ("brokers_alive", "Brokers believed to live", len(view.alive)),
        ("epoch", "Epoch of the overlay in force", view.epoch),
        ("loop_lag_seconds", "How late the event loop was at most lately", readings.loop_lag_s),
        ("disk_full", "1 if the disk has no room", float(readings.disk_is_full)),
        ("start_time_seconds", "When the broker started", readings.started_s),
    )
    for name, meaning, value in gauges:
        yield GaugeMetricFamily(f"meshwright_{name}", meaning, value=value)
    queues = GaugeMetricFamily(
        "meshwright_queue_length", "The longest queue of each kind", labels=["queue"]
    )
    for queue in view.queues:
        queues.add_metric([queue.name], queue.length)
    yield queues
    meaning = "Topics published here whose receivers are joined by fewer than k ways"
    yield GaugeMetricFamily("meshwright_weak_topics", meaning, value=len(view.weak_topics))
    weak = GaugeMetricFamily(
        "meshwright_weak_topic_ways", "By how many they are joined", labels=["topic", "k"]
    )
    for topic in view.weak_topics[:NAMED_MAX]:
        weak.add_metric([topic.topic, str(topic.k)], topic.held)
    yield weak
    staying = GaugeMetricFamily(
        "meshwright_staying_clients",
        "Connected clients that cannot be sent to another broker",
        labels=["reason"],
    )
    for reason, count in view.staying.items():
        staying.add_metric([reason], count)
    yield staying
    trips = GaugeMetricFamily(
        "meshwright_round_trip_seconds", "A word to a broker and its answer", labels=["peer"]
    )
    for peer, trip_ms in view.round_trips_ms.items():
        trips.add_metric([peer], trip_ms / 1000)
    yield trips


def _reports(reports: Reports) -> Iterator[Metric]:
    meaning = "Telemetry that waits to be taken"
    yield GaugeMetricFamily("meshwright_report_bytes", meaning, value=reports.kept_bytes)
    meaning = "Files of telemetry that were dropped because nobody took them"
    yield CounterMetricFamily("meshwright_reports_dropped", meaning, value=reports.dropped_files)
    meaning = "Bytes of them"
    yield CounterMetricFamily(
        "meshwright_report_bytes_dropped", meaning, value=reports.dropped_bytes
    )
