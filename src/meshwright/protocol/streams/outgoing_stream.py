"""One stream at its origin: the publications kept of it, and what each receiver is owed."""

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

    filters: its filters with clauses on content; none if it wants every publication on the topic.
    pending: the numbers that it is owed, in order.
    doubtful: numbers from before it joined; it is owed them if it did not wait for Joined.
    last_owed: the last number that was sent and that it was owed.
    is_fresh: it has acknowledged nothing since it joined, came back or was owed earlier numbers, so
        each frame tells it what comes before.
    progress_us: when it last acknowledged something or was sent something again.
    sent_again: the last number that was sent again as it was late, 0 if there is none.
    """

    __slots__ = (
        "doubtful", "filters", "is_fresh", "last_owed", "pending", "progress_us", "sent_again",
    )  # fmt: skip

    def __init__(self, now_us: int) -> None:
        self.filters: tuple[Filter, ...] = ()
        # A list: mostly short, and there are many receivers.
        self.pending: list[int] = []
        self.doubtful: tuple[int, ...] = ()
        self.last_owed = NOTHING_OWED
        self.is_fresh = True
        self.progress_us = now_us
        self.sent_again = 0

    def wants(self, publication: Publication) -> bool:
        """True unless the clauses of all its filters exclude the publication."""
        topic, properties = publication.topic, publication.properties
        return not self.filters or any(matches(one, topic, properties) for one in self.filters)


class OutgoingStream:
    """One topic's stream: its log, and what each receiver is owed.

    log: the publications kept, by number.
    owed_counts: for each number in the log, how many receivers are owed it.
    sent: up to this number, publications were handed to the overlay.
    checked: up to this number, receivers were read from the directory after the publication was
        taken.
    wanted: the interest with which receivers were last brought in line.
    questions: brokers and numbers of OwedQuestions that are not answered.
    announcing: receivers that have not answered Announce.
    qos0: QoS 0 publications that wait for the topic to open.
    is_open: the receivers are known, and publications are sent at once.
    is_checking: the receivers are being read from the directory.
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
        """A broker's interest in the topic is new, or has changed.

        Returns its receiver, and the numbers that it wants, was not sent, and are not checked yet.
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
        """Owe a number to a receiver; returns the number that it must have before."""
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
        """A receiver has all up to a number; returns the numbers that no receiver is owed now."""
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
        """Owe a receiver numbers that were sent before without it.

        It is told exactly what it is owed, as it may have passed over these numbers.
        """
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
        """It is known now what a receiver is owed; returns the numbers kept for it in doubt."""
        doubtful, receiver.doubtful = receiver.doubtful, ()
        for number in doubtful:
            self.owed_counts[number] -= 1
        return doubtful

    def owed_to_any(
        self, brokers: tuple[str, ...], wanted: Filter
    ) -> list[tuple[int, Publication]]:
        """The publications that any of these brokers is owed and a filter matches, with numbers."""
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
        """Take out the questions that need not wait any longer; returns those to answer.

        A question is answered when the broker is owed nothing up to its number. If it is owed just
        that number, the frame comes, and no answer is needed.
        """
        found = []
        for peer, number in list(self.questions):
            is_known = self.checked >= number and self.is_open
            # A number that is not kept is owed to nobody, even if receivers are not known.
            if not is_known and any(kept <= number for kept in self.log):
                continue
            owed = [one for one in self.owed_to(peer) if one <= number]
            if not owed:
                found.append((peer, number))
            if not owed or owed[-1] == number:
                del self.questions[peer, number]
        return found

    def _unchecked(self) -> list[int]:
        """The numbers that were sent before the receivers were read for them."""
        if self.checked >= self.sent:
            return []
        latest = takewhile(lambda number: number > self.checked, reversed(self.log))
        return sorted(number for number in latest if number <= self.sent)


def are_unread(streams: Iterable[OutgoingStream]) -> bool:
    """True if the receivers of some stream with a log are not known yet."""
    return any(stream.log and not stream.is_open for stream in streams)


def standing_of(
    peer: str,
    streams: Mapping[str, OutgoingStream],
    question: StandingQuestion,
    own: Mapping[str, list[int]] | None,
) -> Standing:
    """The numbers up to which a broker is owed frames of streams, and up to which they were sent.

    own: if the broker is the origin itself, the numbers that wait there, by topic.
    """
    owed = own or {topic: stream.owed_to(peer) for topic, stream in streams.items()}
    points = tuple((topic, max(numbers)) for topic, numbers in owed.items() if numbers)
    sent = tuple(
        (topic, stream.sent if own is None else stream.number)
        for topic, stream in streams.items()
        if topic == question.key or peer in stream.receivers
    )
    return Standing(question.serial, points, sent)
