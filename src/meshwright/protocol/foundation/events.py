"""Everything that can happen to a broker."""

from __future__ import annotations

from typing import Any

import msgspec

from meshwright.model.publication import Publication
from meshwright.protocol.foundation.effects import DiskKey, TimerKey


class Event(msgspec.Struct, frozen=True, gc=False):
    """Something that the host tells a broker."""


class Started(Event, frozen=True, gc=False):
    """The process began; incarnation grows with each start, disk is what was synced before."""

    incarnation: int
    disk: dict[DiskKey, Any]


class LinkUp(Event, frozen=True, gc=False):
    """A connection with a peer stands; nothing sent on an earlier one will still arrive."""

    peer: str


class LinkDown(Event, frozen=True, gc=False):
    """The connection with a peer broke, or could not be made."""

    peer: str


class PeerEnvelope(Event, frozen=True, gc=False):
    """An Envelope, or a Hello, from a peer, in the order of sending on this connection."""

    peer: str
    envelope: Any


class ClientUp(Event, frozen=True, gc=False):
    """A client's connection opened with its CONNECT packet."""

    client: str
    packet: Any


class ClientPacket(Event, frozen=True, gc=False):
    """A packet from a connected client."""

    client: str
    packet: Any


class ClientDown(Event, frozen=True, gc=False):
    """A client's connection is gone; a clean one said goodbye."""

    client: str
    clean: bool


class TimerFired(Event, frozen=True, gc=False):
    """A timer's time has come."""

    key: TimerKey


class Synced(Event, frozen=True, gc=False):
    """A batch and all before it are on disk."""

    batch: int


class DiskSpace(Event, frozen=True, gc=False):
    """The disk is full, or has room again; batches given before have a reserve and succeed."""

    is_full: bool


class PlanGiven(Event, frozen=True, gc=False):
    """The operator or a policy approved a plan, or asks to abort or undo one.

    order: a number by which the answer is reported; 0 if nobody waits for one.
    """

    action: str
    plan: Any
    order: int = 0


class SystemPublished(Event, frozen=True, gc=False):
    """The broker tells of itself: only its own clients, or like any publication in the network."""

    publication: Publication
    is_local: bool


class RightsChanged(Event, frozen=True, gc=False):
    """The rights of some clients changed: remembered answers are void."""


class EmptyingGiven(Event, frozen=True, gc=False):
    """The operator wants the broker to send all clients elsewhere, or to take clients again.

    targets: where to; any brokers that live if there are none.
    """

    is_on: bool
    targets: tuple[str, ...] = ()


class HoldingGiven(Event, frozen=True, gc=False):
    """The operator wants the broker to propose no change of its tree, or to go on doing so."""

    is_held: bool


class ForgettingGiven(Event, frozen=True, gc=False):
    """The operator wants the session of a client to end, as if its time had passed."""

    client: str
