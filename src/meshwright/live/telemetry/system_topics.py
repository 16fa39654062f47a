"""What a broker tells of itself on $SYS topics, in the two shapes that users know.

$SYS/broker/... is about the broker that a client is connected to, as Mosquitto has it; it is told
to its own clients only. $SYS/brokers/NAME/... is about any broker, as EMQX has it; it is retained
in the whole network.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from meshwright import __version__
from meshwright.errors import FilterError
from meshwright.filters.filter import matches, parse_filter
from meshwright.live.telemetry.metrics import Readings
from meshwright.model.times import SECOND_US
from meshwright.protocol.mqtt.packets import Publish, Suback, Subscribe
from meshwright.protocol.sessions.publishing import SYSTEM_PREFIX

REFUSED_FROM = 0x80
NEVER_RETAINED = 2
NAMED_MAX = 100


class SystemTopics:
    """The last values of this broker's own topics, and what changed in those of the network."""

    def __init__(self, broker: str) -> None:
        self._broker = broker
        self._own: dict[str, str] = {}
        self._told: dict[str, str] = {}
        self._clients_max = 0

    def own(self, readings: Readings, now_us: int) -> dict[str, str]:
        """All values for this broker's clients."""
        self._clients_max = max(self._clients_max, readings.clients)
        values = _mosquitto(readings, now_us) | {"clients/maximum": str(self._clients_max)}
        self._own = {f"$SYS/broker/{name}": value for name, value in values.items()}
        return self._own

    def news(self, readings: Readings, now_us: int) -> dict[str, str]:
        """The values for the network that differ from what was told before."""
        values = {
            f"$SYS/brokers/{self._broker}/{name}": value
            for name, value in _emqx(readings, now_us).items()
        }
        changed = {name: value for name, value in values.items() if self._told.get(name) != value}
        self._told = values
        return changed

    def first_look(self, asked: Subscribe, answer: Suback) -> list[Publish]:
        """What a client gets at once that has subscribed to this broker's own topics."""
        found = []
        for subscription, reason in zip(asked.subscriptions, answer.reasons, strict=True):
            if reason >= REFUSED_FROM or subscription.retain_handling == NEVER_RETAINED:
                continue
            try:
                wanted = parse_filter(subscription.filter_text)
            except FilterError:
                continue
            identifiers = (subscription.identifier,) if subscription.identifier else ()
            found += [
                Publish(topic, value.encode(), retain=True, subscription_ids=identifiers)
                for topic, value in self._own.items()
                if matches(wanted, topic)
            ]
        return found


def asks_for_system(asked: Subscribe) -> bool:
    """True if a client wants any $SYS topic; wildcards at the beginning take none."""
    return any(one.filter_text.startswith(SYSTEM_PREFIX) for one in asked.subscriptions)


def _mosquitto(readings: Readings, now_us: int) -> dict[str, str]:
    meter, view = readings.meter, readings.view
    lists: dict[str, str] = {}
    connected = sum(session.is_connected for session in view.sessions)
    uptime_s = now_us // SECOND_US - int(readings.started_s)
    numbers = {
        "clients/connected": connected,
        "clients/disconnected": len(view.sessions) - connected,
        "clients/total": len(view.sessions),
        "publish/messages/received": sum(meter.received_messages),
        "publish/messages/sent": sum(meter.sent_messages),
        "publish/messages/dropped": sum(meter.dropped.values()) + readings.slow_dropped,
        "publish/bytes/received": sum(meter.received_bytes),
        "publish/bytes/sent": sum(meter.sent_bytes),
        "retained messages/count": view.retained,
        "subscriptions/count": sum(len(session.subscriptions) for session in view.sessions),
        "store/messages/count": sum(session.queued for session in view.sessions),
    }
    losses = meter.losses
    for name, counts in (("clients", losses.by_client), ("topics", losses.by_topic)):
        most = dict(counts.most_common(NAMED_MAX))
        numbers |= {f"dropped/{name}/count": len(counts)}
        lists[f"dropped/{name}"] = msgspec.json.encode(most).decode()
    numbers |= {
        "queues/full": len(view.full_queues),
        "clients/held back": len(view.held_back),
    }
    texts = {"version": f"meshwright version {__version__}", "uptime": f"{uptime_s} seconds"}
    return texts | lists | {name: str(number) for name, number in numbers.items()}


def _emqx(readings: Readings, now_us: int) -> dict[str, str]:
    meter, view = readings.meter, readings.view
    numbers = {
        "stats/connections.count": readings.clients,
        "stats/sessions.count": len(view.sessions),
        "stats/subscriptions.count": sum(len(one.subscriptions) for one in view.sessions),
        "stats/retained.count": view.retained,
        "metrics/messages.received": sum(meter.received_messages),
        "metrics/messages.sent": sum(meter.sent_messages),
        "metrics/messages.dropped": sum(meter.dropped.values()) + readings.slow_dropped,
    }
    for qos in range(3):
        numbers[f"metrics/messages.qos{qos}.received"] = meter.received_messages[qos]
        numbers[f"metrics/messages.qos{qos}.sent"] = meter.sent_messages[qos]
    moment = datetime.fromtimestamp(now_us / SECOND_US, UTC).isoformat(timespec="seconds")
    uptime_s = now_us // SECOND_US - int(readings.started_s)
    texts = {
        "version": __version__,
        "sysdescr": "Meshwright",
        "datetime": moment,
        "uptime": f"{uptime_s} seconds",
    }
    return texts | {name: str(number) for name, number in numbers.items()}
