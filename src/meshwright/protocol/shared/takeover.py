"""Take-over: what the new keeper of a shared subscription asks, after the former was removed.

The new keeper is the next in the order by which keepers are chosen. It asks every broker which
messages its members hold, then every origin which publications it owed to former keepers, and hands
out nothing until all have answered. Messages that only the former keeper had on disk are lost.
Brokers remember which messages were handed out lately, so that these are not handed out again. If
such a broker has crashed since, a QoS 1 message may reach a second member; a QoS 2 message does
not, as each broker keeps the highest number handed out on disk.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from meshwright.model.publication import Publication, PublicationId
from meshwright.protocol.directory.directory import replicas_of
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.shared.at_most_once import Line


class Stage(Enum):
    """Whom a new keeper asks."""

    HOLDERS = "all brokers, what their members hold"
    ORIGINS = "all origins, what they owed to former keepers"


STAGES = Transitions({Stage.HOLDERS: (Stage.ORIGINS,), Stage.ORIGINS: ()})


class Holding(NamedTuple):
    """A message that a client was handed and has not acknowledged."""

    hand: int
    client: str
    publication: Publication
    qos: int


class HoldingsQuestion(PeerMessage, frozen=True, gc=False, tag=106):
    """A new keeper asks a broker what it knows of a group."""

    counts_as = "shared"

    key: str


class Holdings(PeerMessage, frozen=True, gc=False, tag=107):
    """What a broker's members hold, and which messages of streams (origin, topic) they were handed.

    highest: of each stream, the highest number handed out as QoS 2.
    recent: of each stream, the last numbers handed out, as far as they are remembered.
    qos0: the last QoS 0 messages handed out.
    """

    counts_as = "shared"

    key: str
    holdings: tuple[Holding, ...]
    highest: tuple[tuple[str, str, int], ...]
    recent: tuple[tuple[str, str, tuple[int, ...]], ...]
    qos0: tuple[Line, ...] = ()


class HandedOut:
    """Which messages of streams (origin, topic) former keepers handed out.

    _highest: of each stream, the highest number handed out as QoS 2.
    _recent: numbers handed out lately, as far as brokers remember them.
    """

    __slots__ = ("_highest", "_recent")

    def __init__(self) -> None:
        self._highest: dict[tuple[str, str], int] = {}
        self._recent: set[tuple[str, str, int]] = set()

    def learn(self, told: Holdings) -> None:
        """Add what one broker knows."""
        for origin, topic, number in told.highest:
            key = (origin, topic)
            self._highest[key] = max(number, self._highest.get(key, 0))
        for origin, topic, numbers in told.recent:
            self._recent.update((origin, topic, number) for number in numbers)

    def has(self, origin: str, number: int, publication: Publication) -> bool:
        """True for a message that must not be handed out again."""
        topic = publication.topic
        is_passed = publication.qos == 2 and number <= self._highest.get((origin, topic), 0)
        return is_passed or (origin, topic, number) in self._recent


class TakeOver:
    """One take-over: which brokers have not answered, and what the others answered.

    holders: brokers that have not sent Holdings.
    origins: brokers that have not sent Legacy.
    events: messages that came to the group meanwhile.
    """

    __slots__ = ("events", "handed_out", "holders", "origins", "stage")

    def __init__(self, brokers: tuple[str, ...]) -> None:
        self.holders = dict.fromkeys(brokers)
        self.origins = dict.fromkeys(brokers)
        self.stage = Stage.HOLDERS
        self.handed_out = HandedOut()
        self.events: set[PublicationId] = set()

    def ask_origins(self) -> None:
        """All brokers have told what their members hold: go on to the origins."""
        self.stage = STAGES.checked(self.stage, Stage.ORIGINS)

    def is_new(self, frame: StreamFrame) -> bool:
        """True if a publication that was owed to a former keeper must be handed out."""
        publication = frame.publication
        if publication.publication_id in self.events:
            return False
        return not self.handed_out.has(frame.origin, frame.number, publication)


def formers_of(key: str, keeper: str, brokers: tuple[str, ...]) -> tuple[str, ...]:
    """The brokers that come before this one in the order of keepers of a subscription."""
    order = replicas_of(key, brokers, len(brokers))
    return order[: order.index(keeper)]
