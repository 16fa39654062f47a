"""Messages between the coordinator of a plan and the other brokers while the overlay changes.

The usual order is Lock, Ready, Switch, Drained, Finish. Until the coordinator has the new overlay
on disk, Deny or Abort ends the plan instead.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove
from meshwright.protocol.forwarding.rendezvous.rooted_trees import TreeTable
from meshwright.protocol.forwarding.topic_trees.climbing_trees import BranchTable
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.reconfiguration.conversation_marks import PeerMark

Bundled = TypeVar("Bundled")
BuildingMode = Literal["anew", "carry", "join"]


class Lock(PeerMessage, frozen=True, gc=False, tag=132):
    """The coordinator asks a broker to take part in its plan, and in no other until that one ends.

    The broker builds the target overlay beside the one in force, and answers Ready or Deny.

    source_epoch: of the overlay in force at the coordinator.
    supersedes: the epoch of another plan that this one ends, or -1.
    moves: clients that move to another broker once the target is in force.
    mode: anew: all brokers build the target from nothing; carry: all start from what they know on
        the overlay in force; join: the others do, and this broker starts from nothing.
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
    """A broker refuses to take part in a plan, and says why; the coordinator then aborts it."""

    counts_as = "reconfiguration"

    epoch: int
    why: str


class Inheritance(PeerMessage, frozen=True, gc=False, tag=134):
    """A broker sends its forwarding table to the broker that has its position in the new overlay.

    table: None if the sender starts from nothing; for a dead broker the coordinator sends None.
    """

    counts_as = "reconfiguration"

    epoch: int
    table: TreeTable | BranchTable | None


class Ready(PeerMessage, frozen=True, gc=False, tag=135):
    """A broker tells the coordinator that its part of the new overlay is built, or takes long.

    marks: how far the broker's conversations were when it copied its forwarding table for the new
        overlay; None if it started from nothing.
    is_ready: False if the overlay was not complete after stuck_us.
    """

    counts_as = "reconfiguration"

    epoch: int
    marks: dict[str, PeerMark] | None
    is_ready: bool = True


class Renew(PeerMessage, frozen=True, gc=False, tag=136):
    """The coordinator tells a broker to exchange everything anew with some peers.

    The marks of both showed that one may have missed a message of the other. peers: None stands for
    all neighbours in the new overlay.
    """

    counts_as = "reconfiguration"

    epoch: int
    peers: tuple[str, ...] | None


class Switch(PeerMessage, frozen=True, gc=False, tag=137):
    """Tells a broker which overlay is in force; sent by the coordinator or any broker that knows.

    moves: clients that move with this overlay.
    versions: for brokers of a tree whose links changed since the plan, how often they did.
    """

    counts_as = "reconfiguration"

    epoch: int
    overlay: Overlay
    moves: tuple[ClientMove, ...] = ()
    versions: dict[str, int] = msgspec.field(default_factory=dict)


class Drained(PeerMessage, frozen=True, gc=False, tag=138):
    """A broker tells the coordinator that it has seen no frame of older overlays for a while.

    Its new overlay is on disk and in use. marks: for each peer, the number of its last message when
    the broker last passed on such a frame, and how far it has received by now.
    """

    counts_as = "reconfiguration"

    epoch: int
    marks: dict[str, PeerMark]


class DrainAsked(PeerMessage, frozen=True, gc=False, tag=139):
    """The coordinator asks a broker for its Drained again, with the marks of now."""

    counts_as = "reconfiguration"

    epoch: int


class Finish(PeerMessage, frozen=True, gc=False, tag=140):
    """The coordinator tells brokers to drop older overlays, as no frame travels on them."""

    counts_as = "reconfiguration"

    epoch: int


class Abort(PeerMessage, frozen=True, gc=False, tag=141):
    """The coordinator ends the plan of this epoch; the overlay in force stays."""

    counts_as = "reconfiguration"

    epoch: int


class AbortAsked(PeerMessage, frozen=True, gc=False, tag=142):
    """A broker passes on to the coordinator that an operator wants the plan aborted."""

    counts_as = "reconfiguration"

    epoch: int


class Question(PeerMessage, frozen=True, gc=False, tag=143):
    """A broker asks what became of the plan of this epoch, in which it takes part."""

    counts_as = "reconfiguration"

    epoch: int


class Fetch(PeerMessage, frozen=True, gc=False, tag=144):
    """A broker asks for the overlay in force, if that is newer than this epoch."""

    counts_as = "reconfiguration"

    epoch: int


class BuiltLate(PeerMessage, frozen=True, gc=False, tag=145):
    """A broker asks a neighbour to exchange everything anew on the overlay of this epoch.

    The sender has only now begun to build it, or may have missed a message. The receiver forgets
    what the sender told it there, and tells it everything again.
    """

    counts_as = "reconfiguration"

    epoch: int


class Bundle(PeerMessage, Generic[Bundled], frozen=True, gc=False, tag=146):
    """Messages that build an overlay which is not in force yet, gathered into one message."""

    counts_as = "reconfiguration"

    epoch: int
    messages: tuple[Bundled, ...]


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Reports one step of a plan at a broker.

    step: asked, refused, granted, denied, mended, prepared, decided, switched, drained, done,
        aborted or superseded.
    """

    plan: str
    epoch: int
    step: str
    detail: str = ""


class PlanAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an order about a plan: begun under an epoch, or refused and why.

    epoch: that of the overlay in force if the order was refused, or asked for an abort.
    """

    order: int
    plan: str
    epoch: int
    refusal: str | None = None
