"""One stream at its origin: what is kept of it, and who is owed what."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import takewhile

from meshwright.filters.filter import Filter, matches
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.stream_frames import NOTHING_OWED
from meshwright.protocol.streams.known_interest import Wanted
from meshwright.protocol.streams.messages import Standing, StandingQuestion


class Receiver:
    """What one interested broker is owed of one stream.

    doubtful: numbers from before it joined, which it is owed if it did not wait for the answer.
    sent_again: the last number that was sent again as it was late, 0 if there is none.
    """

    __slots__ = (
        "doubtful", "filters", "is_fresh", "last_owed", "pending", "progress_us", "sent_again",
    )  # fmt: skip

    def __init__(self, now_us: int) -> None:
        self.filters: tuple[Filter, ...] = ()
        # A list, as it is short mostly and there are many receivers; in order.
        self.pending: list[int] = []
        self.doubtful: tuple[int, ...] = ()
        self.last_owed = NOTHING_OWED
        self.is_fresh = True
        self.progress_us = now_us
        self.sent_again = 0

    def wants(self, publication: Publication) -> bool:
        """True unless all its filters ask for other content."""
        topic, properties = publication.topic, publication.properties
        return not self.filters or any(matches(one, topic, properties) for one in self.filters)


class OutgoingStream:
    """One topic's stream: its log, and who still waits for what.

    sent: up to here, publications were handed to the overlay.
    checked: up to here, receivers were read from the directory after the publication was taken.
    wanted: what the receivers were last brought in line with.
    questions: brokers that ask whether they must wait for a number.
    is_open: the members are known. is_checking: they are being read, for the first time or again.
    """

    __slots__ = (
        "announced_us",
        "announcing",
        "checked",
        "is_checking",
        "is_open",
        "log",
        "number",
        "owed_counts",
        "qos0",
        "questions",
        "read_us",
        "receivers",
        "sent",
        "wanted",
    )  # fmt: skip

    def __init__(self, number: int = 0) -> None:
        self.number = number
        self.checked = number
        self.sent = number
        self.is_open = False
        self.is_checking = False
        self.announced_us = 0
        self.read_us = 0
        self.announcing: dict[str, None] = {}
        self.qos0: list[Publication] = []
        self.questions: dict[tuple[str, int], None] = {}
        self.log: dict[int, Publication] = {}
        self.owed_counts: dict[int, int] = {}
        self.receivers: dict[str, Receiver] = {}
        self.wanted: Wanted | None = None

    def widen(
        self, name: str, filters: tuple[Filter, ...], now_us: int
    ) -> tuple[Receiver, list[int]]:
        """A broker turns out to want something, or something else.

        Returns its receiver, and which numbers were sent without it and are not checked.
        """
        receiver = self.receivers.get(name)
        skipped = self._unchecked()
        if receiver is None:
            receiver = self.receivers[name] = Receiver(now_us)
        elif skipped:
            skipped = [n for n in skipped if not receiver.wants(self.log[n])]
        receiver.filters = filters
        if skipped:
            skipped = [n for n in skipped if receiver.wants(self.log[n])]
        return receiver, skipped

    def owe(self, receiver: Receiver, number: int, now_us: int) -> int:
        """Owe a number to a receiver; returns what it must have before."""
        if receiver.pending:
            before = receiver.pending[-1]
        else:
            before = NOTHING_OWED if receiver.is_fresh else receiver.last_owed
            receiver.progress_us = now_us
        receiver.pending.append(number)
        receiver.last_owed = number
        self.owed_counts[number] += 1
        return before

    def settle(self, receiver: Receiver, number: int) -> list[int]:
        """A receiver has all up to a number; returns those of it that nobody is owed any more."""
        pending, owed_counts = receiver.pending, self.owed_counts
        count = bisect_right(pending, number)
        safe = []
        for one in pending[:count]:
            owed_count = owed_counts[one] = owed_counts[one] - 1
            if not owed_count:
                safe.append(one)
        del pending[:count]
        return safe

    def owe_late(self, receiver: Receiver, numbers: Iterable[int]) -> None:
        """Owe a receiver numbers that were sent before; it must hear exactly what it is owed."""
        found = sorted({*numbers} - {*receiver.pending})
        for number in found:
            self.owed_counts[number] += 1
        receiver.pending = sorted((*receiver.pending, *found))
        receiver.is_fresh = True

    def doubt(self, receiver: Receiver, numbers: Iterable[int]) -> None:
        """Keep numbers that a receiver may turn out to be owed."""
        found = {*numbers} - {*receiver.doubtful}
        for number in found:
            self.owed_counts[number] += 1
        receiver.doubtful = tuple(sorted((*receiver.doubtful, *found)))

    def undoubt(self, receiver: Receiver) -> tuple[int, ...]:
        """A receiver is not in doubt any more; returns the numbers that were kept for that."""
        doubtful, receiver.doubtful = receiver.doubtful, ()
        for number in doubtful:
            self.owed_counts[number] -= 1
        return doubtful

    def owed_to_any(
        self, brokers: tuple[str, ...], wanted: Filter
    ) -> list[tuple[int, Publication]]:
        """What any of some brokers is owed that a filter takes, with its numbers."""
        numbers = sorted({number for broker in brokers for number in self.owed_to(broker)})
        found = [(number, self.log[number]) for number in numbers]
        return [(n, one) for n, one in found if matches(wanted, one.topic, one.properties)]

    def owed_to(self, broker: str) -> list[int]:
        """The numbers that a broker is owed, those not yet sent included."""
        receiver = self.receivers.get(broker)
        if receiver is None:
            return []
        unsent = (number for number in self.log if number > self.sent)
        return [*receiver.pending, *(n for n in unsent if receiver.wants(self.log[n]))]

    def answerable(self) -> list[tuple[str, int]]:
        """Take out questions that need no longer wait; returns those that are to be answered.

        A question is answered when nothing up to its number is owed any more. Where the number is
        owed itself, it comes, and needs no answer.
        """
        found = []
        for peer, number in list(self.questions):
            is_known = self.checked >= number and self.is_open
            # Nobody waits for what is not kept, though a crash may have closed the stream.
            if not is_known and any(kept <= number for kept in self.log):
                continue
            owed = [one for one in self.owed_to(peer) if one <= number]
            if not owed:
                found.append((peer, number))
            if not owed or owed[-1] == number:
                del self.questions[peer, number]
        return found

    def _unchecked(self) -> list[int]:
        """The numbers that were sent before it was read who wants them."""
        if self.checked >= self.sent:
            return []
        latest = takewhile(lambda number: number > self.checked, reversed(self.log))
        return sorted(number for number in latest if number <= self.sent)


def are_unread(streams: Iterable[OutgoingStream]) -> bool:
    """True if of some stream it is not known yet who is owed what is kept of it."""
    return any(stream.log and not stream.is_open for stream in streams)


def standing_of(
    peer: str,
    streams: Mapping[str, OutgoingStream],
    question: StandingQuestion,
    own: Mapping[str, list[int]] | None,
) -> Standing:
    """Up to where a broker is owed something of streams, and up to where they were sent.

    own: what waits by topic at the broker itself, if it is the origin, to which all was sent.
    """
    owed = own or {topic: stream.owed_to(peer) for topic, stream in streams.items()}
    points = tuple((topic, max(numbers)) for topic, numbers in owed.items() if numbers)
    sent = tuple(
        (topic, stream.sent if own is None else stream.number)
        for topic, stream in streams.items()
        if topic == question.key or peer in stream.receivers
    )
    return Standing(question.serial, points, sent)
