"""Streams of which this broker is the origin: numbered, kept on disk, sent again until all have it.

The receivers of a publication are read from the directory after the publication was taken. So no
broker is missed whose interest was in force before, whatever the overlay did. Local sessions get a
publication when it is taken; this broker owes itself only what waits for publications elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import msgspec

from meshwright.filters.filter import parse_filter
from meshwright.model.publication import Publication
from meshwright.protocol.directory.directory import Directory
from meshwright.protocol.directory.entries import WILDCARDS
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.stream_frames import StreamFrame
from meshwright.protocol.foundation.turn import Action, Turn
from meshwright.protocol.peers.conversations import Conversations, Mark
from meshwright.protocol.streams.known_interest import InterestReading, KnownInterest
from meshwright.protocol.streams.messages import (
    Acknowledged,
    Announce,
    Announced,
    Joined,
    Joining,
    Legacy,
    LegacyQuestion,
    OwedNothing,
    OwedQuestion,
    StandingQuestion,
)
from meshwright.protocol.streams.ordering import Ordering
from meshwright.protocol.streams.outgoing_stream import (
    OutgoingStream,
    Receiver,
    are_unread,
    standing_of,
)
from meshwright.protocol.streams.quiet_streams import QuietSettings, QuietStreams
from meshwright.protocol.streams.repairs import Repairs

TICK = ("outgoing",)
FORGET_GONE = ("gone",)
Send = Callable[[Turn, str, Any], None]


class OutgoingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """When frames are sent again, how many at a time, and how often receivers are read anew.

    repair_after_us: after which a frame that was not acknowledged is sent again.
    repair_window: how many frames of a stream are sent again at a time.
    check_every_us: how often receivers are read for publications taken meanwhile.
    qos0_max: how many QoS 0 publications may wait for a topic to open.
    trust_us: for how long after a reading this broker is told of changes; well below the time for
        which the directory remembers readers.
    keep_for_gone_us: how long publications owed to a removed broker are kept for the next keeper of
        its shared subscriptions.
    across_topics: filters of topics that have one order together, for each publisher.
    """

    repair_after_us: int = 2_000_000
    repair_window: int = 64
    check_every_us: int = 1_000_000
    qos0_max: int = 1_000
    trust_us: int = 25_000_000
    keep_for_gone_us: int = 60_000_000
    quiet: QuietSettings = QuietSettings()
    across_topics: tuple[str, ...] = ()


class Outgoing:
    """All streams of one origin.

    emit: hands a frame to the overlay.
    unpassed: the numbers of a topic that wait here for publications elsewhere.
    """

    def __init__(
        self,
        settings: OutgoingSettings,
        directory: Directory,
        *,
        conversations: Conversations,
        emit: Callable[[Turn, StreamFrame], None],
        is_removed: Callable[[str], bool],
        unpassed: Callable[[str], list[int]],
        me: str,
    ) -> None:
        self._me = me
        self.unpassed = unpassed
        self._settings = settings
        self._conversations = conversations
        self._send: Send = conversations.send
        self._emit = emit
        self._streams: dict[str, OutgoingStream] = {}
        self._is_removed = is_removed
        self._forgotten: frozenset[str] = frozenset()
        self._known = KnownInterest()
        self._reading = InterestReading(directory, self._known)
        # By broker: the place in its conversation up to which it must have got Joined.
        self._doubts: dict[str, Mark] = {}
        self._postponed: list[Action] = []
        self.ordering = Ordering(settings.across_topics, self._streams)
        self._repairs = Repairs(me, self._streams, self._known, self.ordering, conversations)
        self.quiet = QuietStreams(me, self._streams, self._known, conversations, settings.quiet)
        self._has_tick = False
        self._log_length = 0
        # Topics on which QoS 0 waits for the topic to open.
        self._unopened: dict[str, None] = {}
        self.change_count = 0

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(Acknowledged, self.acknowledged),
            on(Announced, self.announced),
            on(Joining, self.joining),
            on(StandingQuestion, self.standing_asked),
            on(LegacyQuestion, self.legacy_asked),
        )

    def restore(self, turn: Turn, disk: dict[DiskKey, Any]) -> None:
        """After a start, read the logs from disk, and the receivers from the directory."""
        self.quiet.restore(turn, disk)
        for key in sorted(key for key in disk if key[0] == "stream"):
            self._streams[str(key[1])] = OutgoingStream(disk[key])
        for key in sorted(key for key in disk if key[0] == "log"):
            stream = self._streams[str(key[1])]
            stream.log[int(key[2])] = disk[key]
            self._log_length += 1
            stream.owed_counts[int(key[2])] = 0
        for topic, stream in self._streams.items():
            if stream.log:
                stream.checked = stream.sent = min(stream.log) - 1
                self._check(turn, topic, stream)
        turn.timer(FORGET_GONE, turn.now_us + self._settings.keep_for_gone_us)
        self._wake(turn)

    def number_of(self, topic: str) -> int:
        """The last number given on a topic, or one below the next."""
        stream = self._streams.get(topic)
        used_up_to = self.quiet.used_up_to
        return used_up_to if stream is None else max(stream.number, used_up_to)

    def topics(self) -> list[str]:
        """The topics that were published here lately, or are still owed to somebody."""
        return list(self._streams)

    def kept(self) -> list[tuple[int, Publication]]:
        """All publications kept because a receiver may need them, with their numbers."""
        return [item for stream in self._streams.values() for item in stream.log.items()]

    def log_length(self) -> int:
        """How many publications are kept because a receiver may need them."""
        return self._log_length

    def qos0_length(self) -> int:
        """The most publications of QoS 0 that wait for one topic to open."""
        lengths = [len(self._streams[topic].qos0) for topic in self._unopened]
        return max(lengths, default=0)

    def publish(self, turn: Turn, publication: Publication, accepted: Action) -> int:
        """Take a publication; accepted is called when it is on disk. Returns its number."""
        topic = publication.topic
        stream = self._stream_of(turn, topic)
        number = stream.number = max(stream.number, self.quiet.used_up_to) + 1
        stream.log[number] = publication
        self._log_length += 1
        stream.owed_counts[number] = 0
        turn.write(("stream", topic), number)
        turn.write(("log", topic, number), publication)
        turn.once_synced(accepted)
        if stream.is_open:
            turn.once_synced(lambda later: self._send_in_turn(later, stream, number))
        else:
            turn.once_synced(lambda later: self._check(later, topic, stream))
        self._wake(turn)
        return number

    def publish_qos0(self, turn: Turn, publication: Publication) -> None:
        """Send a QoS 0 publication; one on a topic that is not open yet waits for that."""
        topic = publication.topic
        stream = self._stream_of(turn, topic)
        if stream.is_open:
            self._emit(turn, StreamFrame(self._me, 0, publication))
        elif len(stream.qos0) < self._settings.qos0_max:
            stream.qos0.append(publication)
            self._unopened[topic] = None
            self._check(turn, topic, stream)
            self._wake(turn)

    def open_until_us(self, topic: str) -> int:
        """The time until which publications on a topic are sent at once; -1 if they are not."""
        stream = self._streams.get(topic)
        if stream is None or not stream.is_open:
            return -1
        return stream.read_us + self._settings.trust_us

    def is_crowded(self, topic: str) -> bool:
        """True if half as many QoS 0 publications wait for a topic to open as may."""
        stream = self._streams.get(topic)
        return stream is not None and (2 * len(stream.qos0) >= self._settings.qos0_max)

    def receivers_of(self, topic: str) -> tuple[str, ...]:
        """The brokers known to want a topic of this origin."""
        stream = self._streams.get(topic)
        return tuple(stream.receivers) if stream is not None else ()

    def acknowledged(self, turn: Turn, peer: str, message: Acknowledged) -> None:
        """A receiver acknowledges streams up to some numbers."""
        for topic, number in message.points:
            stream = self._streams.get(topic)
            receiver = stream.receivers.get(peer) if stream is not None else None
            if stream is None or receiver is None:
                continue
            receiver.is_fresh = False
            receiver.progress_us = turn.now_us
            for settled in stream.settle(receiver, number):
                self._forget_if_safe(turn, topic, stream, settled)
            if receiver.sent_again:
                self._go_on_repairing(turn, peer, topic, receiver, number)
            if stream.questions:
                self._answer(turn, topic, stream)

    def joining(self, turn: Turn, peer: str, message: Joining) -> None:
        """A broker's interest has changed: it counts from now on, and the broker is told so."""
        is_wild = message.key == WILDCARDS
        is_read = is_wild or message.key in self._streams
        topics = self._known.hear(peer, message) if is_read else []
        if topics is None:
            self._send(turn, peer, Joined(message.key, message.entry.version, is_unknown=True))
            return
        for topic in topics:
            stream = self._streams.get(topic)
            # A stream that waits to be opened has its receivers already, and is not read again.
            if stream is not None and (stream.is_open or stream.announcing):
                newcomer = None if message.recover else peer
                self._refresh(turn, topic, stream, newcomer=newcomer)
        found = self._found(peer, message) if is_wild else ()
        self._send(turn, peer, Joined(message.key, message.entry.version, found))
        if peer in self._doubts:
            self._doubts[peer] = self._conversations.mark(peer)

    def announced(self, turn: Turn, peer: str, message: Announced) -> None:
        """A broker with a wildcard is ready for a new topic."""
        stream = self._streams.get(message.topic)
        if stream is not None and stream.announcing.pop(peer, self) is None:
            self._open_if_ready(turn, stream)

    def owed_asked(self, turn: Turn, peer: str, message: OwedQuestion) -> None:
        """Answer when a receiver need not wait for a number; if it must, the frame will come."""
        stream = self._streams.get(message.topic)
        if stream is None:
            self._send(turn, peer, OwedNothing(message.topic, message.number))
            return
        stream.questions[peer, message.number] = None
        self._answer(turn, message.topic, stream)

    def standing_asked(self, turn: Turn, peer: str, message: StandingQuestion) -> None:
        """Tell a broker which numbers it is still owed under a key, once that is known."""
        topics = list(self._streams) if message.key == WILDCARDS else [message.key]
        streams = {topic: self._streams[topic] for topic in topics if topic in self._streams}
        if are_unread(streams.values()):
            self._postponed.append(partial(self.standing_asked, peer=peer, message=message))
            return
        own = None
        if peer == self._me:
            own = {topic: self.unpassed(topic) for topic in streams}
        self._send(turn, peer, standing_of(peer, streams, message, own))

    def once_read(self, turn: Turn, action: Action, *, keys: Collection[str]) -> None:
        """Do something once the receivers are known of all that was taken under some keys."""
        topics = list(self._streams) if WILDCARDS in keys else keys
        unread = [
            topic
            for topic in topics
            if topic in self._streams and are_unread((self._streams[topic],))
        ]
        if unread:
            self._postponed.append(partial(self.once_read, action=action, keys=unread))
        else:
            action(turn)

    def points_of(self, publisher: str) -> dict[str, int]:
        """The last number on each topic where a receiver may still lack a publisher's publication.

        It is the last number of the topic, not of the publisher: the publisher's last may have had
        no receivers, and a later copy reaches brokers that want the topic since.
        """
        return {
            topic: stream.number
            for topic, stream in self._streams.items()
            if any(one.publisher == publisher for one in stream.log.values())
        }

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """A receiver came back and may have forgotten frames: send it all that it is owed."""
        if peer in self._doubts:
            self._settle_doubts(turn, peer, is_owed=True)
        owed = []
        for topic, stream in self._streams.items():
            receiver = stream.receivers.get(peer)
            if receiver is not None:
                receiver.is_fresh = True
                receiver.sent_again = 0
                if receiver.pending:
                    owed.append(topic)
        self._repairs.begin_anew(turn, peer, owed)

    def roll_changed(self, turn: Turn) -> None:
        """Do not wait for removed brokers; new keepers may ask for what they are owed."""
        turn.timer(FORGET_GONE, turn.now_us + self._settings.keep_for_gone_us)
        self._forget_gone(turn, frozenset(filter(self._is_removed, self._forgotten)))
        for stream in self._streams.values():
            for name in [name for name in stream.announcing if self._is_removed(name)]:
                del stream.announcing[name]
                self._open_if_ready(turn, stream)

    def forget_gone(self, turn: Turn) -> None:
        """Drop what was owed to removed brokers, as no new keeper asks for it any more."""
        self._forget_gone(turn, frozenset(filter(self._is_removed, self._known.brokers())))

    def legacy_asked(self, turn: Turn, peer: str, message: LegacyQuestion) -> None:
        """A new keeper asks what was owed to former keepers of a shared subscription."""
        if are_unread(self._streams.values()):
            self._postponed.append(partial(self.legacy_asked, peer=peer, message=message))
            return
        wanted = parse_filter(message.key).ungrouped()
        frames = tuple(
            StreamFrame(self._me, number, publication)
            for stream in self._streams.values()
            for number, publication in stream.owed_to_any(message.formers, wanted)
        )
        turn.once_synced(lambda later: self._send(later, peer, Legacy(message.key, frames)))

    def tick(self, turn: Turn) -> None:
        """Send late frames again, and read receivers for publications taken since the last time."""
        self._has_tick = False
        for peer, mark in list(self._doubts.items()):
            if self._conversations.has_reached(peer, mark):
                self._settle_doubts(turn, peer, is_owed=False)
        self._repairs.forget_lost()
        patience_us = self._settings.repair_after_us
        for topic, stream in self._streams.items():
            if stream.questions:
                self._answer(turn, topic, stream)
            if not stream.log and not stream.qos0:
                continue
            if stream.checked < stream.number:
                self._check(turn, topic, stream)
            if stream.announcing and turn.now_us - stream.announced_us > patience_us:
                stream.announcing.clear()
                self._open_if_ready(turn, stream)
            for name, receiver in stream.receivers.items():
                late_us = turn.now_us - receiver.progress_us
                if receiver.pending and late_us > patience_us:
                    self._repair_late(turn, name, topic, receiver)
            self._wake(turn)

    def _found(self, peer: str, message: Joining) -> tuple[str, ...]:
        """The topics to name to a broker whose wildcards changed; all if it may have forgotten."""
        topics = self._streams if message.recover else self._known.taken_by(message.added)
        return tuple(topic for topic in topics if peer in self._streams[topic].receivers)

    def _stream_of(self, turn: Turn, topic: str) -> OutgoingStream:
        """The stream of a topic, closed if its receivers were read too long ago to be trusted."""
        stream = self._streams.get(topic)
        if stream is None:
            stream = self._streams[topic] = OutgoingStream(self.quiet.used_up_to)
        elif turn.now_us - stream.read_us > self._settings.trust_us:
            stream.is_open = False
            self.change_count += 1
        return stream

    def _wake(self, turn: Turn) -> None:
        if not self._has_tick:
            self._has_tick = True
            turn.timer(TICK, turn.now_us + self._settings.check_every_us)

    def _forget_gone(self, turn: Turn, names: frozenset[str]) -> None:
        if names != self._forgotten:
            self._forgotten = names
            self._known.leave_out(names)
            for topic, stream in self._streams.items():
                if stream.receivers:
                    self._refresh(turn, topic, stream, newcomer=None)

    def _check(self, turn: Turn, topic: str, stream: OutgoingStream) -> None:
        """Read the receivers of a topic; all of them are owed what was taken before."""
        if stream.is_checking:
            return
        stream.is_checking = True
        checked = partial(self._checked, topic=topic, stream=stream, taken=stream.number)
        self._reading.read(turn, topic, checked)

    def _checked(self, turn: Turn, topic: str, stream: OutgoingStream, taken: int) -> None:
        stream.is_checking = False
        stream.read_us = turn.now_us
        self._refresh(turn, topic, stream, newcomer=None)
        if not stream.is_open and not stream.announcing:
            self._announce(turn, topic, stream)
        stream.checked = max(stream.checked, taken)
        for number in sorted(n for n in stream.log if n <= taken):
            self._forget_if_safe(turn, topic, stream, number)
        self._answer(turn, topic, stream)

    def _announce(self, turn: Turn, topic: str, stream: OutgoingStream) -> None:
        """Before a topic opens, have brokers that want it only by a wildcard get ready for it."""
        by_name = self._known.by_name(topic)
        for name in stream.receivers:
            if name != self._me and name not in by_name:
                stream.announcing[name] = None
                self._send(turn, name, Announce(topic))
        stream.announced_us = turn.now_us
        self._open_if_ready(turn, stream)

    def _open_if_ready(self, turn: Turn, stream: OutgoingStream) -> None:
        if stream.announcing:
            return
        stream.is_open = True
        for number in sorted(n for n in stream.log if n > stream.sent):
            turn.once_synced(partial(self._send_in_turn, stream=stream, number=number))
        postponed, self._postponed = self._postponed, []
        for action in postponed:
            action(turn)
        qos0, stream.qos0 = stream.qos0, []
        for publication in qos0:
            self._unopened.pop(publication.topic, None)
            self._emit(turn, StreamFrame(self._me, 0, publication))

    def _refresh(
        self, turn: Turn, topic: str, stream: OutgoingStream, *, newcomer: str | None
    ) -> None:
        """Bring the receivers of a stream in line with the entries known.

        A newcomer, whose client still waits for its SUBACK, counts from now on. Any other broker
        that turns up may have been interested for a while, and is owed all that is not checked. A
        newcomer may have given up waiting before its Joining came: what it would then be owed is
        kept, in doubt, until it has the answer.
        """
        wanted = self._known.wanted(topic)
        if wanted is stream.wanted:
            return
        stream.wanted = wanted
        self.change_count += 1
        for name in [name for name in stream.receivers if name not in wanted]:
            if name == self._me and self.unpassed(topic):
                continue  # what waits here is wanted here; the entry that says so is to come
            receiver = stream.receivers.pop(name)
            for number in stream.undoubt(receiver):
                self._forget_if_safe(turn, topic, stream, number)
            for number in receiver.pending:
                stream.owed_counts[number] -= 1
                self._forget_if_safe(turn, topic, stream, number)
        for name, filters in wanted.items():
            before = stream.receivers.get(name)
            if before is not None and before.filters == filters:
                continue
            receiver, missed = stream.widen(name, filters, turn.now_us)
            if not missed or name == self._me:
                continue
            if name != newcomer:
                stream.owe_late(receiver, missed)
                self._repairs.begin(turn, name, (topic,))
            else:
                stream.doubt(receiver, missed)
                self._doubts[name] = self._conversations.mark(name)

    def _settle_doubts(self, turn: Turn, peer: str, *, is_owed: bool) -> None:
        """Decide what a newcomer is owed of what was published before it joined.

        Nothing if it has got Joined; all in doubt if its conversation ended before that.
        """
        del self._doubts[peer]
        for topic, stream in self._streams.items():
            receiver = stream.receivers.get(peer)
            if receiver is None:
                continue
            doubtful = stream.undoubt(receiver)
            if is_owed and doubtful:
                stream.owe_late(receiver, doubtful)
            for number in doubtful:
                self._forget_if_safe(turn, topic, stream, number)

    def _send_in_turn(self, turn: Turn, stream: OutgoingStream, number: int) -> None:
        """Send a number for the first time, once all that must go before it has gone."""
        publication = stream.log.get(number)
        if publication is None or not self.ordering.takes(publication.topic):
            self._send_out(turn, stream, number)
            return
        for topic, next_number in self.ordering.ready(number, publication):
            self._send_out(turn, self._streams[topic], next_number)

    def _send_out(self, turn: Turn, stream: OutgoingStream, number: int) -> None:
        """Send a number for the first time: note the receivers that are owed it, emit its frame."""
        publication = stream.log[number]
        stream.sent = number
        previous = []
        if number in self.unpassed(publication.topic):
            # It is wanted here, though the entry that says so may not be known here yet.
            own = stream.receivers.setdefault(self._me, Receiver(turn.now_us))
            stream.owe(own, number, turn.now_us)
        for name, receiver in stream.receivers.items():
            if name == self._me or (receiver.filters and not receiver.wants(publication)):
                continue
            before = stream.owe(receiver, number, turn.now_us)
            if receiver.is_fresh or before != number - 1:
                previous.append((name, before))
        behind = self.ordering.behind(number, publication)
        self._emit(turn, StreamFrame(self._me, number, publication, tuple(previous), behind))
        self._forget_if_safe(turn, publication.topic, stream, number)

    def _repair_late(self, turn: Turn, name: str, topic: str, receiver: Receiver) -> None:
        """Send a receiver the oldest that it is owed again, if its acknowledgement is late."""
        if not self._repairs.is_under_way(name, topic):
            window = self._settings.repair_window
            receiver.progress_us = turn.now_us
            receiver.sent_again = receiver.pending[:window][-1]
            self._repairs.begin(turn, name, (topic,), count_max=window)

    def _go_on_repairing(
        self, turn: Turn, name: str, topic: str, receiver: Receiver, number: int
    ) -> None:
        """A receiver has acknowledged what it was sent again: send the rest, if it lacks that too.

        If it has more than that, frames do reach it, and no more need be sent again.
        """
        if number >= receiver.sent_again:
            is_all = number == receiver.sent_again
            receiver.sent_again = 0
            if is_all and receiver.pending:
                self._repairs.begin(turn, name, (topic,))

    def _answer(self, turn: Turn, topic: str, stream: OutgoingStream) -> None:
        """Answer the questions of receivers for which enough is known."""
        for peer, number in stream.answerable():
            self._send(turn, peer, OwedNothing(topic, number))

    def _forget_if_safe(self, turn: Turn, topic: str, stream: OutgoingStream, number: int) -> None:
        is_settled = number <= stream.checked and number <= stream.sent
        if is_settled and stream.owed_counts.get(number) == 0:
            del stream.owed_counts[number]
            publisher = stream.log.pop(number).publisher
            self.ordering.safe(publisher, (topic, number))
            self._log_length -= 1
            turn.forget(("log", topic, number))
