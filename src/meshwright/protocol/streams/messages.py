"""Messages between the origin of a stream and its receivers, and about interest in topics."""

from __future__ import annotations

from meshwright.protocol.directory.entries import Entry, EntryChange
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.stream_frames import StreamFrame


class Repair(PeerMessage, frozen=True, gc=False, tag=52):
    """The origin sends a frame straight to a receiver, which did not acknowledge it in time.

    known: the versions of the receiver's two entries by which it is owed the frame: of the topic's
        key and of wildcards. The receiver may have left and come back while the frame was in
        flight.
    """

    counts_as = "repair"

    frame: StreamFrame
    known: tuple[int, int]


class Acknowledged(PeerMessage, frozen=True, gc=False, tag=53):
    """A receiver acknowledges frames of one origin.

    points: topics, each with the number up to which the receiver has all that it is owed on disk.
    """

    counts_as = "acknowledgement"

    points: tuple[tuple[str, int], ...]


class Joining(PeerMessage, frozen=True, gc=False, tag=54):
    """A broker tells an origin that its entry under a key has changed.

    recover: send all frames that are not checked yet, too; the broker may have missed them.
    added: the filters that are new in the entry, unless the origin may have missed earlier ones.
    change: how the entry differs from an earlier version; entry then has only the new version.
    """

    counts_as = "directory"

    key: str
    entry: Entry
    recover: bool
    added: tuple[str, ...] = ()
    change: EntryChange | None = None


class Joined(PeerMessage, frozen=True, gc=False, tag=55):
    """The origin counts the entry from now on.

    topics: the origin's topics that a new wildcard of the entry matches.
    is_unknown: the origin does not count it: it lacks the version that the change is based on.
    """

    counts_as = "directory"

    key: str
    version: int
    topics: tuple[str, ...] = ()
    is_unknown: bool = False


class Announce(PeerMessage, frozen=True, gc=False, tag=56):
    """An origin opens a topic that the receiver's wildcard matches: have the overlay carry it."""

    counts_as = "directory"

    topic: str


class Announced(PeerMessage, frozen=True, gc=False, tag=57):
    """The overlay carries the topic to the receiver."""

    counts_as = "directory"

    topic: str


class AllPassed(PeerMessage, frozen=True, gc=False, tag=58):
    """Receivers have all that the origin published with numbers up to this, on any topic."""

    counts_as = "acknowledgement"

    number: int


class OwedQuestion(PeerMessage, frozen=True, gc=False, tag=59):
    """A receiver asks the origin whether it must wait for this number."""

    counts_as = "acknowledgement"

    topic: str
    number: int


class OwedNothing(PeerMessage, frozen=True, gc=False, tag=60):
    """The receiver is owed nothing up to this number any more."""

    counts_as = "acknowledgement"

    topic: str
    number: int


class StandingQuestion(PeerMessage, frozen=True, gc=False, tag=61):
    """A broker asks an origin up to which numbers it is owed frames under a key."""

    counts_as = "mobility"

    serial: int
    key: str


class Standing(PeerMessage, frozen=True, gc=False, tag=62):
    """The origin's answer to StandingQuestion.

    points: topics, each with the highest number that the broker is still owed.
    sent: topics, each with the number up to which frames were sent; copies of frames that the
        broker is not owed may still come.
    """

    counts_as = "mobility"

    serial: int
    points: tuple[tuple[str, int], ...]
    sent: tuple[tuple[str, int], ...] = ()


class LegacyQuestion(PeerMessage, frozen=True, gc=False, tag=63):
    """The new keeper of a shared subscription asks an origin what it owed to former keepers."""

    counts_as = "shared"

    key: str
    formers: tuple[str, ...]


class Legacy(PeerMessage, frozen=True, gc=False, tag=64):
    """The frames that an origin owed to former keepers of a shared subscription."""

    counts_as = "shared"

    key: str
    frames: tuple[StreamFrame, ...]
