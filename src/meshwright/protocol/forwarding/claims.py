"""What neighbours tell each other about who wants a topic, hop by hop, and how it mends itself.

A claim says that a topic is wanted at or behind a place. A broker holds it while a source supports
it, and tells it to the next end on its way, which may be itself. What was told between two brokers
is void once one has lost sight of the other or forgot it, and is then told again. So as soon as
all brokers see the same others, claims lie exactly on the ways of the geometry, whatever was lost.
While views differ, ways may form a circle where a claim and its retraction chase each other: claims
count their hops, and are no longer held past a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple, TypeVar

from meshwright.protocol.foundation.turn import Turn

HOPS_MAX = 64
# No way of a geometry is longer; a claim that came farther went in a circle.
HOPS_STRAIGHT_MAX = 40

Place = str | int


class End(NamedTuple):
    """A place and the broker that stands for it: one end of a hop."""

    place: Place
    host: str


class Mark(NamedTuple):
    """What a claim carries: a serial of whoever made it, and the hops it has come."""

    serial: int
    hops: int


class Claim:
    """Who supports a claim, and to whom it was told, with which mark."""

    __slots__ = ("mark", "sources", "told")

    def __init__(self) -> None:
        self.sources: dict[End, Mark] = {}
        self.told: End | None = None
        self.mark = Mark(0, 0)


# Topic, place, sources with their marks, to whom it was told, and with which mark.
Row = tuple[str, Place, tuple[tuple[End, Mark], ...], End | None, Mark]

# Which broker stands now where each stood.
Seats = Mapping[str, str]

Held = TypeVar("Held", bound=Claim)


class Claims(Generic[Held]):
    """All claims of one kind at one broker, by topic and place.

    new makes a claim. way gives the next end of one, or None where there is none now. tell and
    retract pass it on. changed is told every topic of which a source or an end has changed.
    """

    def __init__(
        self,
        new: Callable[[], Held],
        *,
        way: Callable[[str, Place], End | None],
        tell: Callable[[Turn, str, Place, End, Mark], None],
        retract: Callable[[Turn, str, Place, End], None],
        changed: Callable[[str], None],
    ) -> None:
        self._new = new
        self._way = way
        self._tell = tell
        self._retract = retract
        self._changed = changed
        self._claims: dict[str, dict[Place, Held]] = {}

    def of(self, topic: str) -> Iterable[Held]:
        """The claims of a topic, oldest first."""
        return self._claims.get(topic, {}).values()

    def get(self, topic: str, place: Place) -> Held | None:
        """The claim of a topic at a place, if it is held."""
        places = self._claims.get(topic)
        return places.get(place) if places is not None else None

    def hear(self, turn: Turn, topic: str, place: Place, source: End, mark: Mark) -> None:
        """A source supports a claim, or supports it with another mark."""
        if mark.hops > HOPS_MAX:
            self.unhear(turn, topic, place, source)
            return
        places = self._claims.setdefault(topic, {})
        claim = places.get(place)
        if claim is None:
            claim = places[place] = self._new()
        if source not in claim.sources:
            self._changed(topic)
        claim.sources[source] = mark
        self._settle(turn, topic, place, claim)

    def unhear(self, turn: Turn, topic: str, place: Place, source: End) -> None:
        """A source no longer supports a claim."""
        claim = self.get(topic, place)
        if claim is not None and claim.sources.pop(source, None) is not None:
            self._changed(topic)
            self._settle(turn, topic, place, claim)

    def renew(self, turn: Turn, peer: str) -> None:
        """A peer begins anew: what it told is void, and what it should know is told again."""
        for topic, place, claim in self._all():
            for source in [source for source in claim.sources if source.host == peer]:
                del claim.sources[source]
                self._changed(topic)
            is_told = claim.told is not None and claim.told.host == peer
            self._settle(turn, topic, place, claim, again=is_told)

    def void(self, peers: Collection[str]) -> set[str]:
        """Forget what was told to peers or by them, out of reach; says of whom there was any."""
        found: set[str] = set()
        for topic, places in self._claims.items():
            for claim in places.values():
                ends = [source for source in claim.sources if source.host in peers]
                for source in ends:
                    del claim.sources[source]
                if claim.told is not None and claim.told.host in peers:
                    ends.append(claim.told)
                    claim.told = None
                if ends:
                    found.update(end.host for end in ends)
                    self._changed(topic)
        return found

    def rows(self) -> tuple[Row, ...]:
        """All claims, to be held by another broker in the place of this one."""
        return tuple(
            (topic, place, tuple(claim.sources.items()), claim.told, claim.mark)
            for topic, place, claim in self._all()
        )

    def load(self, rows: Iterable[Row], seats: Seats) -> None:
        """Hold these claims; places that are brokers are those that stand there now."""
        for topic, place, sources, told, mark in rows:
            claim = self._new()
            claim.sources = {seated(end, seats): Mark(*mark) for end, mark in sources}
            claim.told = None if told is None else seated(told, seats)
            claim.mark = Mark(*mark)
            self._claims.setdefault(topic, {})[seated_place(place, seats)] = claim
            self._changed(topic)

    def settle(self, turn: Turn) -> None:
        """Bring every claim in line with the ways as they are now."""
        for topic, place, claim in self._all():
            self._settle(turn, topic, place, claim)

    def _all(self) -> Iterator[tuple[str, Place, Held]]:
        """All claims as they are now, but for those that end before their turn."""
        for topic, places in list(self._claims.items()):
            for place, claim in list(places.items()):
                if places.get(place) is claim:
                    yield topic, place, claim

    def _settle(
        self, turn: Turn, topic: str, place: Place, claim: Claim, *, again: bool = False
    ) -> None:
        """Tell a claim where it should be told, and take it back where it should not."""
        told, marked = claim.told, claim.mark
        if claim.sources:
            end = self._way(topic, place)
            mark = max(claim.sources.values(), key=lambda mark: (mark.serial, -mark.hops))
        else:
            end, mark = None, marked
            self._drop(topic, place)
        is_news = mark.serial != marked.serial or _is_straighter(mark, marked)
        if end == told and not is_news and not again:
            return
        claim.told, claim.mark = end, mark
        self._changed(topic)
        if end is not None:
            self._tell(turn, topic, place, end, mark)
        if told is not None and told != end:
            self._retract(turn, topic, place, told)

    def _drop(self, topic: str, place: Place) -> None:
        places = self._claims[topic]
        del places[place]
        if not places:
            del self._claims[topic]


def seated(end: End, seats: Seats) -> End:
    """An end as it is for those who stand there now."""
    place, host = end
    return End(seated_place(place, seats), seats[host])


def seated_place(place: Place, seats: Seats) -> Place:
    """A place, which is a position that stays or the broker that stands there now."""
    return seats[place] if isinstance(place, str) else place


def _is_straighter(mark: Mark, told: Mark) -> bool:
    """Whether a claim that was told as one in a circle has a straight way after all."""
    return told.hops > HOPS_STRAIGHT_MAX and mark.hops < told.hops
