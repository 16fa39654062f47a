"""What has crossed between two brokers, by the numbers of their conversation.

Two brokers each note, at a moment of their own, how far their conversation was. Compared, the notes
say whether what one had told the other was exactly what the other had heard, though nobody asked
the two at the same time: a message that was under way shows in the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from meshwright.protocol.peers.conversations import Progress


class PeerMark(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How far a conversation was at a moment.

    own and theirs name the two halves of the conversation; sent and received are the numbers of the
    last messages; told and heard those of the last messages that matter, 0 if there was none.
    """

    own: int
    sent: int
    told: int
    theirs: int
    received: int
    heard: int


Marks = dict[str, PeerMark]


class ConversationMarks:
    """Notes which messages told or heard what changes an overlay, by its epoch and by peer."""

    def __init__(self, progress: Callable[[str], Progress]) -> None:
        self._progress = progress
        self._told: dict[int, dict[str, int]] = {}
        self._heard: dict[int, dict[str, int]] = {}

    def told(self, epoch: int, peer: str) -> None:
        """The last message to a peer told it something."""
        self._told.setdefault(epoch, {})[peer] = self._progress(peer).sent

    def heard(self, epoch: int, peer: str) -> None:
        """The last message of a peer told something."""
        self._heard.setdefault(epoch, {})[peer] = self._progress(peer).received

    def forget(self, peer: str) -> None:
        """A conversation begins anew."""
        for notes in (*self._told.values(), *self._heard.values()):
            notes.pop(peer, None)

    def drop_older(self, epoch: int) -> None:
        """Overlays before this epoch do not matter any more."""
        for notes in (self._told, self._heard):
            for older in [one for one in notes if one < epoch]:
                del notes[older]

    def marks(self, epoch: int) -> Marks:
        """How far everything is that matters for an overlay."""
        told, heard = self._told.get(epoch, {}), self._heard.get(epoch, {})
        return {
            peer: marked(self._progress(peer), told.get(peer, 0), heard.get(peer, 0))
            for peer in sorted({*told, *heard})
        }


def marked(progress: Progress, told: int, heard: int) -> PeerMark:
    """The mark of a conversation that is at a progress."""
    return PeerMark(progress.own, progress.sent, told, progress.theirs, progress.received, heard)


def torn_pairs(marks: Mapping[str, Marks]) -> list[tuple[str, str]]:
    """Pairs of brokers of which one may not have heard what the other had told, by their marks."""
    torn = {
        (min(teller, hearer), max(teller, hearer))
        for teller, others in marks.items()
        for hearer, mark in others.items()
        if hearer in marks and not _is_whole(mark, marks[hearer].get(teller))
    }
    return sorted(torn)


def late_hearers(marks: Mapping[str, Marks]) -> list[str]:
    """Brokers that had not received all that mattered when they made their marks."""
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
    """Whether each of two had heard exactly what the other had told."""
    if other is None:
        return not (one.told or one.heard)
    return _is_heard(one, other) and _is_heard(other, one)


def _is_heard(teller: PeerMark, hearer: PeerMark) -> bool:
    if not (teller.told or hearer.heard):
        return True
    is_same = teller.own == hearer.theirs
    return is_same and hearer.received >= teller.told and hearer.heard <= teller.sent


def _has_arrived(teller: PeerMark, hearer: PeerMark | None) -> bool:
    """Whether what was told is there, or is void as the conversation ended."""
    if not teller.told:
        return True
    return hearer is not None and (teller.own != hearer.theirs or hearer.received >= teller.told)
