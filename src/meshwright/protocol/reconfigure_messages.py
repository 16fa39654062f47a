"""What brokers tell each other, and report, while the overlay is changed."""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec

from meshwright.model.overlay import Overlay
from meshwright.model.plan import ClientMove
from meshwright.protocol.message import Message

Bundled = TypeVar("Bundled")


class Lock(Message, frozen=True, gc=False):
    """Take part in a plan, in no other meanwhile, and make room for its overlay.

    source_epoch: that of the overlay in force at the coordinator. supersedes: the epoch of a plan
    that this one ends, or -1. moves: of clients, once the overlay is in force.
    """

    epoch: int
    plan: str
    target: Overlay
    source_epoch: int
    supersedes: int = -1
    moves: tuple[ClientMove, ...] = ()


class Grant(Message, frozen=True, gc=False):
    """I take part."""

    epoch: int


class Deny(Message, frozen=True, gc=False):
    """I do not take part, and why."""

    epoch: int
    why: str


class Prepare(Message, frozen=True, gc=False):
    """All take part: have the new overlay carry what you want."""

    epoch: int


class Ready(Message, frozen=True, gc=False):
    """The new overlay carries all that I want."""

    epoch: int


class Switch(Message, frozen=True, gc=False):
    """This overlay is in force, and these clients move with it."""

    epoch: int
    overlay: Overlay
    moves: tuple[ClientMove, ...] = ()


class Switched(Message, frozen=True, gc=False):
    """It is on my disk, and I send on it."""

    epoch: int


class Finish(Message, frozen=True, gc=False):
    """All have switched: let older overlays run dry, then forget them."""

    epoch: int


class Done(Message, frozen=True, gc=False):
    """I know no older overlay any more."""

    epoch: int


class Abort(Message, frozen=True, gc=False):
    """The plan of this epoch ends, and nothing changes."""

    epoch: int


class AbortAsked(Message, frozen=True, gc=False):
    """Somebody asks the coordinator to abort its plan."""

    epoch: int


class Question(Message, frozen=True, gc=False):
    """Tell me what became of the plan of this epoch."""

    epoch: int


class Fetch(Message, frozen=True, gc=False):
    """Tell me the overlay in force if it is newer than this epoch."""

    epoch: int


class BuiltLate(Message, frozen=True, gc=False):
    """I have got the overlay of this epoch only now: tell me again what I missed."""

    epoch: int


class Bundle(Message, Generic[Bundled], frozen=True, gc=False):
    """Messages of an overlay that is being built, put together to save sending them one by one."""

    epoch: int
    messages: tuple[Bundled, ...]


RECONFIGURATION_MESSAGES: tuple[type, ...] = (
    Lock, Grant, Deny, Prepare, Ready, Switch, Switched, Finish, Done, Abort, AbortAsked,
    Question, Fetch, BuiltLate, Bundle,
)  # fmt: skip


class PlanRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How far a plan is at a broker.

    step: asked, refused, granted, denied, locked, prepared, decided, switched, drained, done,
    aborted or superseded.
    """

    plan: str
    epoch: int
    step: str
    detail: str = ""
