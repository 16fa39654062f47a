"""What a new keeper of a shared subscription asks, when the former one was removed for good.

It is the next in the order in which keepers are drawn, of the brokers that were never removed. It
asks every broker what its members hold, and then every origin what it owed to the former keepers;
until all have answered it hands out nothing. What only the former keeper had on its disk is lost
with it. Brokers remember what was handed out lately, so that it is not handed out again; if one of
them has crashed meanwhile, a message of QoS 1 may reach a second member. One of QoS 2 does not: the
highest number handed out is on disk, and nothing before it goes out again.
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
    """A message that a client was handed, and has not answered."""

    hand: int
    client: str
    publication: Publication
    qos: int


class HoldingsQuestion(PeerMessage, frozen=True, gc=False, tag=106):
    """I keep this subscription now: say what you know of it."""

    counts_as = "shared"

    key: str


class Holdings(PeerMessage, frozen=True, gc=False, tag=107):
    """What members here hold, and what came here of streams (origin, topic).

    highest: the highest number of QoS 2. recent: the last numbers, as far as is remembered.
    qos0: what was handed out of QoS 0.
    """

    counts_as = "shared"

    key: str
    holdings: tuple[Holding, ...]
    highest: tuple[tuple[str, str, int], ...]
    recent: tuple[tuple[str, str, tuple[int, ...]], ...]
    qos0: tuple[Line, ...] = ()


class HandedOut:
    """What former keepers have handed out of streams (origin, topic).

    _highest: the highest number of QoS 2. _recent: the last numbers, as far as is remembered.
    """

    __slots__ = ("_highest", "_recent")

    def __init__(self) -> None:
        self._highest: dict[tuple[str, str], int] = {}
        self._recent: set[tuple[str, str, int]] = set()

    def learn(self, told: Holdings) -> None:
        """Take in what one broker knows of it."""
        for origin, topic, number in told.highest:
            key = (origin, topic)
            self._highest[key] = max(number, self._highest.get(key, 0))
        for origin, topic, numbers in told.recent:
            self._recent.update((origin, topic, number) for number in numbers)

    def has(self, origin: str, number: int, publication: Publication) -> bool:
        """True for a message that must not be handed out once more."""
        topic = publication.topic
        is_passed = publication.qos == 2 and number <= self._highest.get((origin, topic), 0)
        return is_passed or (origin, topic, number) in self._recent


class TakeOver:
    """Who has not answered yet, and what is known so far. events: what the group has had since."""

    __slots__ = ("events", "handed_out", "holders", "origins", "stage")

    def __init__(self, brokers: tuple[str, ...]) -> None:
        self.holders = dict.fromkeys(brokers)
        self.origins = dict.fromkeys(brokers)
        self.stage = Stage.HOLDERS
        self.handed_out = HandedOut()
        self.events: set[PublicationId] = set()

    def ask_origins(self) -> None:
        """All that members hold is known: go on to the origins."""
        self.stage = STAGES.checked(self.stage, Stage.ORIGINS)

    def is_new(self, frame: StreamFrame) -> bool:
        """True if a message that was owed to a former keeper is for the group."""
        publication = frame.publication
        if publication.publication_id in self.events:
            return False
        return not self.handed_out.has(frame.origin, frame.number, publication)


def formers_of(key: str, keeper: str, brokers: tuple[str, ...]) -> tuple[str, ...]:
    """The brokers that would keep a subscription rather than this one."""
    order = replicas_of(key, brokers, len(brokers))
    return order[: order.index(keeper)]
