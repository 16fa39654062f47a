"""Facts: what a machine tells without knowing who hears it.

Calls between machines go down, from one floor to those below it. What goes up is a fact. Who hears
it, and in which order, is said once, where the machines are joined (assembly.py). All hear it
before whoever told it goes on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVarTuple

if TYPE_CHECKING:
    from meshwright.model.plan import ClientMove
    from meshwright.protocol.foundation.turn import Turn

Told = TypeVarTuple("Told")


class Fact(Generic[*Told]):
    """Something that may become true, and what is told with it."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[Turn, *Told], None], ...] = ()

    def heard_by(self, *listeners: Callable[[Turn, *Told], None]) -> None:
        """From now on these hear it, in this order, and nobody else."""
        self._listeners = listeners

    def tell(self, turn: Turn, *told: *Told) -> None:
        """It is true now."""
        for listener in self._listeners:
            listener(turn, *told)


class Facts:
    """All facts of one broker.

    peer_lost: a peer has been silent for too long. peer_renewed: a conversation with a peer begins
    anew, which may have forgotten everything. roll_changed: brokers were removed for good, returned
    or joined. was_removed: this broker was removed, and is here after all. alive_changed: others
    are believed alive. epoch_heard: a peer has an overlay of this epoch in force. unknown_epoch: a
    peer sent a message of an overlay that is not known here. late_frame: a frame of an overlay that
    is no longer in force was here. switched: another overlay is in force, and clients are to move.
    origins_informed: some origins know what is wanted here. queues_freed: full queues have room.
    subscriptions_changed: a client has subscribed or unsubscribed.
    session_over: a client's session ended here. client_gone: a client's connection ended.
    member_moving: another member of a group that is kept here is on its way.
    packets_rerouted: packets of clients are to take another way into the broker, or none.
    """

    def __init__(self) -> None:
        self.peer_lost: Fact[str] = Fact()
        self.peer_renewed: Fact[str] = Fact()
        self.roll_changed: Fact[()] = Fact()
        self.was_removed: Fact[()] = Fact()
        self.alive_changed: Fact[tuple[str, ...]] = Fact()
        self.epoch_heard: Fact[str, int] = Fact()
        self.unknown_epoch: Fact[str, Any] = Fact()
        self.late_frame: Fact[()] = Fact()
        self.switched: Fact[int, tuple[ClientMove, ...]] = Fact()
        self.origins_informed: Fact[()] = Fact()
        self.queues_freed: Fact[()] = Fact()
        self.subscriptions_changed: Fact[str] = Fact()
        self.session_over: Fact[str] = Fact()
        self.client_gone: Fact[str] = Fact()
        self.member_moving: Fact[()] = Fact()
        self.packets_rerouted: Fact[()] = Fact()
