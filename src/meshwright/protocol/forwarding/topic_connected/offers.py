"""Lazy offers: receivers name the frames they have to neighbours outside the frames' trees.

Offers are gathered, and sent a moment later, many in one message. A receiver that lacks a frame for
too long after it was offered asks for it, and is grafted onto the tree of that frame. [Plumtree]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from meshwright.protocol.forwarding.forwarding import ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.recent_frames import FrameKey, RecentFrames
from meshwright.protocol.forwarding.topic_connected.push_trees import Crowd
from meshwright.protocol.foundation.effects import TimerKey
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Turn

OFFER_AFTER_US = 100_000
GRAFT_AFTER_US = 300_000
KEPT_MIN = 1_024
MISSING_MAX = 4_096


class Push(ForwardingMessage, frozen=True, gc=False, tag=73):
    """A frame on its way along the tree that spans the crowd from its entry."""

    counts_as = "publication"

    frame: StreamFrame
    entry: str
    crowd: Crowd
    hops: int


class Offer(ForwardingMessage, frozen=True, gc=False, tag=74):
    """Frames that the sender has: by origin, topic and number, or by event where there is none."""

    counts_as = "offer"

    numbered: tuple[tuple[str, str, int], ...]
    events: tuple[tuple[str, int], ...]


class Graft(ForwardingMessage, frozen=True, gc=False, tag=75):
    """Send me these frames, which you offered, and those that follow on the same trees."""

    counts_as = "offer"

    numbered: tuple[tuple[str, str, int], ...]
    events: tuple[tuple[str, int], ...]


class Missing:
    """A frame that was offered and is not here: when to ask for it, and which peers."""

    __slots__ = ("due_us", "offerers")

    def __init__(self, due_us: int, offerers: list[str]) -> None:
        self.due_us = due_us
        self.offerers = offerers


class Offers:
    """The frames that this broker offers, and those that it was offered.

    lazy: the neighbours to offer a frame to that came from a peer.
    is_seen: True if a peer may be asked.
    """

    def __init__(
        self,
        around: Surroundings,
        recent: RecentFrames,
        *,
        lazy: Callable[[Push, str], Iterable[str]],
        is_seen: Callable[[str], bool],
    ) -> None:
        self._around = around
        self._recent = recent
        self._lazy = lazy
        self._is_seen = is_seen
        self._offer_timer: TimerKey = ("forwarding", str(around.epoch), "offer")
        self._graft_timer: TimerKey = ("forwarding", str(around.epoch), "graft")
        self._kept: dict[FrameKey, Push] = {}
        self._kept_before: dict[FrameKey, Push] = {}
        self._fresh: list[tuple[FrameKey, Push, str]] = []
        self._offerers: dict[FrameKey, list[str]] = {}
        self._missing: dict[FrameKey, Missing] = {}

    def keep(self, turn: Turn, key: FrameKey, push: Push, source: str) -> None:
        """Keep a frame that came from a peer for receivers that missed it, and offer it soon."""
        self._kept[key] = push
        if len(self._kept) >= KEPT_MIN:
            self._kept_before, self._kept = self._kept, {}
        if not self._fresh:
            turn.timer(self._offer_timer, turn.now_us + OFFER_AFTER_US)
        self._fresh.append((key, push, source))

    def kept(self, message: Graft) -> list[Push]:
        """The frames asked for, as far as they are still kept."""
        found = (self._kept.get(key) or self._kept_before.get(key) for key in _keys(message))
        return [push for push in found if push is not None]

    def offered(self, turn: Turn, peer: str, message: Offer) -> None:
        """Note the frames that a peer has and this broker lacks; they may still be in flight."""
        recent, has_fresh = self._recent, bool(self._fresh)
        for key in _keys(message):
            if key not in recent:
                self._miss(turn, key, peer)
            elif has_fresh:
                self._offerers.setdefault(key, []).append(peer)

    def timer_fired(self, turn: Turn, key: TimerKey) -> None:
        if key == self._offer_timer:
            self._offer(turn)
        else:
            self._graft(turn)

    def _miss(self, turn: Turn, key: FrameKey, peer: str) -> None:
        """Ask a peer for a frame soon, or after the peers that offered it before."""
        missing = self._missing.get(key)
        if missing is not None:
            missing.offerers.append(peer)
        elif len(self._missing) < MISSING_MAX:
            due_us = turn.now_us + GRAFT_AFTER_US
            if not self._missing:
                turn.timer(self._graft_timer, due_us)
            self._missing[key] = Missing(due_us, [peer])

    def _offer(self, turn: Turn) -> None:
        """Offer new frames to neighbours, but not to those that have just offered the same."""
        fresh, self._fresh = self._fresh, []
        offerers, self._offerers = self._offerers, {}
        keys: dict[str, list[FrameKey]] = {}
        lazy, send = self._lazy, self._around.send
        for key, push, source in fresh:
            have = offerers.get(key, ()) if offerers else ()
            for peer in lazy(push, source):
                if peer not in have:
                    keys.setdefault(peer, []).append(key)
        for peer, offered in keys.items():
            send(turn, peer, Offer(self._around.epoch, *_parted(offered)))

    def _graft(self, turn: Turn) -> None:
        """Ask for the frames that are due; if a peer does not answer, the next one is asked."""
        asked: dict[str, list[FrameKey]] = {}
        for key, missing in list(self._missing.items()):
            if missing.due_us > turn.now_us:
                break
            del self._missing[key]
            offerers = [peer for peer in missing.offerers if self._is_seen(peer)]
            if key in self._recent or not offerers:
                continue
            asked.setdefault(offerers[0], []).append(key)
            if offerers[1:]:
                self._missing[key] = Missing(turn.now_us + GRAFT_AFTER_US, offerers[1:])
        for peer, keys in asked.items():
            self._around.send(turn, peer, Graft(self._around.epoch, *_parted(keys)))
        if self._missing:
            turn.timer(self._graft_timer, next(iter(self._missing.values())).due_us)


def _keys(message: Offer | Graft) -> tuple[FrameKey, ...]:
    if not message.events:
        return message.numbered
    return (*message.numbered, *message.events)


def _parted(
    keys: list[FrameKey],
) -> tuple[tuple[tuple[str, str, int], ...], tuple[tuple[str, int], ...]]:
    """Keys of numbered frames, and of the others."""
    return (
        tuple([key for key in keys if len(key) == 3]),
        tuple([key for key in keys if len(key) == 2]),
    )
