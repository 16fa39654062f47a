"""Clusters: brokers that are near each other, among which clients are placed [DYNATOPS, 1.3].

Brokers of one site are a cluster. Without sites, every so many brokers in the order of names one is
a landmark, and a broker belongs to the landmark before it in that order, unless it is much nearer
to another. Each broker says with its answers to heartbeats to which cluster it belongs, so that all
of a cluster know each other. A cluster that is too large is cut in the order of names.
"""

from __future__ import annotations

# A landmark is much nearer if the round trip is shorter by this share, and by so much.
NEARER_SHARE = 0.5
NEARER_MS = 1.0


class Clusters:
    """To which cluster a broker belongs, and who else does.

    site: where it stands, or "". size: how many brokers a cluster has at most. alive: brokers that
    are believed alive, sorted. measured_ms: round trips with them, as far as they are known.
    """

    def __init__(self, me: str, site: str, size: int) -> None:
        self._me = me
        self._site = site
        self._size = size
        self._landmark = ""
        self._told: dict[str, str] = {}

    def own(self, alive: tuple[str, ...], measured_ms: dict[str, float]) -> str:
        """The name of this broker's cluster."""
        if self._site:
            return f"site {self._site}"
        return f"near {self._nearest(alive, measured_ms)}"

    def heard(self, peer: str, cluster: str) -> None:
        """A peer says where it belongs."""
        self._told[peer] = cluster

    def members(self, alive: tuple[str, ...], measured_ms: dict[str, float]) -> tuple[str, ...]:
        """The living brokers of this one's cluster, itself among them, sorted."""
        own = self.own(alive, measured_ms)
        together = [
            name for name in alive if name == self._me or self._cluster_of(alive, name) == own
        ]
        first = together.index(self._me) // self._size * self._size
        return tuple(together[first : first + self._size])

    def _cluster_of(self, alive: tuple[str, ...], name: str) -> str:
        """What a broker said, or what holds for all by their names."""
        return self._told.get(name) or f"near {self._by_name(alive, name)}"

    def _by_name(self, alive: tuple[str, ...], name: str) -> str:
        return alive[alive.index(name) // self._size * self._size]

    def _nearest(self, alive: tuple[str, ...], measured_ms: dict[str, float]) -> str:
        """The landmark of this broker; it is left only for one that is much nearer."""
        landmarks = alive[:: self._size]
        if self._me in landmarks:
            return self._me
        if self._landmark not in landmarks:
            self._landmark = self._by_name(alive, self._me)
        known = [(measured_ms[one], one) for one in landmarks if one in measured_ms]
        here_ms = measured_ms.get(self._landmark)
        if here_ms is not None:
            best_ms, best = min(known)
            if best_ms < here_ms * NEARER_SHARE and here_ms - best_ms >= NEARER_MS:
                self._landmark = best
        return self._landmark
