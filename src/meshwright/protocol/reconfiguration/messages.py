"""What brokers tell each other, and report, while the overlay is changed."""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove
from meshwright.protocol.forwarding.climbing_trees import BranchTable
from meshwright.protocol.forwarding.rooted_trees import TreeTable
from meshwright.protocol.foundation.message import Message
from meshwright.protocol.reconfiguration.conversation_marks import PeerMark

Bundled = TypeVar("Bundled")
BuildingMode = Literal["anew", "carry", "join"]


class Lock(Message, frozen=True, gc=False, tag=132):
    """Take part in a plan, in no other meanwhile, and have its overlay carry what you want.

    source_epoch: that of the overlay in force at the coordinator. supersedes: the epoch of a plan
    that this one ends, or -1. moves: of clients, once the overlay is in force. mode: whether all
    build the overlay anew, carry over what is known, or only the others do, whom you join.
    """

    epoch: int
    plan: str
    target: Overlay
    source_epoch: int
    supersedes: int = -1
    moves: tuple[ClientMove, ...] = ()
    mode: BuildingMode = "anew"


class Deny(Message, frozen=True, gc=False, tag=133):
    """I do not take part, and why."""

    epoch: int
    why: str


class Inheritance(Message, frozen=True, gc=False, tag=134):
    """What is known at my place, which is yours in this epoch; None if nothing is."""

    epoch: int
    table: TreeTable | BranchTable | None


class Ready(Message, frozen=True, gc=False, tag=135):
    """The new overlay carries all that I want, or I have been waiting for that too long.

    marks: how far conversations were when I took over what was known, None if I took over nothing.
    """

    epoch: int
    marks: dict[str, PeerMark] | None
    is_ready: bool = True


class Renew(Message, frozen=True, gc=False, tag=136):
    """Begin anew with these brokers, or with all neighbours: what you took over may be torn."""

    epoch: int
    peers: tuple[str, ...] | None


class Switch(Message, frozen=True, gc=False, tag=137):
    """This overlay is in force, and these clients move with it.

    versions: how often links of its brokers have changed since the plan.
    """

    epoch: int
    overlay: Overlay
    moves: tuple[ClientMove, ...] = ()
    versions: dict[str, int] = msgspec.field(default_factory=dict)


class Drained(Message, frozen=True, gc=False, tag=138):
    """It is on my disk, I send on it, and have seen nothing of older overlays for a while.

    marks: how far I had sent when I last saw something of them, and how far I have received.
    """

    epoch: int
    marks: dict[str, PeerMark]


class DrainAsked(Message, frozen=True, gc=False, tag=139):
    """Tell me again how far you are with older overlays."""

    epoch: int


class Finish(Message, frozen=True, gc=False, tag=140):
    """Nothing of older overlays is under way: forget them."""

    epoch: int


class Abort(Message, frozen=True, gc=False, tag=141):
    """The plan of this epoch ends, and nothing changes."""

    epoch: int


class AbortAsked(Message, frozen=True, gc=False, tag=142):
    """Somebody asks the coordinator to abort its plan."""

    epoch: int


class Question(Message, frozen=True, gc=False, tag=143):
    """Tell me what became of the plan of this epoch."""

    epoch: int


class Fetch(Message, frozen=True, gc=False, tag=144):
    """Tell me the overlay in force if it is newer than this epoch."""

    epoch: int


class BuiltLate(Message, frozen=True, gc=False, tag=145):
    """I begin with this epoch only now: tell me all again, and forget what I told."""

    epoch: int


class Bundle(Message, Generic[Bundled], frozen=True, gc=False, tag=146):
    """Messages of an overlay that is being built, put together to save sending them one by one."""

    epoch: int
    messages: tuple[Bundled, ...]


RECONFIGURATION_MESSAGES: tuple[type, ...] = (
    Lock, Deny, Inheritance, Ready, Renew, Switch, Drained, DrainAsked, Finish, Abort, AbortAsked,
    Question, Fetch, BuiltLate, Bundle,
)  # fmt: skip


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How far a plan is at a broker.

    step: asked, refused, granted, denied, mended, prepared, decided, switched, drained, done,
    aborted or superseded.
    """

    plan: str
    epoch: int
    step: str
    detail: str = ""
