"""What falls due once a client is gone: its will after a delay, its session after its expiry.

Times are of the clock of the broker that keeps the session; they are on disk, so that a session
does not live longer because its broker was down. A client that waits for its session at another
broker is not gone [MQTT 5, 3.1.2.11.2]: time does not count while the session is to go there.
"""

from __future__ import annotations

from meshwright.model.publication import Publication, StreamPoint
from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.effects import TimerKey
from meshwright.protocol.mqtt.packets import NEVER_S, Will
from meshwright.protocol.sessions.session import Session

TIMER = "session"


def timer_of(client: str) -> TimerKey:
    """The timer of whatever falls due next for a client."""
    return (TIMER, client)


def is_expired(session: Session, now_us: int) -> bool:
    """True if a session has outlived its client's connection for long enough."""
    due_us = _expires_us(session)
    return due_us is not None and due_us <= now_us


def will_is_due(session: Session, now_us: int) -> bool:
    """True if a will has waited for its client's return for long enough."""
    due_us = _will_due_us(session)
    return due_us is not None and due_us <= now_us


def next_due_us(session: Session) -> int | None:
    """When something falls due for a session without a connection; None if nothing ever does."""
    dues = [due for due in (_will_due_us(session), _expires_us(session)) if due is not None]
    return min(dues, default=None)


def will_publication(
    identity: str, sequence: int, will: Will, now_us: int, after: tuple[StreamPoint, ...] = ()
) -> Publication:
    """A will as its client would have published it now."""
    return Publication(
        identity,
        sequence,
        will.topic,
        will.payload,
        will.qos,
        will.retain,
        will.properties,
        expires_us(will.expiry_s, now_us),
        after if will.qos else (),
        will.extras,
    )


def expires_us(expiry_s: int | None, now_us: int) -> int | None:
    """When a message that enters now is to be forgotten."""
    return None if expiry_s is None else now_us + expiry_s * SECOND_US


def _expires_us(session: Session) -> int | None:
    if session.disconnected_us is None or session.expiry_s == NEVER_S:
        return None
    gone_us = max(session.disconnected_us, session.awaited_until_us)
    return gone_us + session.expiry_s * SECOND_US


def _will_due_us(session: Session) -> int | None:
    if session.disconnected_us is None or session.will is None:
        return None
    gone_us = max(session.disconnected_us, session.awaited_until_us)
    return gone_us + session.will.delay_s * SECOND_US
