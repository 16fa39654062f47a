"""Demands: brokers tell the next one, hop by hop, that a topic is wanted behind them.

A demand says that a topic is wanted at or behind a place. A broker holds it while a source supports
it, and tells it to the next end on its way, which may be the broker itself. What two brokers told
each other is void when one has lost sight of the other or forgot it, and is told again. So as soon
as all brokers see the same others alive, demands lie exactly on the geometry's routes, whatever was
lost. While views differ, routes may form a circle in which a demand and its retraction chase each
other: demands count their hops, and are not held past a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from meshwright.protocol.foundation.turn import Turn

HOPS_MAX = 64
# No route of a geometry is longer; a demand that came farther went in a circle.
HOPS_STRAIGHT_MAX = 40

Place = str | int


class End(NamedTuple):
    """A place with the broker that stands for it: one end of a hop."""

    place: Place
    host: str


class Trail(NamedTuple):
    """What a demand carries: a serial of the broker that made it, and the hops it has come."""

    serial: int
    hops: int


class Demand:
    """A demand for a topic at a place.

    sources: the ends that support it, with their trails.
    told: the end that it was told to, with trail.
    """

    __slots__ = ("sources", "told", "trail")

    def __init__(self) -> None:
        self.sources: dict[End, Trail] = {}
        self.told: End | None = None
        self.trail = Trail(0, 0)


# Topic, place, sources with their trails, the end that it was told to, and with which trail.
Row = tuple[str, Place, tuple[tuple[End, Trail], ...], End | None, Trail]

# For each broker of the former overlay the one that has its position now.
Heirs = Mapping[str, str]

Held = TypeVar("Held", bound=Demand)


class Demands(Generic[Held]):
    """All demands of one kind at one broker, by topic and place.

    new: makes a demand.
    way: the next end of a demand; None if there is none now.
    tell, retract: pass a demand on, or take it back.
    changed: called with every topic of which a source or an end has changed.
    """

    def __init__(
        self,
        new: Callable[[], Held],
        *,
        way: Callable[[str, Place], End | None],
        tell: Callable[[Turn, str, Place, End, Trail], None],
        retract: Callable[[Turn, str, Place, End], None],
        changed: Callable[[str], None],
    ) -> None:
        self._new = new
        self._way = way
        self._tell = tell
        self._retract = retract
        self._changed = changed
        self._demands: dict[str, dict[Place, Held]] = {}

    def of(self, topic: str) -> Iterable[Held]:
        """The demands of a topic, oldest first."""
        return self._demands.get(topic, {}).values()

    def get(self, topic: str, place: Place) -> Held | None:
        """The demand of a topic at a place, if it is held."""
        places = self._demands.get(topic)
        return places.get(place) if places is not None else None

    def hear(self, turn: Turn, topic: str, place: Place, source: End, trail: Trail) -> None:
        """A source supports a demand, or supports it with another trail."""
        if trail.hops > HOPS_MAX:
            self.unhear(turn, topic, place, source)
            return
        places = self._demands.setdefault(topic, {})
        demand = places.get(place)
        if demand is None:
            demand = places[place] = self._new()
        if source not in demand.sources:
            self._changed(topic)
        demand.sources[source] = trail
        self._settle(turn, topic, place, demand)

    def unhear(self, turn: Turn, topic: str, place: Place, source: End) -> None:
        """A source no longer supports a demand."""
        demand = self.get(topic, place)
        if demand is not None and demand.sources.pop(source, None) is not None:
            self._changed(topic)
            self._settle(turn, topic, place, demand)

    def renew(self, turn: Turn, peer: str) -> None:
        """A peer begins anew: drop what it told, and tell it again what it should know."""
        for topic, place, demand in self._all():
            for source in [source for source in demand.sources if source.host == peer]:
                del demand.sources[source]
                self._changed(topic)
            is_told = demand.told is not None and demand.told.host == peer
            self._settle(turn, topic, place, demand, again=is_told)

    def void(self, peers: Collection[str]) -> set[str]:
        """Forget what lost peers told and were told; returns those for which there was anything."""
        found: set[str] = set()
        for topic, places in self._demands.items():
            for demand in places.values():
                ends = [source for source in demand.sources if source.host in peers]
                for source in ends:
                    del demand.sources[source]
                if demand.told is not None and demand.told.host in peers:
                    ends.append(demand.told)
                    demand.told = None
                if ends:
                    found.update(end.host for end in ends)
                    self._changed(topic)
        return found

    def rows(self) -> tuple[Row, ...]:
        """All demands, for the broker that inherits this one's position."""
        return tuple(
            (topic, place, tuple(demand.sources.items()), demand.told, demand.trail)
            for topic, place, demand in self._all()
        )

    def load(self, rows: Iterable[Row], heirs: Heirs) -> None:
        """Hold inherited demands; a place that is a broker becomes the broker that is there now."""
        for topic, place, sources, told, trail in rows:
            demand = self._new()
            demand.sources = {inherited(end, heirs): Trail(*trail) for end, trail in sources}
            demand.told = None if told is None else inherited(told, heirs)
            demand.trail = Trail(*trail)
            self._demands.setdefault(topic, {})[inherited_place(place, heirs)] = demand
            self._changed(topic)

    def settle(self, turn: Turn) -> None:
        """Bring every demand in line with the present routes."""
        for topic, place, demand in self._all():
            self._settle(turn, topic, place, demand)

    def _all(self) -> Iterator[tuple[str, Place, Held]]:
        """All present demands, but for those that end before their turn."""
        for topic, places in list(self._demands.items()):
            for place, demand in list(places.items()):
                if places.get(place) is demand:
                    yield topic, place, demand

    def _settle(
        self, turn: Turn, topic: str, place: Place, demand: Demand, *, again: bool = False
    ) -> None:
        """Tell a demand to its next end, and take it back from another one."""
        told, former = demand.told, demand.trail
        if demand.sources:
            end = self._way(topic, place)
            trail = max(demand.sources.values(), key=lambda trail: (trail.serial, -trail.hops))
        else:
            end, trail = None, former
            self._drop(topic, place)
        is_news = trail.serial != former.serial or _is_straighter(trail, former)
        if end == told and not is_news and not again:
            return
        demand.told, demand.trail = end, trail
        self._changed(topic)
        if end is not None:
            self._tell(turn, topic, place, end, trail)
        if told is not None and told != end:
            self._retract(turn, topic, place, told)

    def _drop(self, topic: str, place: Place) -> None:
        places = self._demands[topic]
        del places[place]
        if not places:
            del self._demands[topic]


def inherited(end: End, heirs: Heirs) -> End:
    """The end with the brokers that stand there now."""
    place, host = end
    return End(inherited_place(place, heirs), heirs[host])


def inherited_place(place: Place, heirs: Heirs) -> Place:
    """The place: a position stays, a broker becomes the one that stands there now."""
    return heirs[place] if isinstance(place, str) else place


def _is_straighter(trail: Trail, told: Trail) -> bool:
    """True if a demand that was told as going in a circle has a straight route after all."""
    return told.hops > HOPS_STRAIGHT_MAX and trail.hops < told.hops
