"""The interface of forwarding machines; the broker asks for no design by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import msgspec

from meshwright.filters.filter import Filter
from meshwright.model.overlay import Overlay
from meshwright.protocol.foundation.effects import TimerKey
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """A frame was not carried on, and why; its stream repairs what that costs."""

    origin: str
    number: int
    topic: str
    reason: str


class ForwardingMessage(PeerMessage, frozen=True, gc=False):
    """What the machines of one overlay say to each other.

    is_entering: it is a frame on its way to where it is spread from.
    """

    is_entering: ClassVar[bool] = False

    epoch: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a forwarding machine is given.

    send: a frame, or what goes with frames, to any broker, once and in order while both live.
    tell: the same for what changes who wants what, which may wait a moment while the overlay is
    not in force.
    arrived: a frame has come to this broker; called once at every broker that a frame visits but
    its origin, and the broker itself finds out whether anybody here wants it.
    receivers_of: the brokers known to want a topic, as far as this broker has read; only an origin
    asks, for a frame that it sends out.
    carried: told of every frame on a tree: its topic, the broker that it came from (this one if it
    entered here), and those that want it; None if nobody counts.
    version: how often the links of this broker have changed in this epoch.
    """

    me: str
    epoch: int
    overlay: Overlay
    send: Callable[[Turn, str, Any], None]
    tell: Callable[[Turn, str, Any], None]
    arrived: Callable[[Turn, StreamFrame], None]
    receivers_of: Callable[[str], tuple[str, ...]]
    carried: Callable[[str, str, tuple[str, ...]], None] | None = None
    version: int = 0


class Forwarding(Protocol):
    """One broker's part in carrying frames, for one overlay of one epoch.

    accepts says what interest it takes: single topics, or whole filters. Frames carry their hops
    and are dropped past a limit; loops are cut by remembering what was forwarded.
    """

    accepts: Literal["topic", "filter"]

    def neighbours(self) -> tuple[str, ...]:
        """Brokers to stay connected with, sorted."""

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """This broker wants a filter; done is called when the overlay carries it here."""

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        """This broker no longer wants a filter."""

    def send_out(self, turn: Turn, frame: StreamFrame) -> None:
        """Carry a frame of this origin to all who want its topic."""

    def handle(self, turn: Turn, peer: str, message: ForwardingMessage) -> None:
        """A message of this machine's kind came from a peer."""

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        """A timer of this machine, whose key is ("forwarding", str(epoch), ...)."""

    def alive_changed(self, turn: Turn, alive: tuple[str, ...]) -> None:
        """The brokers believed alive, this one among them, sorted; repair what that breaks."""

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A peer forgot what it was told, or may not have heard it: tell it again."""

    def knowledge(self) -> Any:
        """What this broker was told and has told, for whoever stands in its place in another epoch.

        It holds for an overlay of the same design, and what it holds no longer changes.
        """

    def inherit(self, knowledge: Any, heirs: Mapping[str, str]) -> tuple[Filter, ...]:
        """Begin with what was known at this place before; returns what was wanted there.

        heirs: who stands in the place of each broker now. What was wanted there is to be removed
        when all interest of this broker was added, so that only differences are told.
        """

    def settle(self, turn: Turn, done: Action) -> None:
        """Bring what was inherited in line with this overlay; done when it is known to others."""

    def path(self, topic: str, source: str) -> tuple[tuple[str, str], ...]:
        """Hops (from, to) that this broker knows a frame on the topic would take next from it."""


def drop_circling(turn: Turn, frame: StreamFrame) -> None:
    """Drop a frame that has made more hops than any route has, and report it."""
    turn.report(
        Dropped(
            origin=frame.origin, number=frame.number, topic=frame.publication.topic, reason="hops"
        )
    )


def linked_with(overlay: Overlay, me: str, besides: Iterable[str]) -> tuple[str, ...]:
    """The overlay's own neighbours of a broker, and others besides, sorted."""
    linked = {one for link in overlay.links if me in link for one in link}
    return tuple(sorted(linked.union(besides) - {me}))
