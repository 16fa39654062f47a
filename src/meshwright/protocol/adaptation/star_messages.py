"""What brokers tell each other, and report, while a star of a tree is redrawn."""

from __future__ import annotations

import msgspec

from meshwright.protocol.forwarding.tree_tables import StarLink
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.reconfiguration.tree_rows import TreeRow


class StarLock(PeerMessage, frozen=True, gc=False, tag=160):
    """Take part in redrawing a star, in nothing else meanwhile, and change no filters.

    versions: of the links of all its brokers, as the master knows them.
    """

    counts_as = "adaptation"

    change: str
    epoch: int
    versions: dict[str, int]


class StarGranted(PeerMessage, frozen=True, gc=False, tag=161):
    """I take part; what I told before this is all that I have told."""

    counts_as = "adaptation"

    change: str


class StarDenied(PeerMessage, frozen=True, gc=False, tag=162):
    """I do not take part, or no longer, and why."""

    counts_as = "adaptation"

    change: str
    why: str


class StarTables(PeerMessage, frozen=True, gc=False, tag=163):
    """The star as it will be, and what will have been said on your links in it."""

    counts_as = "adaptation"

    change: str
    rows: tuple[TreeRow, ...]
    links: tuple[StarLink, ...]


class StarReady(PeerMessage, frozen=True, gc=False, tag=164):
    """I know my new links, and have it on disk that I wait for what becomes of the change."""

    counts_as = "adaptation"

    change: str


class StarSwitch(PeerMessage, frozen=True, gc=False, tag=165):
    """The change is decided: use the new links; version: that of yours."""

    counts_as = "adaptation"

    change: str
    version: int


class StarDrained(PeerMessage, frozen=True, gc=False, tag=166):
    """The new links are on my disk, and I send nothing more by the old ones."""

    counts_as = "adaptation"

    change: str


class StarFinish(PeerMessage, frozen=True, gc=False, tag=167):
    """Nothing is under way by the old links: forget them, and be free."""

    counts_as = "adaptation"

    change: str


class StarAbort(PeerMessage, frozen=True, gc=False, tag=168):
    """The change ends, and all is as it was."""

    counts_as = "adaptation"

    change: str


class StarQuestion(PeerMessage, frozen=True, gc=False, tag=169):
    """Tell me what became of the change that gives my links this version."""

    counts_as = "adaptation"

    change: str
    version: int


class TreeTold(PeerMessage, frozen=True, gc=False, tag=170):
    """Rows of the tree in force that you may not know."""

    counts_as = "adaptation"

    epoch: int
    rows: tuple[TreeRow, ...]


class StarRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How far the change of a star is at a broker, and who is locked by it.

    step: asked, granted, denied, prepared, decided, switched, drained, done, aborted, or released
    where a broker is free again without having heard from the master.
    """

    change: str
    step: str
    brokers: tuple[str, ...]
    detail: str = ""
