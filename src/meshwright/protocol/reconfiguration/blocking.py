"""The blocking change of overlay of the DYNATOPS paper, as a measure for the one by epochs.

Four steps: clients are held everywhere; moved brokers leave the ring and join it anew; each hands
its tables to the broker that sits in its place now, and joins and leaves the trees in which the
two differ; clients are let go. It takes for granted that all brokers live and that what was under
way has arrived. If a step fails, clients are let go after a while, and the old overlay stays
unless a broker has the new one on disk, which then reaches the others as in any other change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from meshwright.model.designs import design
from meshwright.model.overlay import Overlay
from meshwright.overlays.key_geometries import KEY_GEOMETRIES, key_geometry
from meshwright.protocol.forwarding.by_epoch import ForwardingByEpoch
from meshwright.protocol.forwarding.forwarding import Forwarding
from meshwright.protocol.forwarding.key_routes import key_routes
from meshwright.protocol.forwarding.rendezvous import Rendezvous
from meshwright.protocol.forwarding.rooted_trees import RootedTrees, TreeTable
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mqtt.packets import Publish, PublishQos1Runs, Subscribe, Unsubscribe
from meshwright.protocol.reconfiguration.heirs import has_same_positions, heirs_of
from meshwright.protocol.reconfiguration.messages import PlanRecord, Switch

LET_GO = ("reconfigure let go",)
# The packets of clients that have to wait.
HELD_UP: frozenset[type] = frozenset({Publish, PublishQos1Runs, Subscribe, Unsubscribe})


class HoldClients(PeerMessage, frozen=True, gc=False, tag=148):
    """RCFG_INIT: queue what clients publish and subscribe, as the overlay will change to this."""

    counts_as = "reconfiguration"

    epoch: int
    plan: str
    target: Overlay


class RingUpdate(PeerMessage, frozen=True, gc=False, tag=149):
    """RCFG_DHT_UPDATE: leave the ring and join it at your new place."""

    counts_as = "reconfiguration"

    epoch: int


class RingLookup(PeerMessage, frozen=True, gc=False, tag=150):
    """A broker looks for one of its new neighbours, routed on the ring as it was."""

    counts_as = "reconfiguration"

    epoch: int
    source: str
    target: str


class RingFound(PeerMessage, frozen=True, gc=False, tag=151):
    """The neighbour that was looked for answers."""

    counts_as = "reconfiguration"

    epoch: int


class RingUpdated(PeerMessage, frozen=True, gc=False, tag=152):
    """RCFG_DHT_UPDATED: I have found all my new neighbours."""

    counts_as = "reconfiguration"

    epoch: int


class TreeUpdate(PeerMessage, frozen=True, gc=False, tag=153):
    """RCFG_TREE_UPDATE: hand over your tables, and put your trees in order."""

    counts_as = "reconfiguration"

    epoch: int


class TableShipped(PeerMessage, frozen=True, gc=False, tag=154):
    """The tables of a place for the broker that sits there now, routed on the new ring."""

    counts_as = "reconfiguration"

    epoch: int
    target: str
    table: TreeTable


class TreeUpdated(PeerMessage, frozen=True, gc=False, tag=155):
    """All trees carry what I want."""

    counts_as = "reconfiguration"

    epoch: int


class LetClientsGo(PeerMessage, frozen=True, gc=False, tag=156):
    """RCFG_FINISH: the overlay is in force; do what was queued."""

    counts_as = "reconfiguration"

    epoch: int
    overlay: Overlay


class Blocked(msgspec.Struct, frozen=True, kw_only=True):
    """Clients of a broker were held for some time."""

    plan: str
    epoch: int
    blocked_us: int
    packet_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingAround:
    """What the blocking change asks of the rest of the broker.

    in_force gives epoch and overlay; adopt switches as told by a peer; do carries out a client's
    packet; send_singly has messages of an epoch counted one by one.
    """

    send: Callable[[Turn, str, Any], None]
    make: Callable[[Turn, int, Overlay], Forwarding]
    fill: Callable[[Turn, int, Action], None]
    in_force: Callable[[], tuple[int, Overlay]]
    adopt: Callable[[Turn, Switch], None]
    do: Callable[[Turn, str, Any], None]
    send_singly: Callable[[int], None]


class _Change:
    """The change that this broker is held up by.

    is_asked: the coordinator waits for its answer, is_ready: it has taken its place. Either may
    come first, so that they are two facts and no state.
    """

    __slots__ = ("begun_us", "held", "hold", "is_asked", "is_ready", "packets", "sought")

    def __init__(self, hold: HoldClients, now_us: int) -> None:
        self.hold = hold
        self.begun_us = now_us
        self.packets: list[tuple[str, Any]] = []
        self.held: list[tuple[str, Any]] = []
        self.sought: set[str] = set()
        self.is_asked = False
        self.is_ready = False


class Blocking:
    """One broker's part, and that of the coordinator at the one that was given the plan."""

    def __init__(
        self, me: str, patience_us: int, forwarding: ForwardingByEpoch, around: BlockingAround
    ) -> None:
        self._me = me
        self._patience_us = patience_us
        self._forwarding = forwarding
        self._around = around
        self._change: _Change | None = None
        self._coordinator = me
        self._waiting: set[str] = set()

    def handlers(self) -> Handlers:
        """Which message is for which method."""
        return (
            on(HoldClients, self._hold),
            on(RingUpdate, self._ring_update),
            on(RingLookup, self._looked_up),
            on(RingFound, self._found),
            on(RingUpdated, lambda turn, peer, _: self._answered(turn, peer, self._update_trees)),
            on(TreeUpdate, self._tree_update),
            on(TableShipped, self._table_shipped),
            on(TreeUpdated, lambda turn, peer, _: self._answered(turn, peer, self._decide)),
            on(LetClientsGo, self._finish),
        )

    def begin(self, turn: Turn, epoch: int, plan: str, target: Overlay) -> None:
        """Lead all brokers through the four steps."""
        hold = HoldClients(epoch, plan, target)
        others = [name for name in target.brokers if name != self._me]
        for name in (*others, self._me):
            self._around.send(turn, name, hold)
        self._ask_moved(turn, RingUpdate(epoch))

    @property
    def is_holding(self) -> bool:
        """True while what clients publish and subscribe has to wait."""
        return self._change is not None

    def holds(self, client: str, packet: Any) -> bool:
        """Whether a packet has to wait; it is kept then."""
        if self._change is None or type(packet) not in HELD_UP:
            return False
        self._change.packets.append((client, packet))
        return True

    def forget(self, client: str) -> None:
        """A client is gone; what it still wants to say, it says again."""
        if self._change is not None:
            packets = self._change.packets
            self._change.packets = [packet for packet in packets if packet[0] != client]

    def changes_to(self, epoch: int) -> bool:
        """Whether the overlay of an epoch is what this change leads to."""
        return self._change is not None and self._change.hold.epoch == epoch

    def takes(self, turn: Turn, peer: str, message: Any) -> bool:
        """Whether a message of an unknown epoch is of this change; it is seen to then."""
        change = self._change
        if change is None or message.epoch != change.hold.epoch:
            return False
        if self._is_moved(self._me):
            change.held.append((peer, message))
        else:
            self._take_place(turn, self._table())
            self._forwarding.handle(turn, peer, message)
        return True

    def overtaken(self, turn: Turn, epoch: int) -> None:
        """Another overlay is in force: a change that was begun from an older one is at its end."""
        if self._change is not None and self._change.hold.epoch != epoch:
            self.let_go(turn)

    def let_go(self, turn: Turn) -> None:
        """Hold clients no longer, whatever became of the change."""
        change, self._change = self._change, None
        if change is None:
            return
        turn.facts.packets_rerouted.tell(turn)
        turn.report(
            Blocked(
                plan=change.hold.plan,
                epoch=change.hold.epoch,
                blocked_us=turn.now_us - change.begun_us,
                packet_count=len(change.packets),
            )
        )
        for client, packet in change.packets:
            self._around.do(turn, client, packet)

    def _hold(self, turn: Turn, peer: str, message: HoldClients) -> None:
        if message.epoch > self._around.in_force()[0]:
            self.let_go(turn)
            self._coordinator = peer
            self._change = _Change(message, turn.now_us)
            turn.facts.packets_rerouted.tell(turn)
            self._around.send_singly(message.epoch)
            turn.timer(LET_GO, turn.now_us + self._patience_us)

    def _ring_update(self, turn: Turn, peer: str, message: RingUpdate) -> None:
        change = self._change
        if change is None or change.hold.epoch != message.epoch:
            return
        target = change.hold.target
        change.sought = set(key_routes(target, frozenset(target.brokers)).neighbours(self._me))
        for name in sorted(change.sought):
            self._looked_up(turn, peer, RingLookup(message.epoch, self._me, name))

    def _looked_up(self, turn: Turn, peer: str, message: RingLookup) -> None:
        del peer
        if message.target == self._me:
            self._around.send(turn, message.source, RingFound(message.epoch))
        else:
            overlay = self._around.in_force()[1]
            self._around.send(turn, self._hop(overlay, message.target), message)

    def _found(self, turn: Turn, peer: str, message: RingFound) -> None:
        change = self._change
        if change is not None and peer in change.sought:
            change.sought.remove(peer)
            if not change.sought:
                self._around.send(turn, self._coordinator, RingUpdated(message.epoch))

    def _tree_update(self, turn: Turn, peer: str, message: TreeUpdate) -> None:
        change = self._change
        if change is None or change.hold.epoch != message.epoch:
            return
        change.is_asked = True
        heir = self._heirs()[self._me]
        self._table_shipped(turn, peer, TableShipped(message.epoch, heir, self._table()))
        self._tell_if_ready(turn)

    def _table_shipped(self, turn: Turn, peer: str, message: TableShipped) -> None:
        del peer
        change = self._change
        if change is None or change.hold.epoch != message.epoch:
            return
        if message.target != self._me:
            hop = self._hop(change.hold.target, message.target)
            self._around.send(turn, hop, message)
            return
        self._take_place(turn, message.table)
        held, change.held = change.held, []
        for sender, early in held:
            self._forwarding.handle(turn, sender, early)

    def _take_place(self, turn: Turn, table: TreeTable) -> None:
        """Know the new overlay, beginning with what was known at this place."""
        change = self._change
        assert change is not None
        epoch = change.hold.epoch
        machine = self._around.make(turn, epoch, change.hold.target)
        self._forwarding.add(epoch, machine)
        inherited = _trees(machine).take_over(table, self._heirs())

        def filled(later: Turn) -> None:
            change.is_ready = True
            self._tell_if_ready(later)

        self._around.fill(turn, epoch, filled)
        for wanted in inherited:
            machine.remove_interest(turn, wanted)

    def _tell_if_ready(self, turn: Turn) -> None:
        change = self._change
        if change is not None and change.is_asked and change.is_ready:
            change.is_asked = False
            self._around.send(turn, self._coordinator, TreeUpdated(change.hold.epoch))

    def _ask_moved(self, turn: Turn, message: RingUpdate | TreeUpdate) -> None:
        assert self._change is not None
        moved = [name for name in self._change.hold.target.brokers if self._is_moved(name)]
        self._waiting = set(moved)
        for name in moved:
            self._around.send(turn, name, message)

    def _answered(self, turn: Turn, peer: str, go_on: Callable[[Turn, _Change], None]) -> None:
        self._waiting.discard(peer)
        if not self._waiting and self._change is not None:
            go_on(turn, self._change)

    def _update_trees(self, turn: Turn, change: _Change) -> None:
        self._ask_moved(turn, TreeUpdate(change.hold.epoch))

    def _decide(self, turn: Turn, change: _Change) -> None:
        """First on the own disk: from then on the new overlay is in force."""
        hold = change.hold
        turn.report(PlanRecord(plan=hold.plan, epoch=hold.epoch, step="decided"))
        finish = LetClientsGo(hold.epoch, hold.target)
        self._finish(turn, self._me, finish)

        def written(later: Turn) -> None:
            for name in hold.target.brokers:
                if name != self._me:
                    self._around.send(later, name, finish)

        turn.once_synced(written)

    def _finish(self, turn: Turn, peer: str, message: LetClientsGo) -> None:
        del peer
        is_held = self._change is not None and self._change.hold.epoch == message.epoch
        if is_held and message.epoch not in self._forwarding and not self._is_moved(self._me):
            self._take_place(turn, self._table())
        self._around.adopt(turn, Switch(message.epoch, message.overlay))
        self.let_go(turn)

    def _table(self) -> TreeTable:
        return _trees(self._forwarding.machine(self._around.in_force()[0])).table()

    def _heirs(self) -> dict[str, str]:
        """For each broker the one that sits in its place in the new overlay."""
        assert self._change is not None
        return heirs_of(self._around.in_force()[1], self._change.hold.target)

    def _is_moved(self, name: str) -> bool:
        return self._heirs()[name] != name

    def _hop(self, overlay: Overlay, target: str) -> str:
        routes = key_routes(overlay, frozenset(overlay.brokers))
        return routes.next_hop(self._me, target) or target


def can_block(source: Overlay, target: Overlay) -> bool:
    """Whether the paper's protocol leads from one overlay to another: same positions on a ring.

    It hands on the tables of trees that grow from their roots.
    """
    shape = design(source.design).geometry
    if shape not in KEY_GEOMETRIES or not has_same_positions(source, target):
        return False
    return key_geometry(shape, 1).tree_direction == "root_to_member"


def _trees(machine: Forwarding) -> RootedTrees:
    assert isinstance(machine, Rendezvous)
    trees = machine.rooted_trees
    assert trees is not None
    return trees
