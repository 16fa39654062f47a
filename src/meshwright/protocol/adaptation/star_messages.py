"""What brokers tell each other, and report, while a star of a tree is redrawn."""

from __future__ import annotations

import msgspec

from meshwright.protocol.forwarding.tree_tables import StarLink
from meshwright.protocol.foundation.message import Message
from meshwright.protocol.reconfiguration.tree_rows import TreeRow


class StarLock(Message, frozen=True, gc=False, tag=160):
    """Take part in redrawing a star, in nothing else meanwhile, and change no filters.

    versions: of the links of all its brokers, as the master knows them.
    """

    change: str
    epoch: int
    versions: dict[str, int]


class StarGranted(Message, frozen=True, gc=False, tag=161):
    """I take part; what I told before this is all that I have told."""

    change: str


class StarDenied(Message, frozen=True, gc=False, tag=162):
    """I do not take part, or no longer, and why."""

    change: str
    why: str


class StarTables(Message, frozen=True, gc=False, tag=163):
    """The star as it will be, and what will have been said on your links in it."""

    change: str
    rows: tuple[TreeRow, ...]
    links: tuple[StarLink, ...]


class StarReady(Message, frozen=True, gc=False, tag=164):
    """I know my new links, and have it on disk that I wait for what becomes of the change."""

    change: str


class StarSwitch(Message, frozen=True, gc=False, tag=165):
    """The change is decided: use the new links; version: that of yours."""

    change: str
    version: int


class StarDrained(Message, frozen=True, gc=False, tag=166):
    """The new links are on my disk, and I send nothing more by the old ones."""

    change: str


class StarFinish(Message, frozen=True, gc=False, tag=167):
    """Nothing is under way by the old links: forget them, and be free."""

    change: str


class StarAbort(Message, frozen=True, gc=False, tag=168):
    """The change ends, and all is as it was."""

    change: str


class StarQuestion(Message, frozen=True, gc=False, tag=169):
    """Tell me what became of the change that gives my links this version."""

    change: str
    version: int


class TreeTold(Message, frozen=True, gc=False, tag=170):
    """Rows of the tree in force that you may not know."""

    epoch: int
    rows: tuple[TreeRow, ...]


STAR_MESSAGES: tuple[type, ...] = (
    StarLock, StarGranted, StarDenied, StarTables, StarReady, StarSwitch, StarDrained, StarFinish,
    StarAbort, StarQuestion, TreeTold,
)  # fmt: skip


class StarRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How far the change of a star is at a broker, and who is locked by it.

    step: asked, granted, denied, prepared, decided, switched, drained, done, aborted, or released
    where a broker is free again without having heard from the master.
    """

    change: str
    step: str
    brokers: tuple[str, ...]
    detail: str = ""
