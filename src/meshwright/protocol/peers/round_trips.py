"""How long a word to each other broker and its answer take.

A heartbeat carries a number that the peer sends back at once. Both times are of the clock of the
broker that asks, so wrong clocks do not matter. A heartbeat is not repeated when a connection
breaks, nor does it wait behind other messages here; so what is measured is the way, and the time
that the peer needs to answer.
"""

from __future__ import annotations

import msgspec

from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.clusters import Clusters
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.liveness import Liveness

# A new measure counts for so much of the smoothed one, as in TCP.
NEW_SHARE = 1 / 8


class RoundTripSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How often a peer is measured, how many of them with one heartbeat, and who belongs together.

    site: where the broker stands; those of one site are a cluster.
    cluster_size: how many brokers there are in a cluster at most.
    """

    every_us: int = 10_000_000
    at_once_max: int = 8
    site: str = ""
    cluster_size: int = 8


class Ping(PeerMessage, frozen=True, gc=False, tag=171):
    """Asks a peer to send the number back."""

    counts_as = "link"

    number: int


class Pong(PeerMessage, frozen=True, gc=False, tag=172):
    """The answer, and to which cluster the peer belongs."""

    counts_as = "link"

    number: int
    cluster: str


class RoundTrips:
    """One broker's measures, and the clusters that follow from them."""

    def __init__(
        self,
        me: str,
        settings: RoundTripSettings,
        conversations: Conversations,
        liveness: Liveness,
    ) -> None:
        self._me = me
        self._settings = settings
        self._conversations = conversations
        self._liveness = liveness
        self._number = 0
        # By peer: when it was asked last, with which number; 0: it has answered.
        self._asked: dict[str, tuple[int, int]] = {}
        self._smoothed_us: dict[str, float] = {}
        self._clusters = Clusters(me, settings.site, settings.cluster_size)

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (on(Ping, self._ping), on(Pong, self._pong))

    def tick(self, turn: Turn) -> None:
        """With a heartbeat: ask those who were not asked for long, the longest first."""
        others = self._others()
        due_us = turn.now_us - self._settings.every_us
        due = [name for name in others if self._asked.get(name, (due_us, 0))[0] <= due_us]
        due.sort(key=lambda name: self._asked.get(name, (0, 0))[0])
        for peer in due[: self._settings.at_once_max]:
            self._number += 1
            if self._conversations.say(turn, peer, Ping(self._number)):
                self._asked[peer] = (turn.now_us, self._number)

    def smoothed_ms(self) -> dict[str, float]:
        """Round trips with brokers that are believed alive, as far as measured; by name."""
        known = self._smoothed_us
        return {name: known[name] / 1000 for name in self._others() if name in known}

    def cluster(self) -> tuple[str, ...]:
        """The living brokers that are near this one, itself among them, sorted."""
        return self._clusters.members(self._liveness.alive(), self.smoothed_ms())

    def roll_changed(self, _turn: Turn) -> None:
        """Forget brokers that are not here any more."""
        others = set(self._others())
        self._asked = {name: one for name, one in self._asked.items() if name in others}
        self._smoothed_us = {name: us for name, us in self._smoothed_us.items() if name in others}

    def _others(self) -> tuple[str, ...]:
        return tuple(name for name in self._liveness.alive() if name != self._me)

    def _ping(self, turn: Turn, peer: str, ping: Ping) -> None:
        cluster = self._clusters.own(self._liveness.alive(), self.smoothed_ms())
        self._conversations.say(turn, peer, Pong(ping.number, cluster))

    def _pong(self, turn: Turn, peer: str, pong: Pong) -> None:
        asked_us, number = self._asked.get(peer, (0, 0))
        if pong.number != number or not number:
            return
        self._asked[peer] = (asked_us, 0)
        self._clusters.heard(peer, pong.cluster)
        measured_us = turn.now_us - asked_us
        known_us = self._smoothed_us.get(peer, measured_us)
        self._smoothed_us[peer] = known_us + NEW_SHARE * (measured_us - known_us)
