"""Full queues, here and at other brokers: messages for them are refused when published.

A broker tells all others which of its clients and groups have no room, and their filters; they
refuse publications that match. Such word holds for a while only, and is repeated while it is true,
so a broker that is gone keeps nobody from publishing. Messages acknowledged before the word came
are queued nevertheless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from meshwright.filters.filter import SHARE_PREFIX, Filter, parse_filter
from meshwright.filters.index import FilterIndex
from meshwright.filters.values import Properties
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.rights import Rights
from meshwright.protocol.foundation.turn import Turn

TICK = ("full queues",)


class FullQueueSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How often it is repeated that queues are full, and for how long that holds."""

    repeat_every_us: int = 2_000_000
    holds_us: int = 10_000_000


class QueuesChanged(PeerMessage, frozen=True, gc=False, tag=94):
    """Queues here that are full now, each with its filters, and some that have room again.

    is_whole: no others are full.
    """

    counts_as = "acknowledgement"

    is_whole: bool
    full: tuple[tuple[str, tuple[str, ...]], ...]
    freed: tuple[str, ...] = ()


class QueuesUnchanged(PeerMessage, frozen=True, gc=False, tag=95):
    """The queues that were full here last still are, and no others."""

    counts_as = "acknowledgement"


class QueueRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A queue of this broker is full, or has room again; client: or the group that it is of."""

    client: str
    is_full: bool


class FullQueue(NamedTuple):
    """A client, or a group, whose queue is full at a broker."""

    broker: str
    client: str


class FullQueues:
    """All that are known here; it tells when publishers may try again. others: brokers to tell."""

    def __init__(
        self,
        me: str,
        settings: FullQueueSettings,
        *,
        send: Callable[[Turn, str, Any], None],
        others: Callable[[], Iterable[str]],
        rights: Rights | None = None,
    ) -> None:
        self._rights = rights
        self._me = me
        self._settings = settings
        self._send = send
        self._others = others
        self._index: FilterIndex[FullQueue] = FilterIndex()
        self.filters: dict[FullQueue, tuple[Filter, ...]] = {}
        self._not_local: dict[str, frozenset[Filter]] = {}
        # By peer: until when what it said holds.
        self._until_us: dict[str, int] = {}
        self._informed: dict[str, None] = {}
        # Clients whose queues are full or not since others were told last.
        self._news: dict[str, None] = {}
        self._has_tick = False

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (
            on(QueuesChanged, self.changed),
            on(QueuesUnchanged, self.unchanged),
        )

    def blocking(
        self, now_us: int, topic: str, properties: Properties, publisher: str
    ) -> FullQueue | None:
        """A full queue to which a client's message would go, if there is one."""
        for queue, wanted in self._index.match(topic, properties):
            if queue.broker != self._me and self._until_us.get(queue.broker, 0) <= now_us:
                continue
            if not self._may_read(queue.client, topic):
                continue
            if queue.client != publisher or wanted not in self._not_local.get(publisher, ()):
                return queue
        return None

    def is_full(self, client: str) -> bool:
        """True if the queue of a client, or a group, here was found to be full."""
        return bool(self.filters) and (self._me, client) in self.filters

    def own_clients(self) -> list[str]:
        """Whose queues here are known to be full."""
        return [queue.client for queue in self._own()]

    def mark(
        self,
        turn: Turn,
        client: str,
        wanted: tuple[Filter, ...],
        not_local: frozenset[Filter] = frozenset(),
    ) -> None:
        """A queue here has no room; wanted: all filters by which more may come to it.

        not_local: those by which nothing comes that the client publishes itself.
        """
        queue = FullQueue(self._me, client)
        self._not_local[client] = not_local
        before = self.filters.get(queue)
        if wanted == before:
            return
        if before is None:
            turn.report(QueueRecord(client=client, is_full=True))
        self._replace(queue, wanted)
        self._tell_soon(turn, client)
        self.wake(turn)

    def clear(self, turn: Turn, client: str) -> None:
        """A queue here has room again, or is no more."""
        queue = FullQueue(self._me, client)
        if queue in self.filters:
            self._discard(queue)
            self._not_local.pop(client, None)
            turn.report(QueueRecord(client=client, is_full=False))
            self._tell_soon(turn, client)
            turn.once_synced(_tell_freed)

    def changed(self, turn: Turn, peer: str, message: QueuesChanged) -> None:
        """A peer says which queues are full there."""
        if message.is_whole:
            self._forget(peer)
        for client in message.freed:
            self._discard(FullQueue(peer, client))
        for client, texts in message.full:
            self._replace(FullQueue(peer, client), tuple(map(parse_filter, texts)))
        self._until_us[peer] = turn.now_us + self._settings.holds_us
        turn.once_synced(_tell_freed)

    def unchanged(self, turn: Turn, peer: str, _message: QueuesUnchanged) -> None:
        """A peer says that the same queues are still full."""
        self._until_us[peer] = turn.now_us + self._settings.holds_us

    def peer_lost(self, turn: Turn, peer: str) -> None:
        """A peer is lost: forget its full queues, and tell it all again should it return."""
        self._informed.pop(peer, None)
        self._forget(peer)
        turn.once_synced(_tell_freed)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A peer may have forgotten what it was told, and whom it had told what."""
        self.peer_lost(turn, peer)
        if self._own():
            self._tell_whole(turn, peer)

    def wake(self, turn: Turn) -> None:
        """Set the timer, which is set again as long as a client waits for room."""
        if not self._has_tick:
            self._has_tick = True
            turn.timer(TICK, turn.now_us + self._settings.repeat_every_us)

    def tick(self, turn: Turn) -> None:
        """Repeat which queues are full here; clients that wait for other brokers try again."""
        self._has_tick = False
        if self._own():
            for peer in self._others():
                if peer in self._informed:
                    self._send(turn, peer, QueuesUnchanged())
                else:
                    self._tell_whole(turn, peer)
            self.wake(turn)
        _tell_freed(turn)

    def _may_read(self, client: str, topic: str) -> bool:
        """False if nothing of a topic goes to a client; of a group, some member gets it."""
        if self._rights is None or client.startswith(SHARE_PREFIX):
            return True
        return self._rights.may_read(client, topic)

    def _own(self) -> list[FullQueue]:
        return [queue for queue in self.filters if queue.broker == self._me]

    def _tell_soon(self, turn: Turn, client: str) -> None:
        if not self._news:
            turn.once_synced(self._tell)
        self._news[client] = None

    def _tell(self, turn: Turn) -> None:
        news, self._news = self._news, {}
        full = [queue for client in news if (queue := FullQueue(self._me, client)) in self.filters]
        freed = tuple(client for client in news if (self._me, client) not in self.filters)
        message = QueuesChanged(False, tuple(map(self._row, full)), freed)
        for peer in self._others():
            if peer in self._informed:
                self._send(turn, peer, message)
            else:
                self._tell_whole(turn, peer)

    def _tell_whole(self, turn: Turn, peer: str) -> None:
        self._informed[peer] = None
        self._send(turn, peer, QueuesChanged(True, tuple(map(self._row, self._own()))))

    def _row(self, queue: FullQueue) -> tuple[str, tuple[str, ...]]:
        return queue.client, tuple(map(str, self.filters[queue]))

    def _replace(self, queue: FullQueue, wanted: tuple[Filter, ...]) -> None:
        self._discard(queue)
        self.filters[queue] = wanted
        for one in wanted:
            self._index.add(queue, one)

    def _discard(self, queue: FullQueue) -> None:
        for one in self.filters.pop(queue, ()):
            self._index.discard(queue, one)

    def _forget(self, peer: str) -> None:
        self._until_us.pop(peer, None)
        for queue in [queue for queue in self.filters if queue.broker == peer]:
            self._discard(queue)


def _tell_freed(turn: Turn) -> None:
    turn.facts.queues_freed.tell(turn)
