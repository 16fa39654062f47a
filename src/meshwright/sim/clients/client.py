"""A client that keeps to MQTT: sessions, subscriptions, acknowledgements, reconnection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from meshwright.history.history import (
    Abandoned,
    Connected,
    Delivered,
    History,
    Oddity,
    Properties,
    SessionLost,
    Subscribed,
    read_payload,
)
from meshwright.protocol.mqtt import packets
from meshwright.protocol.mqtt.packets import (
    Connack,
    Connect,
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from meshwright.sim.clients.outbox import REFUSED, Outbox
from meshwright.sim.clients.testament import FindKeeper, Testament, WillSettings
from meshwright.sim.physics.agenda import Agenda
from meshwright.sim.physics.chance import Draws
from meshwright.sim.physics.lines import Line, Lines


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a client behaves.

    session_expiry_s: 0 for a session that ends with its connection. window: unacknowledged
    publications at a time. roams_after: failed attempts before it tries another broker, or None.
    understands_redirects: as in MQTT 5. follows_redirects: it goes where it is sent. will: given
    anew with each CONNECT.
    """

    session_expiry_s: int = 0
    window: int = 16
    receive_maximum: int = 32
    waiting_max: int = 1_000
    answer_timeout_us: int = 10_000_000
    roams_after: int | None = 3
    names_previous_broker: bool = False
    carries_subscriptions: bool = False
    understands_redirects: bool = True
    follows_redirects: bool = True
    will: WillSettings | None = None
    version: int = packets.MQTT_5


class Client:
    """One MQTT client, driven by the packets it gets and by its script."""

    def __init__(
        self,
        name: str,
        settings: ClientSettings,
        *,
        agenda: Agenda,
        lines: Lines,
        history: History,
        brokers: tuple[str, ...],
        backoffs_us: Draws,
        find_keeper: FindKeeper,
    ) -> None:
        self.name = name
        self.broker = brokers[0]
        self.is_connected = False
        self.line: Line | None = None
        self._settings = settings
        self._agenda = agenda
        self._lines = lines
        self._history = history
        self._brokers = brokers
        self._backoffs_us = backoffs_us
        self._wants_line = False
        self._failure_count = 0
        self._first_double: tuple[str, int] | None = None
        self._connection: Connected | None = None
        self._outbox = Outbox(
            name, history, window=settings.window, waiting_max=settings.waiting_max, send=self._send
        )
        self._testament = Testament(
            name, settings.will, settings.session_expiry_s, history, find_keeper
        )
        self._unreleased: set[int] = set()
        self._wishes: dict[str, int] = {}
        self._subscribed: dict[str, Subscribed] = {}
        self._asked: dict[int, Subscribed] = {}
        self._receive: dict[type, Callable[[Any], None]] = {
            Publish: self._receive_publish,
            Puback: self._receive_answer,
            Pubrec: self._receive_answer,
            Pubcomp: self._receive_answer,
            Pubrel: self._receive_pubrel,
            Connack: self._receive_connack,
            Suback: self._receive_suback,
            Unsuback: self._receive_unsuback,
            Disconnect: self._receive_disconnect,
        }

    @property
    def is_settled(self) -> bool:
        """Connected, and nothing waits for an answer."""
        return self.is_connected and not (self._outbox or self._asked)

    @property
    def filters(self) -> tuple[str, ...]:
        """Filters asked for and not taken back, in order."""
        return tuple(self._wishes)

    def connect(self, broker: str) -> None:
        """Connect to a broker, and again whenever the line breaks."""
        self._wants_line = True
        if self.line is None:
            self.broker = broker
            self._open()
            if self._first_double is not None:
                second, after_us = self._first_double
                self._first_double = None
                self._agenda.at(self._agenda.now_us + after_us, self._double, second)

    def doubles_at_first(self, broker: str, after_us: int) -> None:
        """When it first connects, do so at another broker soon after."""
        self._first_double = (broker, after_us)

    def leave(self) -> None:
        """Say goodbye, and stay away."""
        self._wants_line = False
        if self.line is not None:
            self._testament.taken_back()
            self._lines.leave(self.line)
            self._ended()

    def leave_with_will(self) -> None:
        """Say goodbye, let the will be published, and stay away."""
        if self.is_connected and self.line is not None:
            self._wants_line = False
            self._send(Disconnect(packets.DISCONNECT_WITH_WILL))
            self._lines.leave(self.line)
            self._ended()
        else:
            self.leave()

    def switch(self, broker: str) -> None:
        """Connect to a broker without a word to the one that has the connection."""
        if self.is_connected and self.line is not None:
            self._abandon(self.line)
            self.connect(broker)

    def double(self, broker: str) -> None:
        """Connect to another broker also while one has yet to answer."""
        if self.line is not None and self.line.broker != broker:
            self._abandon(self.line)
            self.connect(broker)

    def vanish(self) -> None:
        """Lose the line without a word, and stay away."""
        self._wants_line = False
        self.lose_line()

    def lose_line(self) -> None:
        """The line breaks, and the client comes back if it wants one."""
        if self.line is not None:
            self._lines.cut(self.line)

    def subscribe(self, filter_text: str, qos: int) -> None:
        """Ask for a filter, unless it is subscribed or its end is under way."""
        if filter_text not in self._wishes and filter_text not in self._subscribed:
            self._wishes[filter_text] = qos
            if self.is_connected:
                self._begin(filter_text, qos)

    def unsubscribe(self, filter_text: str) -> None:
        """Take back a filter that was granted."""
        wanted = self._subscribed.get(filter_text)
        if wanted is not None and wanted.granted_us is not None and filter_text in self._wishes:
            del self._wishes[filter_text]
            wanted.end_requested_us = self._agenda.now_us
            self._ask(wanted)

    def publish(
        self, topic: str, qos: int, properties: Properties = (), *, retain: bool = False
    ) -> None:
        """Publish as soon as connection and window allow."""
        self._outbox.put(topic, qos, properties, retain=retain)
        self._send_waiting()

    def received(self, packet: Any) -> None:
        """A packet from the broker."""
        if self.is_connected is (type(packet) is Connack):
            self._note_oddity(
                "a second CONNACK" if self.is_connected else f"{packet} before CONNACK"
            )
        else:
            self._receive[type(packet)](packet)

    def closed(self) -> None:
        """The line is gone; try again after a while."""
        self._ended()
        self._failure_count += 1
        self._later(self._retry, None)

    def _open(self) -> None:
        settings = self._settings
        carried = tuple(Subscription(text, qos) for text, qos in self._wishes.items())
        previous = self._connection.broker if self._connection is not None else None
        # A session of its that is over may have been followed by one of which it never heard.
        now_us = self._agenda.now_us
        is_over = self._testament.session_may_be_over(now_us)
        clean_start = settings.session_expiry_s == 0 or is_over
        packet = Connect(
            clean_start=clean_start,
            session_expiry_s=settings.session_expiry_s,
            receive_maximum=settings.receive_maximum,
            previous_broker=previous if settings.names_previous_broker else None,
            carried=carried if settings.carries_subscriptions else None,
            can_be_redirected=settings.understands_redirects,
            protocol_version=settings.version,
            will=self._testament.written(now_us, self.broker, is_clean_start=clean_start),
        )
        self.line = self._lines.open(self, self.broker, packet)
        self.line.parted = self._testament.hearer(self._agenda)
        deadline_us = self._agenda.now_us + settings.answer_timeout_us
        self._agenda.at(deadline_us, self._give_up, self.line)

    def _double(self, broker: str, _: None) -> None:
        self.double(broker)

    def _abandon(self, line: Line) -> None:
        self._testament.abandoned()
        abandoned = Abandoned(self.name, self._agenda.now_us)
        self._history.abandoned.append(abandoned)

        def noticed() -> None:
            abandoned.until_us = self._agenda.now_us

        self._lines.abandon(line, noticed)
        self._ended()

    def _give_up(self, line: Line, _: None) -> None:
        if self.line is line and not self.is_connected:
            self._lines.cut(line)

    def _later(self, handler: Callable[[Any, None], None], subject: object) -> None:
        self._agenda.at(self._agenda.now_us + self._backoffs_us.next(), handler, subject)

    def _retry(self, _: None, __: None) -> None:
        if not self._wants_line or self.line is not None:
            return
        roams_after = self._settings.roams_after
        if roams_after is not None and self._failure_count > roams_after:
            others = [name for name in self._brokers if name != self.broker] or [self.broker]
            self.broker = others[self._backoffs_us.next() % len(others)]
        self._open()

    def _ended(self) -> None:
        """The line is over, whoever ended it."""
        self.line = None
        self._testament.ended(self._agenda.now_us)
        self._asked.clear()
        if self.is_connected and self._connection is not None:
            self.is_connected = False
            self._connection.ended_us = self._agenda.now_us
            if self._settings.session_expiry_s == 0:
                self._forget_session(self._connection)

    def _forget_session(self, last: Connected) -> None:
        """Drop all that a session was; what is still wished for is asked for in the next one."""
        self._outbox.forget()
        self._unreleased.clear()
        for wanted in self._subscribed.values():
            wanted.ended_us = last.ended_us
            wanted.end_requested_us = wanted.end_requested_us or last.ended_us
            wanted.connection_last = last.number
        self._subscribed.clear()

    def _receive_connack(self, packet: Connack) -> None:
        assert self.line is not None
        broker = self.line.broker
        if packet.reason != packets.SUCCESS:
            self._testament.refused()
            self._turned_away(packet.server_reference)
            return
        now_us = self._agenda.now_us
        previous = self._connection
        is_persistent = self._settings.session_expiry_s > 0
        if is_persistent and previous is not None and not packet.session_present:
            if not self._testament.session_may_be_over(now_us):
                lost = SessionLost(now_us, self.name, previous.broker, broker)
                self._history.sessions_lost.append(lost)
            self._forget_session(previous)
        self._testament.accepted(now_us)
        self.is_connected = True
        self._failure_count = 0
        self._connection = self._history.connected(
            self.name, broker, now_us, session_present=packet.session_present
        )
        self._resume()

    def _resume(self) -> None:
        """Send again what the session owes, then what is new."""
        self._outbox.resume()
        for wanted in self._subscribed.values():
            if wanted.granted_us is None or wanted.end_requested_us is not None:
                self._ask(wanted)
        for text, qos in self._wishes.items():
            if text not in self._subscribed:
                self._begin(text, qos)
        self._send_waiting()

    def _turned_away(self, reference: str | None) -> None:
        """The broker wants no more of this line; another one may be named."""
        assert self.line is not None
        self._lines.leave(self.line)
        if reference is not None and self._settings.follows_redirects:
            self.broker = reference
        self.closed()

    def _receive_disconnect(self, packet: Disconnect) -> None:
        self._turned_away(packet.server_reference)

    def _send(self, packet: object) -> None:
        assert self.line is not None
        self._lines.send(self.line, packet)

    def _send_waiting(self) -> None:
        if self.is_connected and self._connection is not None:
            self._outbox.send_waiting(self._agenda.now_us, self._connection.broker)

    def _begin(self, filter_text: str, qos: int) -> None:
        now_us = self._agenda.now_us
        wanted = self._history.subscribing(self.name, filter_text, qos, now_us)
        self._subscribed[filter_text] = wanted
        self._ask(wanted)

    def _ask(self, wanted: Subscribed) -> None:
        """Ask for a subscription or its end, if connected; else the next connection does."""
        if not self.is_connected:
            return
        packet_id = self._outbox.fresh_packet_id()
        while packet_id in self._asked:
            packet_id = self._outbox.fresh_packet_id()
        self._asked[packet_id] = wanted
        if wanted.end_requested_us is None:
            self._send(Subscribe(packet_id, (Subscription(wanted.filter_text, wanted.qos),)))
        else:
            self._send(Unsubscribe(packet_id, (wanted.filter_text,)))

    def _ask_again(self, wanted: Subscribed, _: None) -> None:
        is_asked = any(other is wanted for other in self._asked.values())
        if self._subscribed.get(wanted.filter_text) is wanted and not is_asked:
            self._ask(wanted)

    def _receive_suback(self, packet: Suback) -> None:
        wanted = self._asked.pop(packet.packet_id, None)
        if wanted is None:
            self._note_oddity(f"{packet} that answers nothing")
        elif packet.reasons[0] < REFUSED:
            wanted.granted_us = self._agenda.now_us
        else:
            self._later(self._ask_again, wanted)

    def _receive_unsuback(self, packet: Unsuback) -> None:
        wanted = self._asked.pop(packet.packet_id, None)
        if wanted is None:
            self._note_oddity(f"{packet} that answers nothing")
        elif packet.reasons[0] < REFUSED:
            wanted.ended_us = self._agenda.now_us
            del self._subscribed[wanted.filter_text]
        else:
            self._later(self._ask_again, wanted)

    def _receive_answer(self, packet: Puback | Pubrec | Pubcomp) -> None:
        assert self._connection is not None
        if not self._outbox.answered(packet, self._agenda.now_us, self._connection.broker):
            self._note_oddity(f"{packet} that answers nothing")
        self._send_waiting()

    def _receive_publish(self, packet: Publish) -> None:
        if packet.qos < 2:
            self._note_delivery(packet)
            if packet.qos:
                self._send(Puback(packet.packet_id))
            return
        if packet.packet_id not in self._unreleased:
            self._unreleased.add(packet.packet_id)
            self._note_delivery(packet)
            if len(self._unreleased) > self._settings.receive_maximum:
                self._note_oddity(f"{packet} past the receive maximum")
        self._send(Pubrec(packet.packet_id))

    def _receive_pubrel(self, packet: Pubrel) -> None:
        is_known = packet.packet_id in self._unreleased
        self._unreleased.discard(packet.packet_id)
        reason = packets.SUCCESS if is_known else packets.PACKET_IDENTIFIER_NOT_FOUND
        self._send(Pubcomp(packet.packet_id, reason))

    def _note_oddity(self, sentence: str) -> None:
        assert self.line is not None
        odd = Oddity(self._agenda.now_us, self.name, self.line.broker, sentence)
        self._history.oddities.append(odd)

    def _note_delivery(self, packet: Publish) -> None:
        assert self._connection is not None
        if bool(packet.qos) != bool(packet.packet_id):
            self._note_oddity(f"{packet} with a wrong packet identifier")
        publisher, sequence = read_payload(packet.payload) or (packet.payload.hex(), 0)
        self._history.deliveries.append(
            Delivered(
                self._agenda.now_us,
                self.name,
                publisher,
                sequence,
                packet.topic,
                packet.qos,
                packet.is_duplicate,
                packet.retain,
                self._connection.number,
                self._connection.broker,
            )
        )
