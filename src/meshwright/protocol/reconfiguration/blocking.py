"""The blocking change of overlay of the DYNATOPS paper, to compare the change by epochs with.

It has four steps: all brokers hold up their clients; brokers whose position changes leave the ring
and join it at the new one; each of them sends its forwarding tables to its heir, and the heirs join
and leave topic trees where interests differ; all brokers let their clients go on. The protocol
relies on all brokers being alive, and on all messages sent before having arrived. If a step fails,
each broker lets its clients go on after a timeout. The old overlay then stays, unless a broker has
the new one on disk: that one reaches the others as after any other switch.
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
from meshwright.protocol.forwarding.rendezvous.key_routes import key_routes
from meshwright.protocol.forwarding.rendezvous.rendezvous import Rendezvous
from meshwright.protocol.forwarding.rendezvous.rooted_trees import RootedTrees, TreeTable
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.message import PeerMessage
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.mqtt.packets import Publish, PublishQos1Runs, Subscribe, Unsubscribe
from meshwright.protocol.reconfiguration.heirs import has_same_positions, heirs_of
from meshwright.protocol.reconfiguration.messages import PlanRecord, Switch

LET_GO = ("reconfigure let go",)
# Packets of clients that are queued while clients are held up.
HELD_UP: frozenset[type] = frozenset({Publish, PublishQos1Runs, Subscribe, Unsubscribe})


class HoldClients(PeerMessage, frozen=True, gc=False, tag=148):
    """RCFG_INIT: the overlay changes to the target; queue what clients publish and subscribe."""

    counts_as = "reconfiguration"

    epoch: int
    plan: str
    target: Overlay


class RingUpdate(PeerMessage, frozen=True, gc=False, tag=149):
    """RCFG_DHT_UPDATE: leave the ring and join it at your new position."""

    counts_as = "reconfiguration"

    epoch: int


class RingLookup(PeerMessage, frozen=True, gc=False, tag=150):
    """A broker looks for one of its new neighbours; routed on the old ring."""

    counts_as = "reconfiguration"

    epoch: int
    source: str
    target: str


class RingFound(PeerMessage, frozen=True, gc=False, tag=151):
    """The neighbour that a RingLookup looked for answers its source."""

    counts_as = "reconfiguration"

    epoch: int


class RingUpdated(PeerMessage, frozen=True, gc=False, tag=152):
    """RCFG_DHT_UPDATED: the broker has found all its new neighbours."""

    counts_as = "reconfiguration"

    epoch: int


class TreeUpdate(PeerMessage, frozen=True, gc=False, tag=153):
    """RCFG_TREE_UPDATE: send your forwarding tables to your heir, and update your trees."""

    counts_as = "reconfiguration"

    epoch: int


class TableShipped(PeerMessage, frozen=True, gc=False, tag=154):
    """The forwarding tables of a position for the broker that has it now, routed to it."""

    counts_as = "reconfiguration"

    epoch: int
    target: str
    table: TreeTable


class TreeUpdated(PeerMessage, frozen=True, gc=False, tag=155):
    """The topic trees of the new overlay reach the broker for all that it wants."""

    counts_as = "reconfiguration"

    epoch: int


class LetClientsGo(PeerMessage, frozen=True, gc=False, tag=156):
    """RCFG_FINISH: the new overlay is in force; carry out the packets that were queued."""

    counts_as = "reconfiguration"

    epoch: int
    overlay: Overlay


class Blocked(msgspec.Struct, frozen=True, kw_only=True):
    """Reports for how long a broker held up its clients, and how many of their packets."""

    plan: str
    epoch: int
    blocked_us: int
    packet_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingAround:
    """What the blocking change needs of the rest of the broker.

    make: builds the forwarding machine of an epoch.
    fill: tells the overlay of an epoch all filters that are wanted here, then calls back.
    in_force: the epoch and the overlay in force.
    adopt: switches to an overlay.
    do: carries out a packet of a client.
    send_singly: sends messages of an epoch one by one, so that each is counted.
    """

    send: Callable[[Turn, str, Any], None]
    make: Callable[[Turn, int, Overlay], Forwarding]
    fill: Callable[[Turn, int, Action], None]
    in_force: Callable[[], tuple[int, Overlay]]
    adopt: Callable[[Turn, Switch], None]
    do: Callable[[Turn, str, Any], None]
    send_singly: Callable[[int], None]


class _Change:
    """The change for which this broker holds up its clients.

    packets: queued packets with their clients.
    held: messages of the new overlay that came before this broker had its tables.
    sought: new neighbours that have not answered yet.
    is_asked: the coordinator waits for this broker's TreeUpdated.
    is_ready: the new overlay carries all that is wanted here; may come before or after is_asked.
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
    """One broker's part in a blocking change; at the broker given the plan, the coordinator's."""

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
        """Map each message to its method."""
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
        """Lead all brokers through the four steps, as coordinator."""
        hold = HoldClients(epoch, plan, target)
        others = [name for name in target.brokers if name != self._me]
        for name in (*others, self._me):
            self._around.send(turn, name, hold)
        self._ask_moved(turn, RingUpdate(epoch))

    @property
    def is_holding(self) -> bool:
        """True while clients' publications and subscriptions are queued."""
        return self._change is not None

    def holds(self, client: str, packet: Any) -> bool:
        """Queue a client's packet if clients are held up; returns whether it was queued."""
        if self._change is None or type(packet) not in HELD_UP:
            return False
        self._change.packets.append((client, packet))
        return True

    def forget(self, client: str) -> None:
        """Drop the queued packets of a client that is gone; it repeats those not acknowledged."""
        if self._change is not None:
            packets = self._change.packets
            self._change.packets = [packet for packet in packets if packet[0] != client]

    def changes_to(self, epoch: int) -> bool:
        """True if the change under way leads to the overlay of this epoch."""
        return self._change is not None and self._change.hold.epoch == epoch

    def takes(self, turn: Turn, peer: str, message: Any) -> bool:
        """Take a message of an unknown epoch if it is of this change; returns whether it is."""
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
        """Another overlay is in force: end a change that led elsewhere."""
        if self._change is not None and self._change.hold.epoch != epoch:
            self.let_go(turn)

    def let_go(self, turn: Turn) -> None:
        """Stop holding up clients, whatever became of the change, and carry out their packets."""
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
        """Build the new overlay's machine from the tables of this broker's position in it."""
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
        """Put the new overlay in force here first; tell the others once it is on disk."""
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
        """For each broker the one that has its position in the new overlay."""
        assert self._change is not None
        return heirs_of(self._around.in_force()[1], self._change.hold.target)

    def _is_moved(self, name: str) -> bool:
        return self._heirs()[name] != name

    def _hop(self, overlay: Overlay, target: str) -> str:
        routes = key_routes(overlay, frozenset(overlay.brokers))
        return routes.next_hop(self._me, target) or target


def can_block(source: Overlay, target: Overlay) -> bool:
    """True if the blocking protocol can lead from one overlay to the other.

    Both must have the same positions of a key geometry whose trees grow from root to member, as
    only such tables can be sent to an heir.
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
