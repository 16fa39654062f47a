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


class Member:
    """What one interested broker is owed of one stream.

    doubtful: numbers from before it joined, which it is owed if it did not wait for the answer.
    sent_again: the last number that was sent again as it was late, 0 if there is none.
    """

    __slots__ = (
        "doubtful", "filters", "is_fresh", "last_owed", "pending", "progress_us", "sent_again",
    )  # fmt: skip

    def __init__(self, now_us: int) -> None:
        self.filters: tuple[Filter, ...] = ()
        # A list, as it is short mostly and there are many members; in order.
        self.pending: list[int] = []
        self.doubtful: tuple[int, ...] = ()
        self.last_owed = NOTHING_OWED
        self.is_fresh = True
        self.progress_us = now_us
        self.sent_again = 0


class OutgoingStream:
    """One topic's stream: its log, and who still waits for what.

    sent: up to here, publications were handed to the overlay.
    checked: up to here, members were read from the directory after the publication was taken.
    wanted: what the members were last brought in line with.
    questions: brokers that ask whether they must wait for a number.
    """

    __slots__ = (
        "announced_us",
        "announcing",
        "checked",
        "is_checking",
        "is_open",
        "log",
        "members",
        "number",
        "owed_counts",
        "qos0",
        "questions",
        "read_us",
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
        self.members: dict[str, Member] = {}
        self.wanted: Wanted | None = None


def widen(
    stream: OutgoingStream, name: str, filters: tuple[Filter, ...], now_us: int
) -> tuple[Member, list[int]]:
    """A broker turns out to want something, or something else.

    Returns its member, and which numbers were sent without it and are not checked.
    """
    member = stream.members.get(name)
    skipped = _unchecked(stream)
    if member is None:
        member = stream.members[name] = Member(now_us)
    elif skipped:
        skipped = [n for n in skipped if not is_for(member, stream.log[n])]
    member.filters = filters
    if skipped:
        skipped = [n for n in skipped if is_for(member, stream.log[n])]
    return member, skipped


def owe(stream: OutgoingStream, member: Member, number: int, now_us: int) -> int:
    """Owe a number to a member; returns what it must have before."""
    if member.pending:
        before = member.pending[-1]
    else:
        before = NOTHING_OWED if member.is_fresh else member.last_owed
        member.progress_us = now_us
    member.pending.append(number)
    member.last_owed = number
    stream.owed_counts[number] += 1
    return before


def settle(stream: OutgoingStream, member: Member, number: int) -> list[int]:
    """A member has all up to a number; returns those of it that nobody is owed any more."""
    pending, owed_counts = member.pending, stream.owed_counts
    count = bisect_right(pending, number)
    safe = []
    for one in pending[:count]:
        owed_count = owed_counts[one] = owed_counts[one] - 1
        if not owed_count:
            safe.append(one)
    del pending[:count]
    return safe


def owe_late(stream: OutgoingStream, member: Member, numbers: Iterable[int]) -> None:
    """Owe a member numbers that were sent before; it must hear exactly what it is owed."""
    found = sorted({*numbers} - {*member.pending})
    for number in found:
        stream.owed_counts[number] += 1
    member.pending = sorted((*member.pending, *found))
    member.is_fresh = True


def doubt(stream: OutgoingStream, member: Member, numbers: Iterable[int]) -> None:
    """Keep numbers that a member may turn out to be owed."""
    found = {*numbers} - {*member.doubtful}
    for number in found:
        stream.owed_counts[number] += 1
    member.doubtful = tuple(sorted((*member.doubtful, *found)))


def undoubt(stream: OutgoingStream, member: Member) -> tuple[int, ...]:
    """Keep them no longer for that; returns which they were."""
    doubtful, member.doubtful = member.doubtful, ()
    for number in doubtful:
        stream.owed_counts[number] -= 1
    return doubtful


def is_for(member: Member, publication: Publication) -> bool:
    """True unless all filters of a member ask for other content."""
    topic, properties = publication.topic, publication.properties
    return not member.filters or any(matches(one, topic, properties) for one in member.filters)


def are_unread(streams: Iterable[OutgoingStream]) -> bool:
    """True if of some stream it is not known yet who is owed what is kept of it."""
    return any(stream.log and not stream.is_open for stream in streams)


def owed_to_any(
    brokers: tuple[str, ...], stream: OutgoingStream, wanted: Filter
) -> list[tuple[int, Publication]]:
    """What any of some brokers is owed that a filter takes, with its numbers."""
    numbers = sorted({number for broker in brokers for number in owed_to(broker, stream)})
    found = [(number, stream.log[number]) for number in numbers]
    return [(n, one) for n, one in found if matches(wanted, one.topic, one.properties)]


def owed_to(broker: str, stream: OutgoingStream) -> list[int]:
    """The numbers that a broker is owed, those not yet sent included."""
    member = stream.members.get(broker)
    if member is None:
        return []
    unsent = (number for number in stream.log if number > stream.sent)
    return [*member.pending, *(n for n in unsent if is_for(member, stream.log[n]))]


def answerable(stream: OutgoingStream) -> list[tuple[str, int]]:
    """Questions to be answered: nothing up to their number is owed any more; they are taken out.

    So are those for a number that is owed itself, which comes without an answer.
    """
    found = []
    for peer, number in list(stream.questions):
        is_known = stream.checked >= number and stream.is_open
        # Nobody waits for what is not kept, though a crash may have closed the stream.
        if not is_known and any(kept <= number for kept in stream.log):
            continue
        owed = [one for one in owed_to(peer, stream) if one <= number]
        if not owed:
            found.append((peer, number))
        if not owed or owed[-1] == number:
            del stream.questions[peer, number]
    return found


def standing_of(
    peer: str,
    streams: Mapping[str, OutgoingStream],
    question: StandingQuestion,
    own: Mapping[str, list[int]] | None,
) -> Standing:
    """Up to where a broker is owed something of streams, and up to where they were sent.

    own: what waits by topic at the broker itself, if it is the origin, to which all was sent.
    """
    owed = own or {topic: owed_to(peer, stream) for topic, stream in streams.items()}
    points = tuple((topic, max(numbers)) for topic, numbers in owed.items() if numbers)
    sent = tuple(
        (topic, stream.sent if own is None else stream.number)
        for topic, stream in streams.items()
        if topic == question.key or peer in stream.members
    )
    return Standing(question.serial, points, sent)


def _unchecked(stream: OutgoingStream) -> list[int]:
    """The numbers that were sent before it was read who wants them."""
    if stream.checked >= stream.sent:
        return []
    latest = takewhile(lambda number: number > stream.checked, reversed(stream.log))
    return sorted(number for number in latest if number <= stream.sent)
