"""The messages of a stream: all publications on one topic that entered the network at one broker.

A stream is numbered from 1 by its origin, which keeps each publication on disk until every
interested broker has acknowledged it. Overlays only carry frames quickly; what they lose, the
origin sends again.
"""

from __future__ import annotations

import msgspec

from meshwright.model.publication import Publication
from meshwright.protocol.entries import Entry, EntryChange
from meshwright.protocol.message import Message

NOTHING_OWED = -1
# No topic is empty, so this stands for all that are not named.
EVERY_TOPIC = ""


class StreamFrame(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """One publication of a stream; number 0 is one without a promise (QoS 0).

    previous names, for the brokers for which it is not simply number - 1, the number that they must
    have before this one, or NOTHING_OWED. behind: None unless its topic has one order with others;
    then points of the same origin on those that go before it where they are wanted.
    """

    origin: str
    number: int
    publication: Publication
    previous: tuple[tuple[str, int], ...] = ()
    behind: tuple[tuple[str, int], ...] | None = None

    def previous_of(self, broker: str) -> int:
        """What this broker must have before this frame."""
        for name, number in self.previous:
            if name == broker:
                return number
        return self.number - 1


class Repair(Message, frozen=True, gc=False):
    """A frame sent straight from its origin, because it was not acknowledged in time.

    known: the versions of the receiver's entries by which it is owed the frame: that of its topic,
    and that of wildcards. It may have left and come back while the frame was on its way.
    """

    frame: StreamFrame
    known: tuple[int, int]


class Acknowledged(Message, frozen=True, gc=False):
    """Topics of one origin, each with the number up to which all is safe at the sender."""

    points: tuple[tuple[str, int], ...]


class Joining(Message, frozen=True, gc=False):
    """My entry under a key has changed; recover asks for all that is not yet checked, too.

    added: the filters that are new in it, unless you may have missed others. change: what the
    entry, which is then only a version, has become since an earlier one.
    """

    key: str
    entry: Entry
    recover: bool
    added: tuple[str, ...] = ()
    change: EntryChange | None = None


class Joined(Message, frozen=True, gc=False):
    """The entry counts from now on; topics are those of mine that a new wildcard takes.

    is_unknown: it does not, as I do not know the entry of which you told me what it has become.
    """

    key: str
    version: int
    topics: tuple[str, ...] = ()
    is_unknown: bool = False


class Announce(Message, frozen=True, gc=False):
    """I open a topic that a wildcard of yours takes: have the overlay carry it to you."""

    topic: str


class Announced(Message, frozen=True, gc=False):
    """The overlay carries the topic here."""

    topic: str


class AllPassed(Message, frozen=True, gc=False):
    """Whatever I sent with a number up to this, on any topic, is safe wherever it is owed."""

    number: int


class OwedQuestion(Message, frozen=True, gc=False):
    """A broker asks whether it must wait for this number."""

    topic: str
    number: int


class OwedNothing(Message, frozen=True, gc=False):
    """Nothing up to this number is still on its way to you."""

    topic: str
    number: int


class StandingQuestion(Message, frozen=True, gc=False):
    """A broker asks up to which numbers it is owed something under a key."""

    serial: int
    key: str


class Standing(Message, frozen=True, gc=False):
    """The highest number still under way to you, for each topic where there is one.

    sent: up to where each topic was sent; copies of what you are not owed may still be under way.
    """

    serial: int
    points: tuple[tuple[str, int], ...]
    sent: tuple[tuple[str, int], ...] = ()


def place_in(places: dict[tuple[str, str], int], origin: str, topic: str) -> int:
    """Up to where a stream is passed on, by places as Incoming has them."""
    others = places.get((origin, EVERY_TOPIC), 0)
    return max(places.get((origin, topic), 0), others)
