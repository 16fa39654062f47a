"""What brokers tell each other, and report, while the overlay is changed."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove
from meshwright.protocol.forwarding.climbing_trees import BranchTable
from meshwright.protocol.forwarding.rooted_trees import TreeTable
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.reconfiguration.conversation_marks import PeerMark

Bundled = TypeVar("Bundled")
BuildingMode = Literal["anew", "carry", "join"]


class Lock(PeerMessage, frozen=True, gc=False, tag=132):
    """Take part in a plan, in no other meanwhile, and have its overlay carry what you want.

    source_epoch: that of the overlay in force at the coordinator. supersedes: the epoch of a plan
    that this one ends, or -1. moves: of clients, once the overlay is in force. mode: whether all
    build the overlay anew, carry over what is known, or only the others do, whom you join.
    """

    counts_as = "reconfiguration"

    epoch: int
    plan: str
    target: Overlay
    source_epoch: int
    supersedes: int = -1
    moves: tuple[ClientMove, ...] = ()
    mode: BuildingMode = "anew"


class Deny(PeerMessage, frozen=True, gc=False, tag=133):
    """I do not take part, and why."""

    counts_as = "reconfiguration"

    epoch: int
    why: str


class Inheritance(PeerMessage, frozen=True, gc=False, tag=134):
    """What is known at my place, which is yours in this epoch; None if nothing is."""

    counts_as = "reconfiguration"

    epoch: int
    table: TreeTable | BranchTable | None


class Ready(PeerMessage, frozen=True, gc=False, tag=135):
    """The new overlay carries all that I want, or I have been waiting for that too long.

    marks: how far conversations were when I took over what was known, None if I took over nothing.
    """

    counts_as = "reconfiguration"

    epoch: int
    marks: dict[str, PeerMark] | None
    is_ready: bool = True


class Renew(PeerMessage, frozen=True, gc=False, tag=136):
    """Begin anew with these brokers, or with all neighbours: what you took over may be torn."""

    counts_as = "reconfiguration"

    epoch: int
    peers: tuple[str, ...] | None


class Switch(PeerMessage, frozen=True, gc=False, tag=137):
    """This overlay is in force, and these clients move with it.

    versions: how often links of its brokers have changed since the plan.
    """

    counts_as = "reconfiguration"

    epoch: int
    overlay: Overlay
    moves: tuple[ClientMove, ...] = ()
    versions: dict[str, int] = msgspec.field(default_factory=dict)


class Drained(PeerMessage, frozen=True, gc=False, tag=138):
    """It is on my disk, I send on it, and have seen nothing of older overlays for a while.

    marks: how far I had sent when I last saw something of them, and how far I have received.
    """

    counts_as = "reconfiguration"

    epoch: int
    marks: dict[str, PeerMark]


class DrainAsked(PeerMessage, frozen=True, gc=False, tag=139):
    """Tell me again how far you are with older overlays."""

    counts_as = "reconfiguration"

    epoch: int


class Finish(PeerMessage, frozen=True, gc=False, tag=140):
    """Nothing of older overlays is under way: forget them."""

    counts_as = "reconfiguration"

    epoch: int


class Abort(PeerMessage, frozen=True, gc=False, tag=141):
    """The plan of this epoch ends, and nothing changes."""

    counts_as = "reconfiguration"

    epoch: int


class AbortAsked(PeerMessage, frozen=True, gc=False, tag=142):
    """Somebody asks the coordinator to abort its plan."""

    counts_as = "reconfiguration"

    epoch: int


class Question(PeerMessage, frozen=True, gc=False, tag=143):
    """Tell me what became of the plan of this epoch."""

    counts_as = "reconfiguration"

    epoch: int


class Fetch(PeerMessage, frozen=True, gc=False, tag=144):
    """Tell me the overlay in force if it is newer than this epoch."""

    counts_as = "reconfiguration"

    epoch: int


class BuiltLate(PeerMessage, frozen=True, gc=False, tag=145):
    """I begin with this epoch only now: tell me all again, and forget what I told."""

    counts_as = "reconfiguration"

    epoch: int


class Bundle(PeerMessage, Generic[Bundled], frozen=True, gc=False, tag=146):
    """Messages of an overlay that is being built, put together to save sending them one by one."""

    counts_as = "reconfiguration"

    epoch: int
    messages: tuple[Bundled, ...]


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How far a plan is at a broker.

    step: asked, refused, granted, denied, mended, prepared, decided, switched, drained, done,
    aborted or superseded.
    """

    plan: str
    epoch: int
    step: str
    detail: str = ""
