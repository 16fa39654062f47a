"""Runs one broker on the event loop: hands it what happens, and carries out what it asks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import msgspec

from meshwright.live.disk.memory_storage import MemoryStore
from meshwright.live.disk.storage import Store
from meshwright.live.host.outbox import Outbox
from meshwright.live.host.timers import Timers
from meshwright.live.peers.peers import Belonging, Peers, PeerSettings
from meshwright.live.system.addresses import Address, Whereabouts
from meshwright.live.system.clock import Clock
from meshwright.live.telemetry.carried import CarriedFrames
from meshwright.live.telemetry.meter import Meter
from meshwright.live.telemetry.plan_log import PlanLog
from meshwright.live.telemetry.reports import Reports
from meshwright.model.plan import Plan
from meshwright.protocol.broker import Broker
from meshwright.protocol.foundation.effects import (
    CloseClient,
    CloseLink,
    OpenLink,
    Report,
    SendClient,
    SendPeer,
    SetTimer,
    TimerKey,
    Write,
)
from meshwright.protocol.foundation.events import (
    ClientDown,
    ClientUp,
    DiskSpace,
    Event,
    ForgettingGiven,
    PlanGiven,
    RightsChanged,
    Started,
    Synced,
    TimerFired,
)
from meshwright.protocol.inspection import BrokerView, Departures
from meshwright.protocol.joining import LET_IN, JoinRecord
from meshwright.protocol.mqtt.packets import SESSION_TAKEN_OVER, Disconnect
from meshwright.protocol.observation import Observation
from meshwright.protocol.reconfiguration.messages import PlanAnswer
from meshwright.protocol.sessions.forgetting import ForgettingRecord
from meshwright.protocol.shortcuts import Shortcuts


class DiskRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The disk takes no more publications, and why, or takes them again."""

    is_writable: bool
    reason: str


class ClientPort(Protocol):
    """A client's connection, as the host sees it.

    output, is_flushing, is_slow and dropped_count are for messages that pass by the core; output is
    what waits to be flushed.
    """

    output: list[bytes]
    is_flushing: bool
    flushed_us: int
    is_slow: bool
    dropped_count: int

    @property
    def client(self) -> str:
        """The client's identifier."""

    @property
    def version(self) -> int:
        """The client's protocol level."""

    @property
    def takes_as_is(self) -> bool:
        """True if any message of the client's version can go out as it came."""

    def say(self, said: bytes, now_us: int) -> None:
        """Write bytes now, or with what else goes to the client in this turn of the loop."""

    def want_flush(self) -> None:
        """Have what waits written soon."""

    def flush(self) -> None:
        """Write what waits."""

    def send(self, packet: Any) -> None:
        """Send a packet."""

    def close(self) -> None:
        """Close after what was sent."""


class Host:
    """One broker's process: its machine, disk, clock, timers, peers and clients.

    recorded gets the records that the broker reports, with their times. failed is told what the
    process cannot live with. is_durable: acknowledged means on disk, where no publication
    is taken over disk_bytes_max.
    """

    def __init__(
        self,
        broker: Broker,
        name: str,
        folder: Path,
        peer_settings: PeerSettings,
        *,
        recorded: Callable[[int, Any], None],
        refused: Callable[[str, str], None],
        failed: Callable[[Exception], None],
        is_durable: bool = True,
        disk_bytes_max: int = 0,
    ) -> None:
        self.name = name
        self.folder = folder
        self.clock = Clock()
        self.started_us = self.clock.now_us()
        self.meter = Meter(self.clock)
        self.disk_trouble: str | None = None
        self.incarnation = 0
        self.peers = Peers(
            name,
            folder,
            peer_settings,
            tell=self.tell,
            refused=refused,
            belongs_to=self._belongs_to,
        )
        self.clients: dict[str, ClientPort] = {}
        self._broker = broker
        self._loop = asyncio.get_running_loop()
        self.outbox = Outbox(self._loop, self.clock)
        self._recorded = recorded
        self._failed = failed
        self._is_running = False
        self._let_in = asyncio.Event()
        # By client: what operators wait for that ended its session.
        self._forgetting: dict[str, asyncio.Future[ForgettingRecord]] = {}
        self.plan_log = PlanLog()
        # Finished files of the trace, if one is recorded.
        self.reports: Reports | None = None
        # By number: orders about plans that are not answered yet.
        self._orders: dict[int, asyncio.Future[PlanAnswer]] = {}
        self._order_count = 0
        self._timers = Timers(self.clock, self._timer_fired)
        self.store: Store | MemoryStore
        if is_durable:
            self.store = Store(
                folder,
                bytes_max=disk_bytes_max,
                synced=lambda batch: self._from_disk(Synced(batch)),
                full=self._disk_space,
                failed=self._disk_failed,
            )
        else:
            self.store = MemoryStore(folder, synced=lambda batch: self.tell(Synced(batch)))
        self._do: dict[type, Callable[[Any], None]] = {
            SendPeer: self._send_peer,
            SendClient: self._send_client,
            SetTimer: lambda effect: self._timers.set(effect.key, effect.at_us),
            Write: self.store.write,
            Report: self._report,
            OpenLink: lambda effect: self.peers.open(effect.peer),
            CloseLink: lambda effect: self.peers.close_link(effect.peer),
            CloseClient: self._close_client,
        }

    async def start(self, peer_address: Address, clients: str = "") -> Whereabouts:
        """Come to life with what the disk kept; clients is where others send clients to."""
        opened = self.store.open()
        found = await self.peers.listen(peer_address, opened.incarnation, clients)
        self._is_running = True
        self.incarnation = opened.incarnation
        self.tell(Started(opened.incarnation, opened.contents))
        return found

    async def until_it_belongs(self) -> None:
        """Wait until the broker belongs to its network, which most do from the start."""
        if not self._broker.belongs:
            await self._let_in.wait()

    async def stop(self) -> None:
        """Leave peers and clients, and sync what was written."""
        self._is_running = False
        self._timers.close()
        for port in list(self.clients.values()):
            port.close()
        self.clients.clear()
        await self.peers.close()
        await asyncio.to_thread(self.store.close)

    def tell(self, event: Event) -> None:
        """Hand over what happened; a broker that stopped hears nothing."""
        if not self._is_running:
            return
        try:
            effects = self._broker.step(self.clock.now_us(), event)
        except Exception as error:  # a machine that broke a rule of its own is not to go on
            self._is_running = False
            self._failed(error)
            return
        do = self._do
        for effect in effects:
            do[type(effect)](effect)

    @property
    def shortcuts(self) -> Shortcuts:
        """Where plain messages go without a step, once the broker has started."""
        return self._broker.shortcuts

    def count_carried(self) -> None:
        """Count from now on what other brokers hand on to this one, which has started."""
        self.meter.carried = CarriedFrames(self.name, self._broker.wants)
        self.peers.watched = self.meter.carried.count

    def view(self) -> BrokerView:
        """All that an operator may see of the broker, which has started."""
        return msgspec.structs.replace(self._broker.view(), disk_trouble=self.disk_trouble)

    def round_trips_ms(self) -> dict[str, float]:
        """Round trips with other brokers that live; only once it belongs to a network."""
        return self._broker.round_trips_ms

    def departures(self) -> Departures:
        """Who is about to be sent elsewhere; only once it belongs to a network."""
        return self._broker.departures

    def observe(self) -> Observation:
        """How the broker stands, which has started."""
        return self._broker.observe()

    async def forget(self, client: str) -> ForgettingRecord:
        """End a client's session; tells what came of it once that is on disk."""
        outcome = self._forgetting.get(client)
        if outcome is None:
            outcome = self._forgetting[client] = self._loop.create_future()
            self.tell(ForgettingGiven(client))
        return await asyncio.shield(outcome)

    async def decide(self, action: str, plan: Plan | None) -> PlanAnswer:
        """Have a plan applied, aborted or undone; tells whether that has begun, once it is sure."""
        self._order_count += 1
        answer: asyncio.Future[PlanAnswer] = self._loop.create_future()
        self._orders[self._order_count] = answer
        self.tell(PlanGiven(action, plan, self._order_count))
        return await answer

    def rights_changed(self) -> None:
        """What clients may read and write is not what it was; before the start nobody minds."""
        if self._is_running and self._broker.belongs:
            self.tell(RightsChanged())

    def client_up(self, port: ClientPort, event: ClientUp) -> None:
        """A client was let in; what is left of its last connection here ends first."""
        former = self.clients.pop(event.client, None)
        if former is not None:
            former.send(Disconnect(SESSION_TAKEN_OVER))
            former.close()
            self.tell(ClientDown(event.client, clean=False))
        self.clients[event.client] = port
        self.tell(event)

    def client_down(self, port: ClientPort, event: ClientDown) -> None:
        """A client's connection is gone, unless it was replaced by another."""
        if self.clients.get(event.client) is port:
            del self.clients[event.client]
            self.tell(event)

    def _belongs_to(self) -> Belonging:
        if self._is_running and self._broker.belongs:
            return self._broker.overlay, self._broker.founders
        return None, ()

    def _from_disk(self, event: Event) -> None:
        self._loop.call_soon_threadsafe(self.tell, event)

    @property
    def disk_is_full(self) -> bool:
        """True while the disk takes no more publications, because of disk_trouble."""
        return self.disk_trouble is not None

    def _disk_space(self, trouble: str | None) -> None:
        self.disk_trouble = trouble
        record = DiskRecord(is_writable=trouble is None, reason=trouble or "")
        self._loop.call_soon_threadsafe(self._recorded, self.clock.now_us(), record)
        self._from_disk(DiskSpace(trouble is not None))

    def _disk_failed(self, error: Exception) -> None:
        self._loop.call_soon_threadsafe(self._failed, error)

    def _timer_fired(self, key: TimerKey) -> None:
        self.tell(TimerFired(key))

    def _send_peer(self, effect: SendPeer) -> None:
        self.meter.peer_sent(effect.envelope)
        self.peers.send(effect.peer, effect.envelope)

    def record(self, record: Any) -> None:
        """Tell of something that happened outside the broker's core."""
        self._recorded(self.clock.now_us(), record)

    def _report(self, effect: Report) -> None:
        self.meter.reported(effect.record)
        if isinstance(effect.record, JoinRecord) and effect.record.step == LET_IN:
            self._let_in.set()
        if isinstance(effect.record, ForgettingRecord):
            outcome = self._forgetting.pop(effect.record.client, None)
            if outcome is not None:
                outcome.set_result(effect.record)
        if isinstance(effect.record, PlanAnswer):
            answer = self._orders.pop(effect.record.order)
            if not answer.done():
                answer.set_result(effect.record)
        now_us = self.clock.now_us()
        self.plan_log.hear(now_us, effect.record)
        self._recorded(now_us, effect.record)

    def _send_client(self, effect: SendClient) -> None:
        port = self.clients.get(effect.client)
        if port is not None:
            port.send(effect.packet)

    def _close_client(self, effect: CloseClient) -> None:
        port = self.clients.pop(effect.client, None)
        if port is not None:
            port.close()
