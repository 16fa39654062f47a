"""What the two ends of a stream say to each other, and who says that it wants one."""

from __future__ import annotations

from meshwright.protocol.directory.entries import Entry, EntryChange
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.stream_frames import StreamFrame


class Repair(PeerMessage, frozen=True, gc=False, tag=52):
    """A frame sent straight from its origin, because it was not acknowledged in time.

    known: the versions of the receiver's entries by which it is owed the frame: that of its topic,
    and that of wildcards. It may have left and come back while the frame was on its way.
    """

    counts_as = "repair"

    frame: StreamFrame
    known: tuple[int, int]


class Acknowledged(PeerMessage, frozen=True, gc=False, tag=53):
    """Topics of one origin, each with the number up to which all is safe at the sender."""

    counts_as = "acknowledgement"

    points: tuple[tuple[str, int], ...]


class Joining(PeerMessage, frozen=True, gc=False, tag=54):
    """My entry under a key has changed; recover asks for all that is not yet checked, too.

    added: the filters that are new in it, unless you may have missed others. change: what the
    entry, which is then only a version, has become since an earlier one.
    """

    counts_as = "directory"

    key: str
    entry: Entry
    recover: bool
    added: tuple[str, ...] = ()
    change: EntryChange | None = None


class Joined(PeerMessage, frozen=True, gc=False, tag=55):
    """The entry counts from now on; topics are those of mine that a new wildcard takes.

    is_unknown: it does not, as I do not know the entry of which you told me what it has become.
    """

    counts_as = "directory"

    key: str
    version: int
    topics: tuple[str, ...] = ()
    is_unknown: bool = False


class Announce(PeerMessage, frozen=True, gc=False, tag=56):
    """I open a topic that a wildcard of yours takes: have the overlay carry it to you."""

    counts_as = "directory"

    topic: str


class Announced(PeerMessage, frozen=True, gc=False, tag=57):
    """The overlay carries the topic here."""

    counts_as = "directory"

    topic: str


class AllPassed(PeerMessage, frozen=True, gc=False, tag=58):
    """Whatever I sent with a number up to this, on any topic, is safe wherever it is owed."""

    counts_as = "acknowledgement"

    number: int


class OwedQuestion(PeerMessage, frozen=True, gc=False, tag=59):
    """A broker asks whether it must wait for this number."""

    counts_as = "acknowledgement"

    topic: str
    number: int


class OwedNothing(PeerMessage, frozen=True, gc=False, tag=60):
    """Nothing up to this number is still on its way to you."""

    counts_as = "acknowledgement"

    topic: str
    number: int


class StandingQuestion(PeerMessage, frozen=True, gc=False, tag=61):
    """A broker asks up to which numbers it is owed something under a key."""

    counts_as = "mobility"

    serial: int
    key: str


class Standing(PeerMessage, frozen=True, gc=False, tag=62):
    """The highest number that is still to come to you, for each topic where there is one.

    sent: up to where each topic was sent; copies of what you are not owed may still come.
    """

    counts_as = "mobility"

    serial: int
    points: tuple[tuple[str, int], ...]
    sent: tuple[tuple[str, int], ...] = ()


class LegacyQuestion(PeerMessage, frozen=True, gc=False, tag=63):
    """Say what you owe to these brokers, which kept the subscription before me."""

    counts_as = "shared"

    key: str
    formers: tuple[str, ...]


class Legacy(PeerMessage, frozen=True, gc=False, tag=64):
    """What is owed to former keepers of a subscription."""

    counts_as = "shared"

    key: str
    frames: tuple[StreamFrame, ...]
