"""Messages between the master of a star and the brokers whose links it changes.

The usual order is StarLock, StarGranted, StarTables, StarReady, StarSwitch, StarDrained,
StarFinish. Until the master has the new rows on disk, StarDenied or StarAbort ends the change
instead.
"""

from __future__ import annotations

import msgspec

from meshwright.protocol.forwarding.acyclic.tree_tables import StarLink
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.reconfiguration.tree_rows import TreeRow


class StarLock(PeerMessage, frozen=True, gc=False, tag=160):
    """The master asks a broker to take part in its change, in no other, and to change no filters.

    versions: for each broker of the star, the version of its row as the master knows it.
    """

    counts_as = "adaptation"

    change: str
    epoch: int
    versions: dict[str, int]


class StarGranted(PeerMessage, frozen=True, gc=False, tag=161):
    """A broker is locked for the change, and tells no more filters until the change ends.

    Messages keep their order, so all that it told the master has come before this one.
    """

    counts_as = "adaptation"

    change: str


class StarDenied(PeerMessage, frozen=True, gc=False, tag=162):
    """A broker refuses to be locked, or leaves the change before it is ready, and says why."""

    counts_as = "adaptation"

    change: str
    why: str


class StarTables(PeerMessage, frozen=True, gc=False, tag=163):
    """The master tells a locked broker the new rows, and the filters on each of its new links.

    links: for each new link, which filters both ends are taken to have told each other.
    """

    counts_as = "adaptation"

    change: str
    rows: tuple[TreeRow, ...]
    links: tuple[StarLink, ...]


class StarReady(PeerMessage, frozen=True, gc=False, tag=164):
    """A broker has its new links prepared, and on disk that only the master can end the change."""

    counts_as = "adaptation"

    change: str


class StarSwitch(PeerMessage, frozen=True, gc=False, tag=165):
    """The change is decided: use the new links; version: of the receiver's new row."""

    counts_as = "adaptation"

    change: str
    version: int


class StarDrained(PeerMessage, frozen=True, gc=False, tag=166):
    """A broker has its new links on disk, and sends no more frames by the old ones."""

    counts_as = "adaptation"

    change: str


class StarFinish(PeerMessage, frozen=True, gc=False, tag=167):
    """No frame travels on the old links any more: drop them; the lock ends."""

    counts_as = "adaptation"

    change: str


class StarAbort(PeerMessage, frozen=True, gc=False, tag=168):
    """The master ends the change; the links stay as they were."""

    counts_as = "adaptation"

    change: str


class StarQuestion(PeerMessage, frozen=True, gc=False, tag=169):
    """A broker that is ready asks what became of the change.

    version: that its own row has if the change was decided.
    """

    counts_as = "adaptation"

    change: str
    version: int


class TreeTold(PeerMessage, frozen=True, gc=False, tag=170):
    """Rows of the tree in force that the receiver may not know."""

    counts_as = "adaptation"

    epoch: int
    rows: tuple[TreeRow, ...]


class StarRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports how far the change of a star is at a broker, and which brokers it locks.

    step: asked, granted, denied, prepared, decided, switched, drained, done, aborted, or released
        if a broker's lock ended without a word of the master.
    """

    change: str
    step: str
    brokers: tuple[str, ...]
    detail: str = ""
