"""Sessions on disk, and as they come back from it after a crash."""

from __future__ import annotations

from typing import Any

from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.sessions.session import Phase, Session, Waiting


def restored_sessions(disk: dict[DiskKey, Any]) -> dict[str, Session]:
    """All sessions that outlive their connections, by client; none of them is connected."""
    sessions: dict[str, Session] = {}
    for key in _keys(disk, "session"):
        client = str(key[1])
        identity, session_expiry_s, will, disconnected_us = disk[key]
        # Who was connected has lost its connection with the crash, which is seen to later.
        phase = Phase.CONNECTING if disconnected_us is None else Phase.DISCONNECTED
        session = sessions[client] = Session(client, identity, phase)
        session.expiry_s, session.will = session_expiry_s, will
        session.disconnected_us = disconnected_us
        session.is_durable = True
        session.sequence = disk.get(("sequence", client), 0)
        passed, points, visits, claim = disk.get(("moved", client), ((), (), (), 0))
        session.passed_before, session.points = dict(passed), dict(points)
        session.visits, session.claim = visits, claim
    for key in _keys(disk, "subscription"):
        sessions[str(key[1])].subscriptions[str(key[2])] = disk[key]
    for key in _keys(disk, "received"):
        sessions[str(key[1])].received[int(key[2])] = None
    _restore_messages(sessions, disk)
    return sessions


def write_state(turn: Turn, session: Session) -> None:
    """Put on disk whose session it is, when it ends, and since when, and how far it has counted."""
    state = (session.identity, session.expiry_s, session.will, session.disconnected_us)
    turn.write(("session", session.client), state)
    turn.write(("sequence", session.client), session.sequence)


def keys_of_sent(client: str, packet_id: int, waiting: Waiting) -> tuple[DiskKey, ...]:
    """Where a message is on disk that was sent: a second key tells what its own one does not."""
    queued = ("queue", client, waiting.index)
    if waiting.packet_id and waiting.qos == 1:
        return (queued,)
    return queued, ("under_way", client, packet_id)


def erase(turn: Turn, session: Session) -> None:
    """Take all of a session from the disk, but for its subscriptions."""
    client = session.client
    for kind in ("session", "sequence", "moved"):
        turn.write((kind, client), None)
    for packet_id in session.received:
        turn.write(("received", client, packet_id), None)
    for packet_id, waiting in session.in_flight.items():
        for key in keys_of_sent(client, packet_id, waiting):
            turn.write(key, None)
    for waiting in session.queue:
        turn.write(("queue", client, waiting.index), None)


def _restore_messages(sessions: dict[str, Session], disk: dict[DiskKey, Any]) -> None:
    """Have what was sent in flight again, and the rest wait, both in the order of indexes."""
    sent_later: dict[tuple[str, int], tuple[int, bool]] = {}
    for key in _keys(disk, "under_way"):
        index, is_released = disk[key]
        sent_later[str(key[1]), index] = (int(key[2]), is_released)
    for key in _keys(disk, "queue"):
        session, waiting = sessions[str(key[1])], disk[key]
        session.next_index = waiting.index + 1
        at_once = (waiting.packet_id, False)
        packet_id, is_released = sent_later.get((session.client, waiting.index), at_once)
        if not packet_id:
            session.queue.append(waiting)
            continue
        session.in_flight[packet_id] = waiting
        session.next_packet_id = packet_id
        if is_released:
            session.released[packet_id] = None


def _keys(disk: dict[DiskKey, Any], kind: str) -> list[DiskKey]:
    return sorted(key for key in disk if key[0] == kind)
