"""The interface of forwarding machines: one machine carries frames on one overlay.

The broker uses this interface only, and asks for no design by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import msgspec

from meshwright.filters.filter import Filter
from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.effects import TimerKey
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn


class Dropped(msgspec.Struct, frozen=True, kw_only=True):
    """Reports a frame that was not carried on, and why; its stream repairs the loss."""

    origin: str
    number: int
    topic: str
    reason: str


class ForwardingMessage(PeerMessage, frozen=True, gc=False):
    """A message between the forwarding machines of one overlay.

    is_entering: it carries a frame from its origin to the broker where the frame is spread from.
    """

    is_entering: ClassVar[bool] = False

    epoch: int


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a forwarding machine needs of the rest of the broker.

    send: sends a frame, or what goes with frames, to any broker, once and in order while both live.
    tell: the same for changes of interest, which may wait a moment while the overlay is not in
        force.
    arrived: called once at every broker that a frame visits but its origin; the rest of the broker
        finds out whether a client here wants the frame.
    receivers_of: the brokers known to want a topic; only the origin of a frame asks.
    carried: called for every frame on a tree with its publication, the broker that it came from
        (this one if it entered here), and the links that want it; None if nobody counts.
    version: how often the links of this broker have changed in this epoch.
    """

    me: str
    epoch: int
    overlay: Overlay
    send: Callable[[Turn, str, Any], None]
    tell: Callable[[Turn, str, Any], None]
    arrived: Callable[[Turn, StreamFrame], None]
    receivers_of: Callable[[str], tuple[str, ...]]
    carried: Callable[[Publication, str, tuple[str, ...]], None] | None = None
    version: int = 0


class Forwarding(Protocol):
    """One broker's part in carrying frames on one overlay, that of one epoch.

    accepts: whether interest is added as single topics or as whole filters. Frames count their hops
        and are dropped past a limit; a machine remembers which frames it forwarded, to cut loops.
    """

    accepts: Literal["topic", "filter"]

    def neighbours(self) -> tuple[str, ...]:
        """The brokers to stay connected with, sorted."""

    def add_interest(self, turn: Turn, wanted: Filter, done: Action) -> None:
        """This broker wants a filter; done is called when the overlay carries it here."""

    def remove_interest(self, turn: Turn, wanted: Filter) -> None:
        """This broker no longer wants a filter."""

    def send_out(self, turn: Turn, frame: StreamFrame) -> None:
        """Send a frame of this origin to all brokers that want its topic."""

    def handle(self, turn: Turn, peer: str, message: ForwardingMessage) -> None:
        """A message of this machine's kind has come from a peer."""

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        """A timer of this machine fired; its key is ("forwarding", str(epoch), ...)."""

    def alive_changed(self, turn: Turn, alive: tuple[str, ...]) -> None:
        """Brokers died or returned: repair the routes; alive: sorted, with this broker."""

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A peer may have forgotten, or missed, what it was told: tell it again."""

    def knowledge(self) -> Any:
        """What this broker knows on the overlay, for the broker that inherits its position.

        It is a value that does not change later, and is valid for an overlay of the same design.
        """

    def inherit(self, knowledge: Any, heirs: Mapping[str, str]) -> tuple[Filter, ...]:
        """Start from the knowledge of this position in another overlay; returns its filters.

        heirs: for each broker the one that has its position now. The filters returned must be
            removed after this broker's own interest was added, so that only differences are told.
        """

    def settle(self, turn: Turn, done: Action) -> None:
        """Bring inherited knowledge in line with this overlay; done when the others know."""

    def path(self, topic: str, source: str) -> tuple[tuple[str, str], ...]:
        """The hops (from, to) that a frame on the topic would take next from this broker."""


def drop_circling(turn: Turn, frame: StreamFrame) -> None:
    """Drop a frame that has made more hops than any route has, and report it."""
    turn.report(
        Dropped(
            origin=frame.origin, number=frame.number, topic=frame.publication.topic, reason="hops"
        )
    )


def linked_with(overlay: Overlay, me: str, besides: Iterable[str]) -> tuple[str, ...]:
    """The overlay's neighbours of a broker, with others besides, sorted."""
    linked = {one for link in overlay.links if me in link for one in link}
    return tuple(sorted(linked.union(besides) - {me}))
