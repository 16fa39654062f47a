"""What is wanted in a whole sub-partition of a hypercube, known at each of its positions.

This is the paper's other sentence on subscriptions: all nodes of the sub-partition "insert the new
pattern in their routing tables" (subscriptions = "sub_partition"). A dominating node tells the
positions below it what came and what went, these tell those below them. Nothing is routed by it. A
broker keeps what each peer told it, and believes the one that stands for the position above. So as
soon as all brokers see the same others alive, each knows what its sub-partition wants. [SHG, 2.2]
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from meshwright.protocol.forwarding.forwarding import ForwardingMessage, Surroundings
from meshwright.protocol.forwarding.partition.cube_hosts import CubeHosts, cube_hosts
from meshwright.protocol.forwarding.topic_trees.climbing_trees import ClimbingTrees
from meshwright.protocol.forwarding.topic_trees.demands import Place
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.turn import Turn

# A set that keeps its order.
Topics = dict[str, None]


class SubPartitionNews(ForwardingMessage, frozen=True, gc=False, tag=174):
    """Topics that are wanted in the sub-partition of a position, and others that are no more."""

    counts_as = "subscription"

    position: int
    added: tuple[str, ...]
    removed: tuple[str, ...]


class SubPartitions:
    """One broker's tables, one for each position that it stands for.

    heard: by position and who told it; this broker itself at dominating nodes. told: by position
    and the broker that stands for it.
    """

    def __init__(self, around: Surroundings, view: CubeHosts) -> None:
        self._around = around
        self._view = view
        self._heard: dict[tuple[int, str], Topics] = {}
        self._told: dict[tuple[int, str], Topics] = {}

    def handlers(self) -> Handlers:
        """Map the message to its method."""
        return (on(SubPartitionNews, self._news),)

    def known(self, position: int) -> tuple[str, ...]:
        """What is known at a position that this broker stands for, oldest first."""
        return tuple(self._heard.get((position, self._teller(position)), ()))

    def rooted(self, turn: Turn, topic: str, position: int, *, is_wanted: bool) -> None:
        """A topic has come up to a dominating node, or is wanted below it no more."""
        news = (topic,)
        came, went = (news, ()) if is_wanted else ((), news)
        self._hear(turn, position, self._around.me, came, went)

    def see(self, turn: Turn, view: CubeHosts) -> None:
        """Other brokers stand for positions now: take back what is not theirs to know any more."""
        self._view = view
        me = self._around.me
        hops = {
            (child, view.hosts[child]): position
            for position, host in enumerate(view.hosts)
            if host == me
            for child in view.children[position]
        }
        for hop in [hop for hop in self._told if hop not in hops]:
            self._tell(turn, *hop, ())
        for hop, position in hops.items():
            self._tell(turn, *hop, self.known(position))

    def renew(self, turn: Turn, peer: str) -> None:
        """A peer begins anew: drop what it told, and tell it again what it should know."""
        for hops in (self._heard, self._told):
            for hop in [hop for hop in hops if hop[1] == peer]:
                del hops[hop]
        self.see(turn, self._view)

    def _teller(self, position: int) -> str:
        """Who is believed about a position: whoever stands for the one above it."""
        return self._view.hosts[self._view.parents[position]]

    def _news(self, turn: Turn, peer: str, message: SubPartitionNews) -> None:
        self._hear(turn, message.position, peer, message.added, message.removed)

    def _hear(
        self,
        turn: Turn,
        position: int,
        teller: str,
        added: Collection[str],
        removed: Collection[str],
    ) -> None:
        hop = (position, teller)
        heard = self._heard.setdefault(hop, {})
        heard.update(dict.fromkeys(added))
        for topic in removed:
            heard.pop(topic, None)
        if not heard:
            del self._heard[hop]
        if self._view.hosts[position] == self._around.me and teller == self._teller(position):
            for child in self._view.children[position]:
                self._tell(turn, child, self._view.hosts[child], self.known(position))

    def _tell(self, turn: Turn, position: int, host: str, topics: Collection[str]) -> None:
        """Let the broker at a position below know just these topics."""
        hop = (position, host)
        former = self._told.pop(hop, {})
        due = dict.fromkeys(topics)
        if due:
            self._told[hop] = due
        added = tuple(one for one in due if one not in former)
        removed = tuple(one for one in former if one not in due)
        if not added and not removed:
            return
        if host == self._around.me:
            self._hear(turn, position, host, added, removed)
        else:
            news = SubPartitionNews(self._around.epoch, position, added, removed)
            self._around.tell(turn, host, news)


class ToldTrees(ClimbingTrees):
    """Trees of topics; what comes up to a dominating node is told to all of its sub-partition."""

    @cached_property
    def told(self) -> SubPartitions:
        return SubPartitions(self._around, cube_hosts(self._around.overlay, self._seen))

    def handlers(self) -> Handlers:
        return (*super().handlers(), *self.told.handlers())

    def see(self, turn: Turn, seen: frozenset[str]) -> None:
        super().see(turn, seen)
        self.told.see(turn, cube_hosts(self._around.overlay, seen))

    def renew(self, turn: Turn, peer: str) -> None:
        super().renew(turn, peer)
        self.told.renew(turn, peer)

    def settle(self, turn: Turn) -> None:
        super().settle(turn)
        for topic, place in self.rooted_here():
            self.rooted(turn, topic, place, is_wanted=True)

    def rooted(self, turn: Turn, topic: str, place: Place, *, is_wanted: bool) -> None:
        self.told.rooted(turn, topic, int(place), is_wanted=is_wanted)
