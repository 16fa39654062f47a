"""Streams of other origins: each publication is passed on once, in its publisher's order.

A frame may come twice, late, or straight from its origin. It is passed on to local sessions when
all frames that this broker is owed before it have been; until then it is held. A publisher that
moved names its last publications at former brokers (after), which are passed on first. A
publication of a client here is passed on in the step in which it is taken, so that later
subscribers do not get it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec

from meshwright.filters.topics import levels_cover, levels_of
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.dispatch import Handlers, on
from meshwright.protocol.foundation.effects import DiskKey
from meshwright.protocol.foundation.stream_frames import EVERY_TOPIC, NOTHING_OWED, StreamFrame
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import Conversations
from meshwright.protocol.streams.last_numbers import LastNumbers
from meshwright.protocol.streams.messages import (
    Acknowledged,
    AllPassed,
    OwedNothing,
    OwedQuestion,
    Repair,
)
from meshwright.protocol.streams.taking import Numbered, in_order_of_taking

ACKNOWLEDGE = ("incoming",)


# An origin, a topic, and a number of their stream.
_Point = tuple[str, str, int]


class IncomingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How long acknowledgements are gathered, and how many frames of a stream are held."""

    acknowledge_after_us: int = 50_000
    held_max: int = 4_096


class StraightFrame(StreamFrame, frozen=True, gc=False, array_like=True):
    """A frame that its origin sent straight to this broker, since this broker's last start.

    known: the versions of this broker's entries by which it is owed the frame.
    """

    known: tuple[int, int] = (0, 0)


class IncomingStream:
    """One stream at a receiver.

    last: the highest number passed on.
    held: frames that wait for earlier ones, by number.
    """

    __slots__ = ("held", "last")

    def __init__(self, last: int = 0) -> None:
        self.last = last
        self.held: dict[int, StreamFrame] = {}


class Incoming:
    """All streams that this broker receives.

    deliver: passes a publication to local sessions. It returns True if it wrote to disk; then the
        stream's number is written with it, so that nothing is passed on twice.
    is_informed: False while an origin may not know all that is wanted here.
    is_known_by: True if entries of such versions have a filter here that still matches a topic.
    wants: True if a local filter matches a topic.
    _passed: for each origin, the number of its last AllPassed.
    _unsent: acknowledgements that are gathered, by origin and topic.
    _waiting: for each stream, numbers in it and the frames of other streams that wait for them.
    _newest_passed: for each publisher and topic, the last sequence passed on.
    """

    def __init__(
        self,
        me: str,
        settings: IncomingSettings,
        *,
        conversations: Conversations,
        deliver: Callable[[Turn, StreamFrame], bool],
        is_informed: Callable[[str], bool],
        is_known_by: Callable[[str, tuple[int, int]], bool],
        is_removed: Callable[[str], bool],
        wants: Callable[[str], bool],
    ) -> None:
        self._me = me
        self._wants = wants
        self._settings = settings
        self._conversations = conversations
        self._send = conversations.send
        self._deliver = deliver
        self._is_informed = is_informed
        self._is_known_by = is_known_by
        self._is_removed = is_removed
        self._streams: dict[tuple[str, str], IncomingStream] = {}
        # Streams that held frames when last looked at.
        self._holding: dict[tuple[str, str], IncomingStream] = {}
        # By origin: a frame with a number up to this is too late, whatever its topic.
        self._passed: dict[str, int] = {}
        self._unsent: dict[str, dict[str, int]] = {}
        self._waiting: dict[tuple[str, str], list[tuple[int, StreamFrame]]] = {}
        # By publisher: topics and numbers published here that wait, with their sequences.
        self._unpassed: dict[str, dict[tuple[str, int], int]] = {}
        self._seen_qos0 = LastNumbers()
        self._newest_passed = LastNumbers()
        # Streams that went on; the frames that waited for that are not passed on yet.
        self._advanced: deque[tuple[tuple[str, str], IncomingStream]] = deque()

    def handlers(self) -> Handlers:
        """Map each message to its method."""
        return (
            on(Repair, self.repaired),
            on(OwedNothing, self.owed_nothing),
        )

    def restore(self, disk: dict[DiskKey, Any]) -> None:
        """After a start, read from disk how far streams were passed on."""
        for key, value in disk.items():
            if key[0] == "position":
                self._streams[str(key[1]), str(key[2])] = IncomingStream(value)
            elif key[0] == "passed":
                self._passed[str(key[1])] = value
        for (origin, _), stream in self._streams.items():
            stream.last = max(stream.last, self._passed.get(origin, 0))

    def last_of(self, origin: str, topic: str) -> int:
        """The number up to which a stream is passed on, or nothing more is to come."""
        stream = self._streams.get((origin, topic))
        return stream.last if stream is not None else self._passed.get(origin, 0)

    def last_of_own(self, topic: str) -> int:
        """The number up to which publications of clients here on a topic are passed on."""
        return self.last_of(self._me, topic)

    def passed_numbers(self) -> dict[tuple[str, str], int]:
        """The number up to which each stream is passed on, by origin and topic.

        Under the origin and EVERY_TOPIC stands the number for its streams that are not named.
        """
        others = {(origin, EVERY_TOPIC): number for origin, number in self._passed.items()}
        return {**others, **{key: stream.last for key, stream in self._streams.items()}}

    def topics(self) -> set[str]:
        """The topics of all streams that are not forgotten."""
        return {topic for _, topic in self._streams}

    def held_length(self) -> int:
        """The most frames that are held of one stream."""
        if not self._holding:
            return 0
        length = max(len(stream.held) for stream in self._holding.values())
        self._holding = {key: one for key, one in self._holding.items() if one.held}
        return length

    def forget_unwanted(self, turn: Turn) -> None:
        """Drop held frames of topics that no session wants: later subscribers must not get them."""
        wants = self._wants
        for key in [key for key in self._holding if not wants(key[1])]:
            self._holding.pop(key).held.clear()
        freed = [key for key in self._waiting if not wants(key[1])]
        waiting = [frame for key in freed for _, frame in self._waiting.pop(key)]
        for publisher, points in list(self._unpassed.items()):
            self._unpassed[publisher] = {at: n for at, n in points.items() if wants(at[0])}
            if not self._unpassed[publisher]:
                del self._unpassed[publisher]
        for frame in waiting:
            if wants(frame.publication.topic):
                self.arrive(turn, frame)

    def remember(self, turn: Turn, topic_filter: str) -> None:
        """Write how far streams are passed on that a durable session wants from now on."""
        levels = levels_of(topic_filter)
        for (origin, topic), stream in self._streams.items():
            if levels_cover(levels, levels_of(topic)):
                turn.write(("position", origin, topic), stream.last)

    def repaired(self, turn: Turn, _peer: str, message: Repair) -> None:
        """A frame has come straight from its origin, which says what this broker is owed.

        If this broker is the origin itself, the frame comes after those that wait here, whatever
        this broker owes itself: they may wait for a session that subscribed before its entry
        counted.
        """
        frame = message.frame
        previous = frame.previous
        if frame.origin == self._me:
            before = [n for n in self.unpassed(frame.publication.topic) if n < frame.number]
            previous = ((self._me, before[-1] if before else NOTHING_OWED),)
        straight = StraightFrame(
            frame.origin,
            frame.number,
            frame.publication,
            previous,
            frame.behind,
            message.known,
        )
        self.arrive(turn, straight)

    def arrive(self, turn: Turn, frame: StreamFrame) -> None:
        """A frame has come, by the overlay or straight from its origin."""
        publication = frame.publication
        if not frame.number:
            # QoS 0 is passed on in order or not at all.
            publisher = (publication.publisher, publication.topic)
            first = publication.sequence
            if self._seen_qos0.advance(publisher, first, first + publication.count - 1):
                deliver = self._deliver
                deliver(turn, frame)
            return
        key = (frame.origin, publication.topic)
        stream = self._streams.get(key) or self._begin(key)
        if frame.number <= stream.last:
            turn.once_synced(partial(self._acknowledge, key, stream.last))
        elif not self._is_next(stream, frame):
            self._hold(key, stream, frame)
        elif self._pass_on(turn, key, stream, frame) and (stream.held or self._waiting):
            self._advance(turn, key, stream)

    def take_own(self, turn: Turn, frame: StreamFrame) -> None:
        """Pass on a publication of a client here, unless it must wait for earlier ones.

        Publications of the same publisher at other brokers may go before it, and so may one on
        another topic that waits already.
        """
        publication = frame.publication
        if not frame.number:
            self.arrive(turn, frame)
            return
        key = (self._me, publication.topic)
        stream = self._streams.get(key) or self._begin(key)
        if not (stream.held or self._unpassed or publication.after):
            self._pass_on(turn, key, stream, frame)
            return
        before = max(self.unpassed(publication.topic), default=NOTHING_OWED)
        previous = ((self._me, before),)
        waiting = StreamFrame(self._me, frame.number, publication, previous, frame.behind)
        own = self._unpassed.setdefault(publication.publisher, {})
        own[publication.topic, frame.number] = publication.sequence
        if before != NOTHING_OWED:
            self._hold(key, stream, waiting)
        else:
            self._pass_on(turn, key, stream, waiting)

    def unpassed(self, topic: str) -> list[int]:
        """The numbers on a topic that were published here and wait for earlier publications."""
        own = self._unpassed.values()
        return sorted(number for points in own for name, number in points if name == topic)

    def passed_qos0(self, publication: Publication) -> None:
        """Note that local clients have got a QoS 0 publication."""
        publisher = (publication.publisher, publication.topic)
        self._seen_qos0[publisher] = publication.sequence + publication.count - 1

    def passed_qos1(self, publisher: str, topic: str, sequence: int) -> None:
        """Note that local clients have got a publisher's messages on a topic up to a sequence."""
        self._newest_passed[publisher, topic] = sequence

    def owed_nothing(self, turn: Turn, peer: str, message: OwedNothing) -> None:
        """An origin owes this broker nothing up to a number: pass on frames that waited for it.

        After a crash the origin may send such numbers all the same, as it cannot know which
        receivers came when; they are late copies.
        """
        key = (peer, message.topic)
        turn.write(("position", *key), max(message.number, self.last_of(*key)))
        self._skip(turn, key, message.number)

    def all_passed(self, turn: Turn, peer: str, message: AllPassed) -> None:
        """Receivers have all of an origin up to a number: forget streams that went no further."""
        if message.number <= self._passed.get(peer, 0):
            return
        self._passed[peer] = message.number
        turn.write(("passed", peer), message.number)
        for key, stream in list(self._streams.items()):
            if key[0] == peer and stream.last <= message.number:
                self._skip(turn, key, message.number)
                if not stream.held and stream.last == message.number:
                    del self._streams[key]
                    turn.forget(("position", *key))

    def roll_changed(self, turn: Turn) -> None:
        """Brokers were removed: wait for no frame of theirs."""
        for key, waiting in list(self._waiting.items()):
            if self._is_removed(key[0]):
                self._skip(turn, key, max(number for number, _ in waiting))
        self.origins_informed(turn)

    def origins_informed(self, turn: Turn) -> None:
        """An origin knows all that is wanted here again: trust the numbers that it skips."""
        held: dict[str, list[Numbered]] = {}
        for (origin, _), stream in self._holding.items():
            found = [(number, frame.publication) for number, frame in stream.held.items()]
            held.setdefault(origin, []).extend(found)
        for origin, numbered in held.items():
            for number, publication in in_order_of_taking(numbered):
                key = (origin, publication.topic)
                stream = self._streams.get(key) or self._begin(key)
                frame = stream.held.get(number)
                if frame is not None and self._is_next(stream, frame):
                    self._pass_on(turn, key, stream, frame)
        for key in dict.fromkeys((*self._holding, *self._waiting)):
            known = self._streams.get(key)
            if known is not None and (known.held or key in self._waiting):
                self._advance(turn, key, known)

    def peer_renewed(self, turn: Turn, peer: str) -> None:
        """Ask a peer again the questions that it may have forgotten."""
        asked = [
            (topic, number)
            for (origin, topic), waiting in self._waiting.items()
            if origin == peer
            for number, _ in waiting
        ]
        self._conversations.feed(turn, peer, asked, self._ask_again)

    def _ask_again(self, turn: Turn, origin: str, asked: tuple[str, int]) -> None:
        topic, number = asked
        if any(number == one for one, _ in self._waiting.get((origin, topic), ())):
            self._send(turn, origin, OwedQuestion(topic, number))

    def send_acknowledgements(self, turn: Turn) -> None:
        """Tell each origin up to which numbers its streams are on disk here."""
        unsent, self._unsent = self._unsent, {}
        send = self._send
        for origin, points in unsent.items():
            send(turn, origin, Acknowledged(tuple(points.items())))

    def _skip(self, turn: Turn, key: tuple[str, str], number: int) -> None:
        """Wait for no number up to this one; a frame with such a number is too late."""
        stream = self._streams.get(key) or self._begin(key)
        stream.last = max(stream.last, number)
        self._advance(turn, key, stream)

    def _begin(self, key: tuple[str, str]) -> IncomingStream:
        """Begin a stream of which nothing was passed on but by AllPassed."""
        stream = self._streams[key] = IncomingStream(self._passed.get(key[0], 0))
        return stream

    def _is_next(self, stream: IncomingStream, frame: StreamFrame) -> bool:
        """True if no frame that is wanted here can still come before this one.

        An origin that does not know yet all that is wanted here may skip numbers that are. From a
        removed origin nothing comes any more.
        """
        if frame.number == stream.last + 1 and not frame.previous:
            return True
        is_removed = self._is_removed
        if is_removed(frame.origin):
            return True
        previous = frame.previous_of(self._me)
        is_skipping = previous != frame.number - 1 and frame.number != stream.last + 1
        if frame.origin == self._me:
            is_skipping = False
        return previous <= stream.last and not (is_skipping and not self._is_informed(frame.origin))

    def _pass_on(
        self, turn: Turn, key: tuple[str, str], stream: IncomingStream, frame: StreamFrame
    ) -> bool:
        """Pass a frame on; False if it must wait for a publication of another stream."""
        if frame.publication.after or frame.behind or self._unpassed:
            missing = self._missing(turn, frame)
            if missing:
                self._make_room(stream, frame.number)
                self._hold(key, stream, frame)
                self._wait_for(turn, missing, frame)
                return False
        number = frame.number
        if stream.held:
            stream.held.pop(number, None)
        if frame.behind:
            self._leave_behind(frame.origin, frame.behind)
        if not self._is_overtaken(frame):
            stream.last = number
            deliver = self._deliver
            if deliver(turn, frame):
                turn.write(("position", key[0], key[1]), number)
                self._write_before(turn, frame.publication)
            if key[0] != self._me or self._has_waited(frame) or type(frame) is StraightFrame:
                turn.once_synced(partial(self._acknowledge, key, number))
        return True

    def _leave_behind(self, origin: str, points: tuple[tuple[str, int], ...]) -> None:
        """Skip earlier frames that no session here wants: later subscribers are not owed them."""
        for topic, number in points:
            if not self._wants(topic):
                stream = self._streams.get((origin, topic)) or self._begin((origin, topic))
                stream.last = max(stream.last, number)

    def _has_waited(self, frame: StreamFrame) -> bool:
        """True if a frame was published here and had to wait until now."""
        publication = frame.publication
        own = self._unpassed.get(publication.publisher, {})
        has_waited = own.pop((publication.topic, frame.number), None) is not None
        if has_waited and not own:
            del self._unpassed[publication.publisher]
        return has_waited

    def _write_before(self, turn: Turn, publication: Publication) -> None:
        """Write how far streams before a publication are, so that a crash keeps the order."""
        for origin, _, topic in publication.after:
            key = (origin, topic or publication.topic)
            if key in self._streams:
                turn.write(("position", *key), self._streams[key].last)

    def _is_overtaken(self, frame: StreamFrame) -> bool:
        """True if later frames of its publisher were passed on, and it is not known to be owed.

        An owed frame is passed on before anything that its publisher sends from elsewhere. A copy
        on its way to a broker that came to want the topic later is not owed: it is passed on in
        order or not at all, even if it names this broker, which may have been owed it before a
        crash. If it is owed after all, its origin sends it straight. But a straight frame is a copy
        too, if those here that wanted it have left.
        """
        publication = frame.publication
        line = (publication.publisher, publication.topic if frame.behind is None else EVERY_TOPIC)
        sequence = publication.sequence
        if self._newest_passed.advance(line, sequence + 1, sequence) or frame.origin == self._me:
            return False
        if type(frame) is not StraightFrame:
            return True
        return not self._is_known_by(publication.topic, frame.known)

    def _make_room(self, stream: IncomingStream, number: int) -> None:
        """Make room for the next frame by dropping later ones, which their origin sends again."""
        for earlier in [one for one in stream.held if one < number]:
            del stream.held[earlier]
        if number not in stream.held and len(stream.held) >= self._settings.held_max:
            del stream.held[max(stream.held)]

    def _hold(self, key: tuple[str, str], stream: IncomingStream, frame: StreamFrame) -> None:
        """Hold a frame that comes too early; if too many are held, it must come again."""
        held = stream.held.get(frame.number)
        if type(held) is StraightFrame and type(frame) is not StraightFrame:
            return
        if held is not None or len(stream.held) < self._settings.held_max:
            stream.held[frame.number] = frame
            self._holding[key] = stream

    def _wait_for(self, turn: Turn, points: list[_Point], frame: StreamFrame) -> None:
        """Have a frame wait for points of other streams, and ask their origins about them once."""
        at = (frame.origin, frame.publication.topic, frame.number)
        for origin, topic, number in points:
            waiting = self._waiting.setdefault((origin, topic), [])
            if all((one.origin, one.publication.topic, one.number) != at for _, one in waiting):
                waiting.append((number, frame))
                if origin != self._me:
                    self._send(turn, origin, OwedQuestion(topic, number))

    def _missing(self, turn: Turn, frame: StreamFrame) -> list[_Point]:
        """The points that the publisher of a frame published before, and that may still come."""
        own_topic = frame.publication.topic
        after = [
            (origin, topic or own_topic, number)
            for origin, number, topic in frame.publication.after
        ]
        after += [(frame.origin, topic, number) for topic, number in frame.behind or ()]
        for origin, topic, number in after:
            if self._is_removed(origin):
                self._skip(turn, (origin, topic), number)
        missing = [
            (origin, topic, number)
            for origin, topic, number in after
            if origin != self._me
            and self.last_of(origin, topic) < number
            and (topic == own_topic or self._wants(topic))
        ]
        return [*missing, *self._waiting_here(frame)]

    def _waiting_here(self, frame: StreamFrame) -> list[_Point]:
        """The last point before a frame that its publisher published here, if that waits."""
        publication = frame.publication
        own = self._unpassed.get(publication.publisher, {})
        before = [at for at, sequence in own.items() if sequence < publication.sequence]
        return [(self._me, *before[-1])] if before else []

    def _advance(self, turn: Turn, key: tuple[str, str], stream: IncomingStream) -> None:
        """Pass on frames that were held only because of those just passed on."""
        self._advanced.append((key, stream))
        if len(self._advanced) > 1:
            # The outer call goes on with this one, as chains of waiting frames may be long.
            return
        while self._advanced:
            key, stream = self._advanced[0]
            self._pass_held(turn, key, stream)
            for _, frame in self._waiting.pop(key, ()):
                self.arrive(turn, frame)
            self._advanced.popleft()

    def _pass_held(self, turn: Turn, key: tuple[str, str], stream: IncomingStream) -> None:
        for number in sorted(stream.held):
            frame = stream.held.get(number)
            if frame is None:
                continue
            if number <= stream.last:
                del stream.held[number]
            elif self._is_next(stream, frame) and not self._pass_on(turn, key, stream, frame):
                return

    def _acknowledge(self, key: tuple[str, str], number: int, turn: Turn) -> None:
        unsent = self._unsent
        if not unsent:
            turn.timer(ACKNOWLEDGE, turn.now_us + self._settings.acknowledge_after_us)
        origin, topic = key
        points = unsent.get(origin)
        if points is None:
            unsent[origin] = {topic: number}
        elif points.get(topic, 0) < number:
            points[topic] = number
