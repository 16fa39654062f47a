"""Marks: how far two brokers' conversation was, to find out what one had not received.

Each of two brokers notes, at a moment of its own, the numbers of the last messages that it sent to
and received from the other. Compared, the two marks tell whether one had received exactly what the
other had sent; a message in flight at that moment shows as a difference. The coordinator compares
the marks of Ready and of Drained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from meshwright.protocol.peers.conversations import Progress


class PeerMark(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How far the conversation with one peer was at a moment.

    own, theirs: the generations of the conversation's two halves.
    sent, received: the numbers of the last messages sent and received.
    told, heard: the same of the last messages that matter for the overlay; 0 if there was none.
    """

    own: int
    sent: int
    told: int
    theirs: int
    received: int
    heard: int


Marks = dict[str, PeerMark]


class ConversationMarks:
    """Notes, by epoch and peer, the last messages that changed what is known on an overlay."""

    def __init__(self, progress: Callable[[str], Progress]) -> None:
        self._progress = progress
        self._told: dict[int, dict[str, int]] = {}
        self._heard: dict[int, dict[str, int]] = {}

    def told(self, epoch: int, peer: str) -> None:
        """The last message sent to a peer changed what it knows on the overlay of an epoch."""
        self._told.setdefault(epoch, {})[peer] = self._progress(peer).sent

    def heard(self, epoch: int, peer: str) -> None:
        """The last message of a peer changed what this broker knows on the overlay of an epoch."""
        self._heard.setdefault(epoch, {})[peer] = self._progress(peer).received

    def forget(self, peer: str) -> None:
        """Forget a peer's numbers, as the conversation with it began anew."""
        for notes in (*self._told.values(), *self._heard.values()):
            notes.pop(peer, None)

    def drop_older(self, epoch: int) -> None:
        """Forget the numbers for overlays before this epoch."""
        for notes in (self._told, self._heard):
            for older in [one for one in notes if one < epoch]:
                del notes[older]

    def marks(self, epoch: int) -> Marks:
        """The marks for an overlay, by peer."""
        told, heard = self._told.get(epoch, {}), self._heard.get(epoch, {})
        return {
            peer: marked(self._progress(peer), told.get(peer, 0), heard.get(peer, 0))
            for peer in sorted({*told, *heard})
        }


def marked(progress: Progress, told: int, heard: int) -> PeerMark:
    """Make a mark of a conversation's progress and the last numbers that matter."""
    return PeerMark(progress.own, progress.sent, told, progress.theirs, progress.received, heard)


def torn_pairs(marks: Mapping[str, Marks]) -> list[tuple[str, str]]:
    """Pairs of brokers of which one may have missed a message of the other, by their marks."""
    torn = {
        (min(teller, hearer), max(teller, hearer))
        for teller, others in marks.items()
        for hearer, mark in others.items()
        if hearer in marks and not _is_whole(mark, marks[hearer].get(teller))
    }
    return sorted(torn)


def late_hearers(marks: Mapping[str, Marks]) -> list[str]:
    """Brokers that had not received every message that matters when they made their marks."""
    return [
        hearer
        for hearer, theirs in sorted(marks.items())
        if any(
            not _has_arrived(others[hearer], theirs.get(teller))
            for teller, others in marks.items()
            if hearer in others
        )
    ]


def _is_whole(one: PeerMark, other: PeerMark | None) -> bool:
    """True if each of two brokers had received exactly what the other had told."""
    if other is None:
        return not (one.told or one.heard)
    return _is_heard(one, other) and _is_heard(other, one)


def _is_heard(teller: PeerMark, hearer: PeerMark) -> bool:
    """True if the hearer had received all that the teller had told, and nothing told later."""
    if not (teller.told or hearer.heard):
        return True
    is_same = teller.own == hearer.theirs
    return is_same and hearer.received >= teller.told and hearer.heard <= teller.sent


def _has_arrived(teller: PeerMark, hearer: PeerMark | None) -> bool:
    """True if the hearer has what was told, or it is void because the conversation ended."""
    if not teller.told:
        return True
    return hearer is not None and (teller.own != hearer.theirs or hearer.received >= teller.told)
