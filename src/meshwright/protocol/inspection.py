"""What an operator may see of a broker: its sessions, what is wanted here, and where it stands."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.protocol.adaptation.self_adaptation import AdaptationState
from meshwright.protocol.assembly import Machines
from meshwright.protocol.observation import Observation
from meshwright.protocol.reconfiguration.topic_watch import TopicCohesion
from meshwright.protocol.sessions.held_back import Held
from meshwright.protocol.sessions.session import Session


class SubscriptionView(msgspec.Struct, frozen=True):
    """One filter of one client, with the highest QoS that it asks for."""

    filter: str
    qos: int


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """One client; queued waits here for it, in_flight was sent and is not answered.

    expiry_s: for how long its session outlives its connection. is_full: no more is taken for it.
    stays: why it cannot be sent to another broker, as it is connected; empty if it can.
    """

    client: str
    is_connected: bool
    expiry_s: int
    subscriptions: tuple[SubscriptionView, ...]
    queued: int
    in_flight: int
    is_full: bool = False
    stays: str = ""


class InterestView(msgspec.Struct, frozen=True):
    """A filter that is wanted here, by so many sessions and shared subscriptions."""

    filter: str
    count: int


class QueueView(msgspec.Struct, frozen=True):
    """The longest queue of a kind, and how long it may get."""

    name: str
    length: int
    length_max: int


class FullQueueView(msgspec.Struct, frozen=True):
    """A client, or a group, whose queue is full, and at which broker."""

    client: str
    broker: str


class HeldBackView(msgspec.Struct, frozen=True, kw_only=True):
    """A client that is not answered, as there is no room for what it publishes on a topic.

    waits_for: the client or group whose queue is full at a broker; empty if other brokers do not
    take what is kept for them.
    """

    client: str
    topic: str
    waits_for: str
    broker: str
    messages: int
    since_us: int


class PlanView(msgspec.Struct, frozen=True):
    """A plan in which the broker takes part: its name, its epoch, and who leads it."""

    name: str
    epoch: int
    coordinator: str


class Departures(NamedTuple):
    """Whether a broker takes no more clients, and how many it is about to send elsewhere."""

    is_emptying: bool
    waiting: int


class BrokerView(msgspec.Struct, frozen=True, kw_only=True):
    """One broker as it stands.

    alive: brokers that it believes to live, itself among them. removed: those that are gone for
    good. star: the change of a part of its tree that it leads or is locked for. retained: registers
    of retained messages that it keeps for the network. kept: publications of its clients that
    somebody may still need. full_queues: as far as they are known here. disk_trouble: why its disk
    takes no more publications, filled in by the host, which alone knows the reason. round_trips_ms:
    with other brokers that live, as measured and smoothed. sends_away: clients that are about to be
    sent to other brokers. adaptation: whether it proposes changes of its tree. cluster: brokers
    that are near it, itself among them. staying: connected clients that cannot be sent to another
    broker, by the reason. weak_topics: of those published here, whose receivers are joined by fewer
    than k ways. found_topics: those that are published and taken here by wildcards.
    """

    broker: str
    epoch: int
    overlay: Overlay
    alive: tuple[str, ...]
    removed: tuple[str, ...]
    neighbours: tuple[str, ...]
    sessions: tuple[SessionView, ...]
    interests: tuple[InterestView, ...]
    queues: tuple[QueueView, ...]
    plan: PlanView | None
    star: str | None
    is_emptying: bool
    retained: int
    kept: int
    full_queues: tuple[FullQueueView, ...] = ()
    held_back: tuple[HeldBackView, ...] = ()
    disk_trouble: str | None = None
    round_trips_ms: dict[str, float] = {}
    sends_away: int = 0
    adaptation: AdaptationState = "off"
    cluster: tuple[str, ...] = ()
    staying: dict[str, int] = {}
    weak_topics: tuple[TopicCohesion, ...] = ()
    found_topics: tuple[str, ...] = ()


def inspect(me: str, observation: Observation, machines: Machines) -> BrokerView:
    """All that is to be seen; costs a walk over all sessions."""
    overlay = observation.overlay
    removals, change = machines.removals, machines.overlays.change
    promise = change.promise
    counts = machines.interest.counts()
    return BrokerView(
        broker=me,
        epoch=observation.epoch,
        overlay=overlay,
        alive=machines.liveness.alive(),
        removed=tuple(name for name in overlay.brokers if removals.is_removed(name)),
        neighbours=tuple(machines.forwarding.machine(observation.epoch).neighbours()),
        sessions=tuple(
            _session(
                one,
                is_full=machines.sessions.queue_is_full(one),
                stays=machines.moving.why_stays(one) or "",
            )
            for one in machines.sessions.all()
        ),
        interests=tuple(InterestView(str(one), count) for one, count in counts.items()),
        queues=tuple(QueueView(*queue) for queue in observation.queues),
        plan=None
        if promise is None
        else PlanView(promise.lock.plan, promise.lock.epoch, promise.coordinator),
        star=machines.overlays.star,
        is_emptying=machines.moving.emptying.is_on,
        retained=machines.directory.kept.retained_count(),
        kept=machines.retained_store.log_length(),
        full_queues=tuple(
            FullQueueView(one.client, one.broker) for one in machines.full_queues.filters
        ),
        cluster=machines.round_trips.cluster(),
        weak_topics=tuple(machines.topic_watch.weak.values()),
        found_topics=tuple(machines.interest.found_topics()),
        staying=machines.moving.staying(),
        adaptation=machines.overlays.adaptation.state,
        sends_away=machines.moving.pace.waiting_count,
        round_trips_ms=machines.round_trips.smoothed_ms(),
        held_back=tuple(map(_held, machines.sessions.publishing.held.waiting.values())),
    )


def _held(held: Held) -> HeldBackView:
    return HeldBackView(
        client=held.session.client,
        topic=held.topic,
        waits_for=held.waits_for.client,
        broker=held.waits_for.broker,
        messages=len(held.packets),
        since_us=held.since_us,
    )


def _session(session: Session, *, is_full: bool, stays: str) -> SessionView:
    return SessionView(
        client=session.client,
        is_connected=session.is_connected,
        expiry_s=session.expiry_s,
        subscriptions=tuple(
            SubscriptionView(text, one.qos) for text, one in session.subscriptions.items()
        ),
        queued=len(session.queue),
        in_flight=len(session.in_flight) + len(session.sent_runs),
        is_full=is_full,
        stays=stays,
    )
