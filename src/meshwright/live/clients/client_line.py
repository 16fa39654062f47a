"""One client's connection on the event loop: blocks of bytes in, one write a loop turn out."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import msgspec

from meshwright.live.access.doorman import Acceptance
from meshwright.live.access.gate import Gate
from meshwright.live.access.tls import certificate_name
from meshwright.live.clients.fast_lane import FastLane
from meshwright.live.clients.lingering import Lingering
from meshwright.live.clients.pace import new_pace
from meshwright.live.host.outbox import TOGETHER_US
from meshwright.live.system.heap import GIVE_BACK_AFTER_S, give_back
from meshwright.live.telemetry.system_topics import asks_for_system
from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.client_names import client_name
from meshwright.protocol.foundation.events import ClientDown, ClientPacket, Event
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.connection import Connection, State

if TYPE_CHECKING:
    from meshwright.live.clients.listener import Listener
    from meshwright.live.clients.websocket import WebSocket

WAITING_BYTES_MAX = 1 << 20
# More than any client has under way that reads.
UNREAD_BYTES_MAX = 32 << 20
# What goes to a client many at a time, and needs no look.
RUNS = (packets.PublishRun, packets.DeliverQos1Run, packets.PubackRun)
SLOWED_GRACE_US = 5_000_000
HELD_S = 0.002
# Packets that need a look which one client may have taken before it is the others' turn.
LOOKS_A_TURN = 200
# Who waits for room in a queue mostly waits for longer.
HELD_BACK_S = 0.05
# The largest packet whose length is one byte.
SHORT_BYTES_MAX = 129
# What is wrong with who may not come in.
PROBLEMS = {
    packets.BAD_USER_NAME_OR_PASSWORD: "the user name or the password is wrong",
    packets.NOT_AUTHORIZED: "the user, or its will, is not allowed here",
    packets.SERVER_BUSY: "too many passwords are being checked",
}
# Of names that strangers give themselves, so much is told.
NAME_CHARACTERS_MAX = 100


class TurnedAway(msgspec.Struct, frozen=True, kw_only=True):
    """A client was not let in, or its connection ended for a fault of its own."""

    client: str
    user: str
    address: str
    reason: str
    problem: str


class ClientLine(asyncio.Protocol):
    """Moves bytes between a socket and the machine of its connection, and packets to the host.

    A client that reads too slowly gets no more messages of QoS 0, which are counted; the others
    wait in its session, of which the core keeps the bounds. address: where the client comes from.
    """

    def __init__(self, listener: Listener) -> None:
        self.dropped_count = 0
        self.user = ""
        self._has_password = False
        self.address = ""
        self._listener = listener
        self._host = listener.host
        self._meter = listener.host.meter
        self._was_let_in = False
        self._asked: dict[int, packets.Subscribe] = {}
        self._machine = Connection(
            listener.terms,
            self._host.clock.now_us(),
            assigned_client_id=listener.new_client_id(),
            topics=listener.topics,
            fan_out=listener.fan_out,
        )
        self.output = self._machine.output
        self._websocket = listener.new_websocket()
        self._pace = new_pace(listener.limits)
        self.gate: Gate | None = None
        self._transport: asyncio.Transport | None = None
        self._lingering: Lingering | None = None
        self._acceptance: asyncio.Task[None] | None = None
        self.is_slow = False
        self.is_flushing = False
        self.flushed_us = 0
        self._is_paused = False
        self._is_slowed = False
        self._slowed_until_us = 0
        self._lane: FastLane | None = None
        self._held: bytes | None = None

    @property
    def client(self) -> str:
        return self._machine.client

    @property
    def version(self) -> int:
        """The client's protocol level: 3, 4 or 5; 0 until it has said so."""
        connect = self._machine.connect
        return 0 if connect is None else connect.protocol_version

    @property
    def may_promise(self) -> bool:
        """True if the client may publish with QoS 1."""
        return self._listener.terms.qos_max > 0

    @property
    def takes_as_is(self) -> bool:
        """True if any message of the client's version can go out as it came."""
        return self._machine.takes_as_is

    def expects(self, ids: bytes) -> bool:
        """Count messages of QoS 1 from the client as under way; False if they are too many."""
        return self._machine.expects(ids)

    def owe(self, count: int) -> None:
        """Messages of QoS 1 from the client went to the broker, which is to answer them."""
        self._machine.owe(count)

    def answered(self, ids: bytes) -> None:
        """Messages of QoS 1 from the client are under way no more."""
        self._machine.answered(ids)

    def has_room(self) -> bool:
        """True if the client may have another message of QoS 1 under way."""
        return self._machine.has_room()

    @property
    def deadline_us(self) -> int | None:
        deadline_us = None if self._transport is None else self._machine.deadline_us
        if deadline_us is None or not self._slowed_until_us:
            return deadline_us
        # Who is not read for a while cannot be blamed for silence.
        return max(deadline_us, self._slowed_until_us + SLOWED_GRACE_US)

    def expire(self, now_us: int) -> None:
        """The client was silent for too long."""
        self._pass_on(self._machine.expire(now_us))
        self.want_flush()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast("asyncio.Transport", transport)
        transport.set_write_buffer_limits(high=WAITING_BYTES_MAX)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""
        if self._listener.opened(self):
            self._listener.deadlines.watch(self)
        else:
            transport.close()

    def data_received(self, block: bytes) -> None:
        if self._websocket is not None:
            block = self._unwrap(self._websocket, block)
            if not block:
                return
        if self._held is not None:
            self._held += block
            return
        if self.is_slow:
            self._settle_reading()
        now_us = self._host.clock.now_us()
        lane = self._lane
        if lane is None:
            count = self._take(now_us, block)
        elif (
            self._pace is None
            and self._machine.begins_packet(now_us)
            and lane.take_alone(block, now_us)
        ):
            return
        else:
            count = self._take_fast(lane, now_us, block)
        if self._pace is not None:
            self._slow_down(self._pace.wait_us(now_us, len(block), count))
        if self._lane is None or self._held is not None or self._is_slowed or self._is_paused:
            self._settle_reading()

    def _unwrap(self, websocket: WebSocket, block: bytes) -> bytes:
        """The MQTT in bytes of a WebSocket, which may end with them."""
        taken = websocket.take(block)
        if taken.answer and self._transport is not None:
            self._transport.write(taken.answer)
        if taken.is_over:
            # Not before the last of its MQTT was taken.
            asyncio.get_running_loop().call_soon(self._break_off)
        return taken.mqtt

    def _take(self, now_us: int, block: bytes) -> int:
        """Pass on what comes before the conversation is open; returns how many packets."""
        events = self._machine.receive(now_us, block)
        self._pass_on(events)
        if self._machine.state is State.ASKING and self._acceptance is None:
            self._acceptance = asyncio.get_running_loop().create_task(self._accept())
        self.want_flush()
        return len(events)

    def _take_fast(self, lane: FastLane, now_us: int, block: bytes) -> int:
        """Pass on plain messages as they are, and all else one by one; returns how many.

        What comes of it is written without another turn of the loop.
        """
        machine, outbox, shortcuts = self._machine, self._host.outbox, self._host.shortcuts
        block = machine.gather(now_us, block)
        at, end = 0, len(block)
        before, count = lane.message_count, 0
        looks_left = LOOKS_A_TURN
        outbox.is_held = True
        try:
            while at < end and machine.state is State.OPEN:
                if not looks_left:
                    self._hold(block[at:], 0.0)
                    break
                looks_left -= 1
                if shortcuts.held_back and shortcuts.is_held_back(self.client):
                    self._hold(block[at:], HELD_BACK_S)
                    break
                at = lane.take(block, at, now_us)
                if at >= end:
                    break
                if lane.must_wait():
                    self._hold(block[at:])
                    break
                events, at = machine.receive_one(block, at)
                count += len(events)
                self._pass_on(events)
                if self._must_wait(lane, events):
                    self._hold(block[at:])
                    break
                if machine.output or machine.state is not State.OPEN:
                    self.want_flush()
        finally:
            outbox.release(now_us)
        return count + lane.message_count - before

    def _must_wait(self, lane: FastLane, events: list[Event]) -> bool:
        """True if the last message waits with many others for its topic to open."""
        if not events or not isinstance(events[-1], ClientPacket):
            return False
        packet = events[-1].packet
        if not isinstance(packet, packets.Publish):
            return False
        lane.published_elsewhere()
        return not packet.qos and self._host.shortcuts.is_crowded(packet.topic)

    def _hold(self, block: bytes, wait_s: float = HELD_S) -> None:
        """Leave what came and what is on the wire where it is, and try again soon."""
        self._held = block
        self._slowed_until_us = self._host.clock.now_us() + round(wait_s * SECOND_US)
        self._settle_reading()
        asyncio.get_running_loop().call_later(wait_s, self._let_go)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport = None
        if self._acceptance is not None:
            self._acceptance.cancel()
        self._pass_on(self._machine.lost())
        if self._was_let_in:
            self._meter.client_left(self.client, is_over=self._ends_with_connection)
        self._meter.slow_dropped += self.dropped_count
        if self.is_slow:
            asyncio.get_running_loop().call_later(GIVE_BACK_AFTER_S, give_back)
        self._listener.closed(self)

    def pause_writing(self) -> None:
        self.is_slow = True

    def resume_writing(self) -> None:
        self.is_slow = False
        self._settle_reading()

    def send(self, packet: Any) -> None:
        """A packet from the broker."""
        if self.is_slow and self._drops(packet):
            return
        self._meter.sent(packet)
        if isinstance(packet, RUNS):
            left = self._machine.send(packet)
            if left:
                asyncio.get_running_loop().call_soon(self._pass_on, left)
            self.want_flush()
            return
        looks: list[packets.Publish] = []
        if isinstance(packet, packets.Suback):
            asked = self._asked.pop(packet.packet_id, None)
            if asked is not None:
                looks = self._listener.system_topics.first_look(asked, packet)
                if self.gate is not None:
                    looks = [look for look in looks if self.gate.may_read(look.topic)]
            if self.gate is not None:
                packet = self.gate.answered(packet)
        elif isinstance(packet, packets.Connack | packets.Disconnect) and packet.server_reference:
            reference = self._listener.client_address_of(packet.server_reference)
            packet = msgspec.structs.replace(packet, server_reference=reference)
        left = self._machine.send(packet)
        if left:
            # Not now: the broker is in the middle of carrying out a step.
            asyncio.get_running_loop().call_soon(self._pass_on, left)
        if isinstance(packet, packets.Connack):
            self._answered(packet)
            asyncio.get_running_loop().call_soon(self._open_lane)
            self._listener.deadlines.watch(self)
            asyncio.get_running_loop().call_soon(self._settle_reading)
        for look in looks:
            self.send(look)
        self.want_flush()

    def _drops(self, packet: Any) -> bool:
        """Count messages of QoS 0 that the client reads too slowly to get."""
        if type(packet) is packets.Publish and not packet.qos:
            self.dropped_count += 1
            self._meter.losses.count(self.client, packet.topic)
            return True
        if type(packet) is packets.PublishRun:
            self.dropped_count += packet.count
            self._meter.losses.count(self.client, packet.topic, packet.count)
            return True
        return False

    def close(self) -> None:
        """The broker closes the connection after what was sent."""
        self._machine.hang_up()
        self.want_flush()

    def users_changed(self) -> None:
        """Send the client away if its user is one no more."""
        if self._has_password and not self._listener.doorman.knows(self.user):
            self._pass_on(self._machine.close(packets.NOT_AUTHORIZED))
            self.want_flush()

    def shut_down(self) -> None:
        """The broker stops: say so, if the client's version has a word for it."""
        self._pass_on(self._machine.close(packets.SERVER_SHUTTING_DOWN))
        self.flush()
        if self._lingering is not None:
            self._lingering.leave()

    async def _accept(self) -> None:
        machine = self._machine
        connect = machine.connect
        assert connect is not None
        certificate = self._transport.get_extra_info("peercert") if self._transport else None
        listener = self._listener
        try:
            async with asyncio.timeout(listener.terms.connect_patience_us / SECOND_US):
                acceptance = await listener.doorman.accept(
                    listener.settings, connect, certificate_name(certificate), self.address
                )
        except TimeoutError:
            acceptance = Acceptance(refusal=packets.SERVER_BUSY)
        if machine.state is not State.ASKING:
            return
        self.user, self._has_password = acceptance.user, acceptance.has_password
        refusal = acceptance.refusal
        if listener.doorman.has_rules:
            name = client_name(self.user, machine.client)
            self.gate = Gate(listener.doorman, name, self.send)
            if not refusal and not self.gate.allows_will(connect.will):
                refusal = packets.NOT_AUTHORIZED
        if refusal:
            self._turned_away(refusal)
            machine.refuse(refusal)
        else:
            self._host.client_up(self, machine.accept(self.user))
        self.want_flush()

    def _pass_on(self, events: list[Event]) -> None:
        host, gate, received = self._host, self.gate, self._meter.received
        for event in events:
            if isinstance(event, ClientDown):
                host.client_down(self, event)
            elif gate is not None and isinstance(event, ClientPacket):
                packet = gate.passes(event.packet)
                if packet is not None:
                    received(event.client, packet)
                    if type(packet) is packets.Subscribe:
                        self._note_asked(packet)
                    host.tell(ClientPacket(event.client, packet))
            else:
                if type(event) is ClientPacket:
                    received(event.client, event.packet)
                    if type(event.packet) is packets.Subscribe:
                        self._note_asked(event.packet)
                host.tell(event)

    def _note_asked(self, packet: packets.Subscribe) -> None:
        if asks_for_system(packet):
            self._asked[packet.packet_id] = packet

    def _answered(self, packet: packets.Connack) -> None:
        """The broker let the client in, or did not."""
        if packet.reason:
            self._turned_away(packet.reason, packet.reason_text)
            return
        self._was_let_in = True
        self._meter.client_came(self.client)

    def _turned_away(self, reason: int, problem: str | None = None) -> None:
        """Count it, and tell who it was."""
        self._meter.client_turned_away(reason)
        connect = self._machine.connect
        user = self.user if connect is None else connect.user_name or self.user
        record = TurnedAway(
            client="" if connect is None else connect.client_id[:NAME_CHARACTERS_MAX],
            user=user[:NAME_CHARACTERS_MAX],
            address=self.address,
            reason=f"0x{reason:02X}",
            problem=problem or PROBLEMS.get(reason, ""),
        )
        self._host.record(record)

    @property
    def _ends_with_connection(self) -> bool:
        connect = self._machine.connect
        return connect is not None and not self._listener.terms.session_expiry_s(connect)

    def _open_lane(self) -> None:
        """From now on, what needs no look is passed on without one."""
        listener = self._listener
        bytes_max = listener.terms.unseen_bytes_max
        # What is smaller than this goes on the lane whatever its size.
        if self._machine.state is State.OPEN and bytes_max >= SHORT_BYTES_MAX:
            self._lane = FastLane(self, self._host, listener.topics, bytes_max)

    def _let_go(self) -> None:
        lane, held = self._lane, self._held
        self._held = None
        if lane is not None and held is not None:
            self._take_fast(lane, self._host.clock.now_us(), held)
            self._settle_reading()

    def _settle_reading(self) -> None:
        """Leave on the wire what cannot be taken now."""
        if self._transport is None or self._machine.state is State.CLOSED:
            return
        # Who does not read its answers gets no more of them, and has its keep-alive time to do so.
        is_stuck = self.is_slow and self._transport.get_write_buffer_size() > UNREAD_BYTES_MAX
        if self._machine.is_reading and not (self._held is not None or self._is_slowed or is_stuck):
            if self._is_paused:
                self._is_paused = False
                self._transport.resume_reading()
        elif not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def _slow_down(self, wait_us: int) -> None:
        if wait_us and not self._is_slowed:
            self._is_slowed = True
            self._slowed_until_us = self._host.clock.now_us() + wait_us
            asyncio.get_running_loop().call_later(wait_us / SECOND_US, self._speed_up)

    def _speed_up(self) -> None:
        self._is_slowed = False
        self._settle_reading()

    def say(self, said: bytes, now_us: int) -> None:
        """Write bytes now, or with what else goes to the client in this turn of the loop."""
        transport = self._transport
        if self.is_flushing or now_us - self.flushed_us < TOGETHER_US or transport is None:
            self.output.append(said)
            self.want_flush()
        else:
            self.flushed_us = now_us
            transport.write(said if self._websocket is None else self._websocket.wrap(said))

    def want_flush(self) -> None:
        """Have what waits written soon."""
        if not self.is_flushing:
            self.is_flushing = True
            self._host.outbox.add(self)

    def flush(self) -> None:
        """Write all that waits."""
        self.is_flushing = False
        output = self._machine.flush()
        transport = self._transport
        if transport is None:
            return
        if output:
            transport.write(output if self._websocket is None else self._websocket.wrap(output))
        if self._machine.state is not State.OPEN:
            self._settle_end(transport)

    def _settle_end(self, transport: asyncio.Transport) -> None:
        """Read no more of a conversation that ends, and let go of one that is over."""
        if self._machine.state is State.ENDING:
            self._settle_reading()
            self._listener.deadlines.watch(self)
        elif self._machine.state is State.CLOSED:
            self._transport = None
            fault = self._machine.fault
            if fault is not None:
                self._turned_away(fault.reason, fault.problem)
            if self._websocket is not None:
                transport.write(self._websocket.end())
            if self._machine.connect is None:
                # Who never said CONNECT has no word of ours to read.
                transport.close()
            else:
                self._lingering = Lingering(transport, self.connection_lost)

    def _break_off(self) -> None:
        """The WebSocket is over, and with it the conversation."""
        self._pass_on(self._machine.lost())
        self.flush()
