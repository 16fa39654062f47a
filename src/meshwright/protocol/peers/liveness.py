"""Who lives: what this broker sees itself, and what it hears from others.

A broker that its peers find silent is suspected, and the word spreads along the overlay. Each one
counts a version of itself, higher with every start; hearing itself suspected it raises the version
and says so, which overrules the suspicion.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Turn


class Rumour(PeerMessage, frozen=True, gc=False, tag=34):
    """Brokers with their versions, and whether they live; and the epoch in force at the sender."""

    counts_as = "membership"

    words: tuple[tuple[str, int, bool], ...]
    epoch: int = 0


class Liveness:
    """The brokers believed alive; it tells whenever the belief changes.

    in_force gives the epoch of the overlay in force, which is told along.
    """

    def __init__(
        self,
        me: str,
        brokers: tuple[str, ...],
        incarnation: int,
        *,
        send: Callable[[Turn, str, Any], None],
        neighbours: Callable[[], list[str]],
        in_force: Callable[[], int],
    ) -> None:
        self._me = me
        self._send = send
        self._neighbours = neighbours
        self._in_force = in_force
        self._words: dict[str, tuple[int, bool]] = dict.fromkeys(sorted(brokers), (0, True))
        self._words[me] = (incarnation << 20, True)
        self._alive = tuple(self._words)

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (on(Rumour, self.heard),)

    def alive(self) -> tuple[str, ...]:
        """Brokers believed alive, this one among them, sorted."""
        return self._alive

    def know(self, brokers: tuple[str, ...]) -> bool:
        """Take in brokers not known before, as alive until somebody says otherwise; True if any."""
        unknown = [name for name in brokers if name not in self._words]
        if unknown:
            words = {**self._words, **dict.fromkeys(unknown, (0, True))}
            self._words = dict(sorted(words.items()))
            self._count_alive()
        return bool(unknown)

    def ask_dead(self, turn: Turn) -> None:
        """Ask brokers that are said to be dead; a broker without neighbours hears no rumours."""
        for name, (version, is_alive) in self._words.items():
            if not is_alive:
                self._send(turn, name, Rumour(((name, version, False),), self._in_force()))

    def started(self, turn: Turn) -> None:
        """Say that this broker lives, with its new version."""
        self._spread(turn, [self._me])

    def peer_lost(self, turn: Turn, peer: str) -> None:
        """This broker itself finds a peer silent."""
        version, is_alive = self._words.get(peer, (0, False))
        if is_alive:
            self._words[peer] = (version, False)
            self._count_alive()
            turn.facts.alive_changed.tell(turn, self._alive)
            # Who is a neighbour only since then may not have heard of this broker's last start.
            self._spread(turn, [peer, self._me])

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Tell a returning peer all; it answers for itself."""
        words = tuple((name, *word) for name, word in self._words.items())
        self._send(turn, peer, Rumour(words, self._in_force()))

    def heard(self, turn: Turn, peer: str, rumour: Rumour) -> None:
        """Believe the higher version of each broker; of equal ones, that it is dead."""
        news = []
        is_changed = False
        for name, version, is_alive in rumour.words:
            if name not in self._words:
                continue
            if name == self._me:
                mine = self._words[name][0]
                if version > mine or (version == mine and not is_alive):
                    mine = version + 1
                    self._words[name] = (mine, True)
                    news.append(name)
                if not is_alive:
                    # The peer that said so must be told: it may be the only neighbour.
                    self._send(turn, peer, Rumour(((name, mine, True),), self._in_force()))
                continue
            known = self._words[name]
            if version > known[0] or (version == known[0] and known[1] and not is_alive):
                self._words[name] = (version, is_alive)
                news.append(name)
                is_changed = is_changed or known[1] != is_alive
        if is_changed:
            self._count_alive()
            turn.facts.alive_changed.tell(turn, self._alive)
        if news:
            self._spread(turn, news, besides=peer)
        turn.facts.epoch_heard.tell(turn, peer, rumour.epoch)

    def _count_alive(self) -> None:
        self._alive = tuple(name for name, (_, is_alive) in self._words.items() if is_alive)

    def _spread(self, turn: Turn, names: list[str], besides: str | None = None) -> None:
        words = tuple((name, *self._words[name]) for name in names)
        rumour = Rumour(words, self._in_force())
        for neighbour in self._neighbours():
            if neighbour not in {besides, self._me}:
                self._send(turn, neighbour, rumour)
