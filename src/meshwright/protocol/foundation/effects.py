"""Everything that a broker may ask of the world."""

from __future__ import annotations

from typing import Any

import msgspec

TimerKey = tuple[str, ...]
DiskKey = tuple[str | int, ...]


class Effect(msgspec.Struct, frozen=True, gc=False):
    """Something for the host to do; effects of one step are carried out in order."""


class SendPeer(Effect, frozen=True, gc=False):
    """Hand an Envelope, or a Hello, to the connection with a peer; lost if that breaks first."""

    peer: str
    envelope: Any


class OpenLink(Effect, frozen=True, gc=False):
    """Try to connect to a peer; the host answers with LinkUp or LinkDown."""

    peer: str


class CloseLink(Effect, frozen=True, gc=False):
    """Break the connection with a peer that has fallen silent."""

    peer: str


class SendClient(Effect, frozen=True, gc=False):
    """Hand a packet to a client's connection."""

    client: str
    packet: Any


class CloseClient(Effect, frozen=True, gc=False):
    """Close a client's connection after what was sent."""

    client: str


class SetTimer(Effect, frozen=True, gc=False):
    """Fire once at a time; setting a key again moves it."""

    key: TimerKey
    at_us: int


class Write(Effect, frozen=True, gc=False):
    """Change keys on disk together or not at all (None deletes); answered by Synced, in order."""

    batch: int
    changes: dict[DiskKey, Any]


class Report(Effect, frozen=True, gc=False):
    """A record of something that happened, for telemetry and checkers."""

    record: Any
