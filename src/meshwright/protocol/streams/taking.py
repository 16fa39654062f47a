"""Finds again, after a crash, the order in which a broker took the publications that it keeps.

On disk are the numbers of each stream and the sequences of each publisher. Both are parts of the
order in which the broker took all publications.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from meshwright.model.publication import Publication

# A number in its stream, and the publication that has it.
Numbered = tuple[int, Publication]


def in_order_of_taking(kept: Iterable[Numbered]) -> list[Numbered]:
    """The publications, each after those before it in its stream and of its publisher."""
    streams: dict[str, deque[Numbered]] = {}
    lines: dict[str, deque[int]] = {}
    for one in sorted(kept, key=lambda item: item[0]):
        streams.setdefault(one[1].topic, deque()).append(one)
        lines.setdefault(one[1].publisher, deque()).append(one[1].sequence)
    lines = {publisher: deque(sorted(line)) for publisher, line in lines.items()}
    waiting: dict[str, list[str]] = {}
    ready = deque(streams)
    found: list[Numbered] = []
    while ready:
        topic = ready.popleft()
        stream = streams[topic]
        while stream:
            publication = stream[0][1]
            line = lines[publication.publisher]
            if line[0] != publication.sequence:
                waiting.setdefault(publication.publisher, []).append(topic)
                break
            found.append(stream.popleft())
            line.popleft()
            ready.extend(waiting.pop(publication.publisher, ()))
    # Where sequences contradict numbers there is no such order; nothing is left out, though.
    return [*found, *(one for stream in streams.values() for one in stream)]


def may_wait(kept: Iterable[Numbered], last_of: Callable[[str], int]) -> Iterator[Numbered]:
    """Publications that local sessions may not have got, as they waited for points elsewhere.

    All others were queued in the same batch in which they were taken.
    """
    kept = list(kept)
    if not any(publication.after for _, publication in kept):
        return
    topics: set[str] = set()
    publishers: set[str] = set()
    for number, publication in in_order_of_taking(kept):
        topic, publisher = publication.topic, publication.publisher
        if number <= last_of(topic):
            continue
        if publication.after or topic in topics or publisher in publishers:
            topics.add(topic)
            publishers.add(publisher)
            yield number, publication
