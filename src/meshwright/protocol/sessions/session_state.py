"""What a session takes along when its client moves to another broker."""

from __future__ import annotations

import msgspec

from meshwright.model.publication import StreamPoint
from meshwright.protocol.foundation.stream_frames import EVERY_TOPIC, passed_in
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.mqtt.packets import Subscription, Will
from meshwright.protocol.sessions.session import Session, Waiting
from meshwright.protocol.sessions.session_disk import write_state


class SessionState(msgspec.Struct, frozen=True):
    """A session as values.

    in_flight: packet identifier, whether released, and the message, in the order of sending.
    passed_before: up to which number the old broker had passed on each stream (origin, topic,
    number); the new one passes on higher numbers only. points: the client's last publications on
    each topic at brokers it has left, where somebody may still wait for them. visits: brokers where
    the client was, in order. claim: with what number its broker claimed the client. away_us: how
    long the client was away then, if the session goes ahead of it; by their clocks, brokers could
    not agree on when. will: published should the client not be let in after all.
    """

    identity: str
    sequence: int
    expiry_s: int
    subscriptions: tuple[Subscription, ...]
    queue: tuple[Waiting, ...]
    in_flight: tuple[tuple[int, bool, Waiting], ...]
    received: tuple[int, ...]
    # Brokers of wire version 3 call it floors.
    passed_before: tuple[tuple[str, str, int], ...] = msgspec.field(name="floors")
    points: tuple[tuple[str, tuple[StreamPoint, ...]], ...]
    visits: tuple[str, ...] = ()
    claim: int = 0
    away_us: int | None = None
    will: Will | None = None


def packed(
    session: Session, passed: dict[tuple[str, str], int], me: str, points: dict[str, int]
) -> SessionState:
    """A session as it is now; a higher number that an earlier broker had passed still holds.

    points: where somebody may still wait for what its client published here, by topic.
    """
    session.lay_open()
    before = dict(session.passed_before)
    for key, number in passed.items():
        before[key] = max(number, before.get(key, 0))
    return SessionState(
        session.identity,
        session.sequence,
        session.expiry_s,
        tuple(session.subscriptions.values()),
        tuple(session.queue),
        tuple(
            (packet_id, packet_id in session.released, waiting)
            for packet_id, waiting in session.in_flight.items()
        ),
        tuple(session.received),
        tuple((*key, number) for key, number in before.items() if _counts(before, *key)),
        tuple(_all_points(session, me, points).items()),
        session.visits,
        session.claim,
        will=session.will,
    )


def _all_points(
    session: Session, me: str, own: dict[str, int]
) -> dict[str, tuple[StreamPoint, ...]]:
    """The client's points at all brokers; at this one only those that somebody may wait for."""
    found = {}
    for topic in {**session.points, **own}:
        points = [one for one in session.points.get(topic, ()) if one.origin != me]
        if topic in own:
            points.append(StreamPoint(me, own[topic]))
        if points:
            found[topic] = tuple(points)
    return found


def unpack(turn: Turn, session: Session, session_state: SessionState) -> None:
    """Fill an arriving session with its state, before what was queued here meanwhile; to disk.

    All of it gets new places: those of its former broker may be in use here.
    """
    session.sequence = session_state.sequence
    session.last_for(session_state.expiry_s)
    session.passed_before = {(origin, topic): n for origin, topic, n in session_state.passed_before}
    session.points = dict(session_state.points)
    session.visits = session_state.visits
    session.claim = session_state.claim
    session.will = session_state.will
    if session_state.away_us is not None:
        session.disconnected_us = turn.now_us - session_state.away_us
    session.received = dict.fromkeys(session_state.received)
    arrived = [
        waiting
        for waiting in session.queue
        if waiting.number
        > passed_in(session.passed_before, waiting.origin, waiting.publication.topic)
    ]
    session.queue.clear()
    session.next_index = 0
    for packet_id, is_released, waiting in session_state.in_flight:
        session.in_flight[packet_id] = _placed(session, waiting, packet_id)
        session.next_packet_id = packet_id
        if is_released:
            session.released[packet_id] = None
    session.queue.extend(_placed(session, one) for one in (*session_state.queue, *arrived))
    if session.is_durable:
        write_session(turn, session)


def _placed(session: Session, waiting: Waiting, packet_id: int = 0) -> Waiting:
    """A message at the next place of a session."""
    index = session.next_index
    session.next_index += 1
    return msgspec.structs.replace(waiting, index=index, packet_id=packet_id)


def write_session(turn: Turn, session: Session) -> None:
    """Put all of a session on disk."""
    client = session.client
    write_state(turn, session)
    write_moved(turn, session)
    for text, subscription in session.subscriptions.items():
        turn.write(("subscription", client, text), subscription)
    for packet_id in session.received:
        turn.write(("received", client, packet_id), True)
    for waiting in session.queue:
        turn.write(("queue", client, waiting.index), waiting)
    for packet_id, waiting in session.in_flight.items():
        turn.write(("queue", client, waiting.index), waiting)
        if packet_id in session.released:
            turn.write(("under_way", client, packet_id), (waiting.index, True))


def write_moved(turn: Turn, session: Session) -> None:
    """Put on disk what is left of a session's earlier brokers."""
    passed, points = tuple(session.passed_before.items()), tuple(session.points.items())
    moved = (passed, points, session.visits, session.claim)
    turn.write(("moved", session.client), moved)


def _counts(passed: dict[tuple[str, str], int], origin: str, topic: str) -> bool:
    """False for a stream that was passed no further than the streams that are not named."""
    others = passed.get((origin, EVERY_TOPIC), 0)
    return topic == EVERY_TOPIC or passed[origin, topic] > others
