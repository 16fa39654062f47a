"""The seen log: publications that came here lately, which sessions that move here leave out.

It is kept if the logging policy is on.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

from msgspec.structs import replace

from meshwright.model.publication import Publication, PublicationId
from meshwright.protocol.sessions.session import Waiting
from meshwright.protocol.sessions.session_state import SessionState


class SeenLog:
    """The last publications that came to this broker, whoever wanted them."""

    def __init__(self, length_max: int) -> None:
        self._length_max = length_max
        self._seen: dict[PublicationId, Publication] = {}

    def note(self, publication: Publication) -> None:
        """Note a publication that came; the oldest is dropped."""
        seen = self._seen
        seen[publication.publication_id] = publication
        if len(seen) > self._length_max:
            del seen[next(iter(seen))]

    def known(self, ids: Iterable[PublicationId]) -> dict[PublicationId, Publication]:
        """Those of the named publications that are in the log."""
        return {event: self._seen[event] for event in ids if event in self._seen}


def stored_ids(waiting: Iterable[Waiting]) -> tuple[PublicationId, ...]:
    """The waiting publications that other brokers may have seen: those of a stream."""
    return tuple(one.publication.publication_id for one in waiting if one.number)


def sifted(session_state: SessionState, seen: Container[PublicationId]) -> SessionState:
    """The session with only the names of publications that its receiver has seen."""

    def sift(one: Waiting) -> Waiting:
        publication = one.publication
        if not one.number or publication.publication_id not in seen:
            return one
        return replace(one, publication=Publication(*publication.publication_id, topic=""))

    return _with_each(session_state, sift)


def filled(session_state: SessionState, seen: dict[PublicationId, Publication]) -> SessionState:
    """The session with the publications that its sender left out."""

    def fill(one: Waiting) -> Waiting:
        if one.publication.topic:
            return one
        return replace(one, publication=seen[one.publication.publication_id])

    return _with_each(session_state, fill)


def _with_each(session_state: SessionState, change: Callable[[Waiting], Waiting]) -> SessionState:
    return replace(
        session_state,
        queue=tuple(change(one) for one in session_state.queue),
        in_flight=tuple(
            (packet_id, is_released, change(one))
            for packet_id, is_released, one in session_state.in_flight
        ),
    )
