"""Watching: brokers where a client may come next see what it wants, until it is known where it is.

A session has one owner, so it can be sent ahead to one broker only. Its filters can be at several:
each of them puts the filters in force and so has the publications in its seen log. When the client
comes to one of them, the session is fetched without these. Nothing depends on a watch: one that is
lost costs messages, and one that is forgotten ends by itself. [mobility, 3.2.1]
"""

from __future__ import annotations

from dataclasses import dataclass

from meshwright.errors import FilterError
from meshwright.filters.filter import Filter, parse_filter
from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn, nothing
from meshwright.protocol.mobility.policies import MobilitySettings
from meshwright.protocol.mobility.prediction import next_probabilities
from meshwright.protocol.mobility.prefetching import may_go_ahead
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.peers.liveness import Liveness
from meshwright.protocol.sessions.session import Session
from meshwright.protocol.sessions.sessions import Sessions
from meshwright.protocol.streams.interest import Interest

TICK = ("watching",)


class Watch(PeerMessage, frozen=True, gc=False, tag=175):
    """A client of the sender is away and may come to the receiver: see what it wants."""

    counts_as = "mobility"

    client: str
    filters: tuple[str, ...]


class WatchOver(PeerMessage, frozen=True, gc=False, tag=176):
    """It is known where the client is: its filters need not be in force any more."""

    counts_as = "mobility"

    client: str


@dataclass(frozen=True, slots=True)
class Watched:
    """What a broker sees for a client that may come: asked by whom, and until when."""

    owner: str
    filters: tuple[Filter, ...]
    until_us: int


class Watching:
    """Both sides: watches that others keep for clients of this broker, and those kept here."""

    def __init__(
        self,
        me: str,
        settings: MobilitySettings,
        sessions: Sessions,
        interest: Interest,
        *,
        conversations: Conversations,
        liveness: Liveness,
    ) -> None:
        self._me = me
        self._settings = settings
        self._sessions = sessions
        self._interest = interest
        self._send = conversations.send
        self._liveness = liveness
        # By client: who was asked to watch for it, and what is watched here.
        self._watchers: dict[str, tuple[str, ...]] = {}
        self._watched: dict[str, Watched] = {}

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (on(Watch, self.watch), on(WatchOver, self.watch_over))

    def disconnected(self, turn: Turn, client: str) -> None:
        """A client has left: have the brokers where it may come next see what it wants."""
        session = self._sessions.find(client)
        if session is None or not may_go_ahead(session):
            return
        self.found(turn, client)
        targets = self._targets(session)
        if targets:
            self._watchers[client] = targets
            message = Watch(client, tuple(session.subscriptions))
            for target in targets:
                self._send(turn, target, message)

    def found(self, turn: Turn, client: str) -> None:
        """It is known where a client is, or its session is over: end all watches for it."""
        for target in self._watchers.pop(client, ()):
            self._send(turn, target, WatchOver(client))

    def watch(self, turn: Turn, peer: str, message: Watch) -> None:
        """Put a client's filters in force here for a while."""
        filters = _watchable(message.filters)
        before = self._watched.pop(message.client, None)
        if not self._watched:
            turn.timer(TICK, turn.now_us + self._watch_us)
        self._watched[message.client] = Watched(peer, filters, turn.now_us + self._watch_us)
        for one in filters:
            self._interest.add(turn, one, nothing)
        # Only now, so that what both ask for stays in force.
        self._end(turn, before)

    def watch_over(self, turn: Turn, peer: str, message: WatchOver) -> None:
        """See what a client wants no longer, unless another broker asks for that since."""
        watched = self._watched.get(message.client)
        if watched is not None and watched.owner == peer:
            self._end(turn, self._watched.pop(message.client))

    def end_all(self, turn: Turn) -> None:
        """Nobody needs a watch of this broker any more."""
        for client in list(self._watched):
            self._end(turn, self._watched.pop(client))

    def tick(self, turn: Turn) -> None:
        """End watches that have lasted too long."""
        late = [one for one, kept in self._watched.items() if kept.until_us <= turn.now_us]
        for client in late:
            self._end(turn, self._watched.pop(client))
        if self._watched:
            turn.timer(TICK, min(kept.until_us for kept in self._watched.values()))

    @property
    def _watch_us(self) -> int:
        return int(self._settings.watch_s * SECOND_US)

    def _targets(self, session: Session) -> tuple[str, ...]:
        """The brokers where a client may come next, the most likely first."""
        likely = list(next_probabilities(session.visits))
        expected = self._settings.expected.get(session.client)
        if expected is not None:
            likely = [expected]
        alive = self._liveness.alive()
        others = [name for name in likely if name != self._me and name in alive]
        return tuple(others[: self._settings.watchers_max])

    def _end(self, turn: Turn, watched: Watched | None) -> None:
        for one in () if watched is None else watched.filters:
            self._interest.remove(turn, one)


def _watchable(texts: tuple[str, ...]) -> tuple[Filter, ...]:
    """The filters that one broker can put in force for a session at another: none is shared."""
    found = []
    for text in texts:
        try:
            one = parse_filter(text)
        except FilterError:
            continue
        if one.group is None:
            found.append(one)
    return tuple(found)
