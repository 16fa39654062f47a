"""One client's connection as the server sees it: bytes and time in, events and bytes out.

It speaks the client's version, keeps its time, its aliases and its limits. What a client says goes
to the broker only between the moment when it is admitted and the end of the connection, of which
the broker hears once.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from meshwright.errors import MqttError
from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.client_names import client_name
from meshwright.protocol.foundation.events import ClientDown, ClientPacket, ClientUp, Event
from meshwright.protocol.foundation.transitions import Transitions
from meshwright.protocol.mqtt import packets, roaming
from meshwright.protocol.mqtt.answers import connack_for, fitting, is_unsayable, without_words
from meshwright.protocol.mqtt.decoding import Decoder
from meshwright.protocol.mqtt.fan_out import FanOut
from meshwright.protocol.mqtt.packets import MQTT_5, Publish
from meshwright.protocol.mqtt.plain_messages import payloads
from meshwright.protocol.mqtt.qos1_runs import numbers, payload_of, pubacks, spliced
from meshwright.protocol.mqtt.terms import Terms
from meshwright.protocol.mqtt.topic_texts import TopicTexts

RUNS = (packets.PublishRun, packets.DeliverQos1Run)
# What is answered, beside messages of QoS 1 and 2, and with what all of it is.
ASKING = (packets.Pubrel, packets.Subscribe, packets.Unsubscribe)
ANSWERS = (
    packets.Puback, packets.Pubrec, packets.Pubcomp, packets.Suback, packets.Unsuback,
)  # fmt: skip
# How long the end of a conversation waits for answers to what came before it.
ENDING_PATIENCE_US = 5_000_000


class State(Enum):
    """How far a conversation is."""

    SILENT = "no CONNECT came yet"
    ASKING = "somebody must decide who this is"
    ADMITTED = "the broker was told, and has not answered yet"
    OPEN = "both sides talk"
    ENDING = "nothing is read any more, and what came before is still answered"
    CLOSED = "nothing is read or sent any more but what flush returns"


STATES = Transitions(
    {
        State.SILENT: (State.ASKING, State.CLOSED),
        State.ASKING: (State.ADMITTED, State.CLOSED),
        State.ADMITTED: (State.OPEN, State.CLOSED),
        State.OPEN: (State.ENDING, State.CLOSED),
        State.ENDING: (State.CLOSED,),
        # Both sides may close it, and the line may break.
        State.CLOSED: (State.CLOSED,),
    }
)


class Connection:
    """The machine of one connection.

    connect: the client's CONNECT with its secrets, which go no further. assigned_client_id: the
    client id of one that gives none. client: its client id, and its name once it is admitted.
    fault: what the client did wrong. dropped_count: messages of QoS 0 that were too large for the
    client. output: what waits for flush; the list stays the same. topics and fan_out may be shared
    by all connections of a process.
    """

    __slots__ = (
        "_alias_max", "_aliases", "_bytes_max", "_client_id", "_decoder", "_early", "_fan_out",
        "_heard_us", "_last_words", "_owed_count", "_patience_us", "_terms", "_unanswered",
        "_version", "client", "connect", "dropped_count", "fault", "output", "state",
    )  # fmt: skip

    def __init__(
        self,
        terms: Terms,
        now_us: int,
        *,
        assigned_client_id: str,
        topics: TopicTexts | None = None,
        fan_out: FanOut | None = None,
    ) -> None:
        self.client = self._client_id = assigned_client_id
        self.connect: packets.Connect | None = None
        self.fault: MqttError | None = None
        self.dropped_count = 0
        self.state = State.SILENT
        self._terms = terms
        self._decoder = Decoder(
            packet_bytes_max=terms.packet_bytes_max,
            topic_alias_maximum=terms.topic_alias_maximum,
            topics=topics,
        )
        self._fan_out = FanOut() if fan_out is None else fan_out
        self.output: list[bytes] = []
        self._early: list[packets.Packet] = []
        self._unanswered: set[int] = set()
        self._owed_count = 0
        self._last_words = packets.Disconnect()
        self._aliases: dict[str, int] = {}
        self._heard_us = now_us
        self._patience_us = terms.connect_patience_us
        self._version = MQTT_5
        self._bytes_max = 0
        self._alias_max = 0

    @property
    def is_reading(self) -> bool:
        """False while what the client sends cannot be taken: leave it on the wire.

        A client that waits for its answer is listened to, as it may go away meanwhile.
        """
        is_ending = self.state in (State.ENDING, State.CLOSED)
        return self._is_talking() or not (self._early or is_ending)

    @property
    def version(self) -> int:
        """The protocol level that is spoken."""
        return self._version

    @property
    def takes_as_is(self) -> bool:
        """True if any message of the client's version can go out as it came."""
        return self.state is State.OPEN and not self._bytes_max and not self._alias_max

    @property
    def deadline_us(self) -> int | None:
        """When the client has been silent for too long; None if it may be.

        Whoever has not said CONNECT yet is given time from the beginning on, not from each byte.
        """
        if self.state is State.ENDING:
            return self._heard_us + ENDING_PATIENCE_US
        if not self._is_talking() or not self._patience_us:
            return None
        return self._heard_us + self._patience_us

    def receive(self, now_us: int, block: bytes) -> list[Event]:
        """Bytes from the client; when it asks for acceptance, accept it or refuse it."""
        if self.state in (State.ENDING, State.CLOSED) or not block:
            return []
        if self.state is State.OPEN:
            self._heard_us = now_us
            return self._take(self._decoder.take(block))
        came = self._decoder.take(block)
        if self.state is State.SILENT and came:
            connect = came.pop(0)
            assert isinstance(connect, packets.Connect)
            self._ask(connect)
        self._early += came
        if self.state is not State.SILENT:
            self._heard_us = now_us
        elif self._decoder.fault is not None:
            self._refuse_for(self._decoder.fault)
        return []

    def begins_packet(self, now_us: int) -> bool:
        """The client says something; True if that is the beginning of a packet it may send."""
        self._heard_us = now_us
        return self.state is State.OPEN and not self._decoder.parts

    def gather(self, now_us: int, block: bytes) -> bytes:
        """Bytes of an open conversation, from the beginning of a packet on; empty if none is whole.

        Whoever gathers passes over what needs no look here, and has the rest received one by one.
        """
        if self.state is not State.OPEN:
            return b""
        self._heard_us = now_us
        return self._decoder.gather(block)

    def receive_one(self, block: bytes, at: int) -> tuple[list[Event], int]:
        """The packet that begins at a place of a gathered block, and where the next one begins."""
        came, at = self._decoder.take_some(block, at, 1)
        return self._take(came), at

    def accept(self, user: str = "") -> ClientUp:
        """The client is who it says it is: what to tell the broker; user: "" if anonymous."""
        assert self.state is State.ASKING
        assert self.connect is not None
        self._become(State.ADMITTED)
        self.client = client_name(user, self._client_id)
        granted = msgspec.structs.replace(
            self.connect,
            client_id=self.client,
            user_name=None,
            password=None,
            session_expiry_s=self._terms.session_expiry_s(self.connect),
        )
        return ClientUp(self.client, granted)

    def refuse(self, reason: int, reason_text: str | None = None) -> None:
        """Send the client away before the broker has heard of it."""
        assert self.state in (State.SILENT, State.ASKING)
        self._say(packets.Connack(False, reason, reason_text=reason_text))
        self._become(State.CLOSED)

    def send(self, packet: packets.Packet) -> list[Event]:
        """A packet from the broker; what the client could not be told comes back as its answer."""
        if self.state is State.CLOSED:
            return []
        if type(packet) is Publish:
            return self._send_publish(packet)
        if isinstance(packet, packets.PubackRun):
            self.output.append(pubacks(packet.packet_ids))
            self.answered(packet.packet_ids)
            return self._settle(len(packet.packet_ids) // 2)
        if isinstance(packet, RUNS):
            return self._send_run(packet)
        if isinstance(packet, packets.Connack):
            return self._answer_connect(packet)
        if isinstance(packet, packets.Disconnect):
            self._say_goodbye(packet)
            return []
        if is_unsayable(packet, self._version):
            self._owed_count -= 1
            return self._wind_up(packets.IMPLEMENTATION_SPECIFIC_ERROR)
        self._say(packet)
        if isinstance(packet, packets.Puback | packets.Pubcomp) or (
            isinstance(packet, packets.Pubrec) and packet.reason >= packets.UNSPECIFIED_ERROR
        ):
            self._unanswered.discard(packet.packet_id)
        return self._settle(1) if isinstance(packet, ANSWERS) else []

    def owe(self, count: int) -> None:
        """Messages of QoS 1 from the client went to the broker, which is to answer them."""
        self._owed_count += count

    def flush(self) -> bytes:
        """What is to be written to the client now."""
        output = self.output
        joined = output[0] if len(output) == 1 else b"".join(output)
        output.clear()
        return joined

    def expire(self, now_us: int) -> list[Event]:
        """Close if the deadline has passed."""
        deadline_us = self.deadline_us
        if deadline_us is None or now_us < deadline_us:
            return []
        if self.state is State.ENDING:
            return self._part()
        return self.close(packets.KEEP_ALIVE_TIMEOUT)

    def lost(self) -> list[Event]:
        """The line is gone without a word."""
        self.output.clear()
        return self._end(clean=False)

    def hang_up(self) -> None:
        """The broker closes the connection, and need not be told."""
        self._become(State.CLOSED)

    def close(self, reason: int, reason_text: str | None = None) -> list[Event]:
        """The server ends the conversation."""
        is_known = self._is_known()
        self._say_goodbye(packets.Disconnect(reason, reason_text=reason_text))
        return [ClientDown(self.client, clean=False)] if is_known else []

    def _wind_up(self, reason: int, reason_text: str | None = None) -> list[Event]:
        """End the conversation for a fault, once what came before it is answered."""
        self._last_words = packets.Disconnect(reason, reason_text=reason_text)
        if self.state is State.OPEN:
            self._become(State.ENDING)
        return self._settle(0)

    def _settle(self, count: int) -> list[Event]:
        """So many answers are given; was one the last that an ending waits for, close."""
        self._owed_count -= count
        return self._part() if self.state is State.ENDING and self._owed_count <= 0 else []

    def _part(self) -> list[Event]:
        return self.close(self._last_words.reason, self._last_words.reason_text)

    def _ask(self, connect: packets.Connect) -> None:
        """A CONNECT came: what it says of this connection holds from now on."""
        self._version = connect.protocol_version
        self._bytes_max = connect.maximum_packet_size or 0
        self._alias_max = connect.topic_alias_maximum
        self._patience_us = self._terms.keep_alive_s(connect) * SECOND_US * 3 // 2
        self.client = self._client_id = connect.client_id or self._client_id
        self.connect = connect
        try:
            _check_method(connect)
            _check_format(connect.will)
            self._terms.check_connect(connect)
            self.connect = roaming.understood(connect)
        except MqttError as fault:
            self._refuse_for(fault)
        else:
            self._become(State.ASKING)

    def _refuse_for(self, fault: MqttError) -> None:
        """A first packet that is no good: answered if the client could read the answer."""
        self.fault = fault
        if self._decoder.version is None:
            self._become(State.CLOSED)
            return
        self._version = self._decoder.version
        self.refuse(fault.reason, fault.problem)

    def _answer_connect(self, packet: packets.Connack) -> list[Event]:
        assert self.state is State.ADMITTED
        assert self.connect is not None
        if packet.reason:
            self._say(packet)
            self._become(State.CLOSED)
            return []
        assigned = None if self.connect.client_id else self._client_id
        self._say(connack_for(packet, self._terms, self.connect, assigned))
        self._become(State.OPEN)
        early, self._early = self._early, []
        return self._take(early)

    def _take(self, came: list[packets.Packet]) -> list[Event]:
        """What the broker is to hear of packets, up to the first fault."""
        events: list[Event] = []
        client = self.client
        try:
            for packet in came:
                if isinstance(packet, Publish):
                    self._check_publish(packet)
                elif isinstance(packet, packets.Pingreq):
                    self._say(packets.Pingresp())
                    continue
                elif isinstance(packet, packets.Disconnect):
                    return events + self._goodbye(packet)
                elif isinstance(packet, packets.Auth):
                    _refuse_auth()
                elif isinstance(packet, ASKING):
                    self._owed_count += 1
                    if isinstance(packet, packets.Subscribe):
                        events.append(ClientPacket(client, self._granted(packet)))
                        continue
                events.append(ClientPacket(client, packet))
        except MqttError as fault:
            self.fault = fault
        else:
            self.fault = self._decoder.fault
        if self.fault is not None:
            events += self._wind_up(self.fault.reason, self.fault.problem)
        return events

    def _granted(self, packet: packets.Subscribe) -> packets.Subscribe:
        assert self.connect is not None
        is_bridge = self.connect.is_bridge and self._version != MQTT_5
        return self._terms.granted(packet, is_bridge=is_bridge)

    def _check_publish(self, packet: Publish) -> None:
        if self._terms.limits_messages:
            self._terms.check_message(packet)
        if packet.qos:
            self._count(packet.packet_id)
        elif packet.extras is not None:
            _check_format(packet)

    def _count(self, packet_id: int) -> None:
        """Hold the client to the number of messages that it may have in flight."""
        unanswered = self._unanswered
        unanswered.add(packet_id)
        if len(unanswered) > self._terms.receive_maximum and self._version == MQTT_5:
            problem = f"more than {self._terms.receive_maximum} messages wait for their answers"
            raise MqttError(packets.RECEIVE_MAXIMUM_EXCEEDED, problem)
        self._owed_count += 1

    def _goodbye(self, packet: packets.Disconnect) -> list[Event]:
        assert self.connect is not None
        if packet.session_expiry_s and not self.connect.session_expiry_s:
            problem = "DISCONNECT prolongs a session that was to end with the connection"
            raise MqttError(packets.PROTOCOL_ERROR, problem)
        if (packet.session_expiry_s or 0) > self._terms.session_expiry_max_s:
            most_s = self._terms.session_expiry_max_s
            packet = msgspec.structs.replace(packet, session_expiry_s=most_s)
        told: list[Event] = []
        if packet != packets.Disconnect():
            told.append(ClientPacket(self.client, packet))
        return told + self._end(clean=packet.reason == packets.SUCCESS)

    def _say_goodbye(self, packet: packets.Disconnect) -> None:
        """Only MQTT 5 lets a server say why it closes, and only after its CONNACK."""
        if self.state in (State.OPEN, State.ENDING) and self._version == MQTT_5:
            self._say(packet)
        self._become(State.CLOSED)

    def _end(self, *, clean: bool) -> list[Event]:
        is_known = self._is_known()
        self._become(State.CLOSED)
        return [ClientDown(self.client, clean)] if is_known else []

    def _become(self, state: State) -> None:
        self.state = STATES.checked(self.state, state)

    def _is_talking(self) -> bool:
        return self.state in (State.SILENT, State.OPEN)

    def _is_known(self) -> bool:
        """True if the broker was told of the client, and not yet of its end."""
        return self.state in (State.ADMITTED, State.OPEN, State.ENDING)

    def _send_publish(self, packet: Publish) -> list[Event]:
        alias, has_topic = 0, True
        if self._alias_max:
            alias = self._aliases.get(packet.topic, 0)
            has_topic = not alias
            if has_topic and len(self._aliases) < self._alias_max:
                alias = len(self._aliases) + 1
        head, tail = self._fan_out.cut(packet, self._version, alias=alias, has_topic=has_topic)
        if self._bytes_max and len(head) + len(tail) + 2 * (packet.qos > 0) > self._bytes_max:
            return self._drop(packet)
        if alias and has_topic:
            self._aliases[packet.topic] = alias
        if packet.qos:
            self.output += (head, packet.packet_id.to_bytes(2), tail)
        else:
            self.output.append(head)
        return []

    def expects(self, ids: bytes) -> bool:
        """Count messages of QoS 1 from the client as in flight; False if they are too many."""
        if self._version != MQTT_5:
            return True
        unanswered = self._unanswered
        if len(unanswered) + len(ids) // 2 > self._terms.receive_maximum:
            return False
        unanswered.update(numbers(ids))
        return True

    def has_room(self) -> bool:
        """True if the client may have another message of QoS 1 or 2 in flight."""
        return len(self._unanswered) < self._terms.receive_maximum

    def answered(self, ids: bytes) -> None:
        """Messages of QoS 1 from the client are in flight no more."""
        if self._version == MQTT_5:
            self._unanswered.difference_update(numbers(ids))

    def _send_run(self, packet: packets.PublishRun | packets.DeliverQos1Run) -> list[Event]:
        is_5 = self._version == MQTT_5
        left: list[Event] = []
        if isinstance(packet, packets.PublishRun):
            if self.takes_as_is:
                self.output.append(self._fan_out.run(packet.packets, self._version))
                return []
            for payload in payloads(packet.packets):
                self._send_publish(Publish(packet.topic, payload))
        elif self.takes_as_is:
            self.output.append(spliced(packet.run, packet.packet_id, is_5=is_5))
        else:
            for place in range(packet.run.count):
                payload, packet_id = payload_of(packet.run, place), packet.packet_id + place
                left += self._send_publish(Publish(packet.run.topic, payload, 1, False, packet_id))
        return left

    def _drop(self, packet: Publish) -> list[Event]:
        """Behave as if a message that is too large for the client had been sent and answered."""
        if not packet.qos:
            self.dropped_count += 1
            return []
        kind = packets.Puback if packet.qos == 1 else packets.Pubrec
        return [ClientPacket(self.client, kind(packet.packet_id, packets.PACKET_TOO_LARGE))]

    def _say(self, packet: packets.Packet) -> None:
        """Write a packet that is no PUBLISH, as far as the client takes it."""
        if self.connect is not None and not self.connect.request_problem_information:
            packet = without_words(packet)
        self.output.append(fitting(packet, self._version, self._bytes_max))


def _check_method(connect: packets.Connect) -> None:
    method = connect.authentication_method
    if method is not None:
        problem = f"the authentication method {method!r} is not offered"
        raise MqttError(packets.BAD_AUTHENTICATION_METHOD, problem)


def _check_format(message: Publish | packets.Will | None) -> None:
    """Refuse what no later answer can refuse: a will, and a message of QoS 0."""
    if message is None or message.extras is None or message.extras.fits(message.payload):
        return
    problem = "a payload that is said to be text is not UTF-8"
    raise MqttError(packets.PAYLOAD_FORMAT_INVALID, problem)


def _refuse_auth() -> None:
    raise MqttError(packets.PROTOCOL_ERROR, "AUTH came, and no method was agreed")
