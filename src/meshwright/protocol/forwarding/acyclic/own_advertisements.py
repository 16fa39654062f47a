"""The advertisements of one origin: what it publishes, by topic or by topic and content.

An advertisement is a filter without wildcards. Without clauses it stands for all messages on its
topic; with clauses for those whose user properties are just these, and no others. An origin finds
out by itself what it publishes: it advertises each content that it meets, and the whole topic once
there are too many of them. [mobility, 2]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from meshwright.filters.clauses import CLAUSES_MAX, Clause, clauses_hold
from meshwright.filters.covering import intersects
from meshwright.filters.filter import Filter
from meshwright.filters.values import values_by_attribute
from meshwright.model.publication import Publication

Filters = tuple[Filter, ...]


class OwnAdvertisements:
    """What the clients of one broker have published so far; contents_max: of one topic."""

    __slots__ = ("_by_topic", "_contents_max")

    def __init__(self, contents_max: int, known: Mapping[str, Filters] | None = None) -> None:
        self._contents_max = contents_max
        self._by_topic: dict[str, Filters] = dict(known or {})

    def note(self, publication: Publication) -> tuple[Filters, Filters] | None:
        """What to advertise and what to take back; None if a publication is advertised."""
        topic = publication.topic
        known = self._by_topic.get(topic, ())
        new = self._advertisement(publication)
        if new in known or Filter(topic) in known:
            return None
        if new.clauses and len(known) < self._contents_max:
            self._by_topic[topic] = (*known, new)
            return (new,), ()
        self._by_topic[topic] = whole = (Filter(topic),)
        return whole, known

    def known_but(self, topics: Iterable[str]) -> dict[str, Filters]:
        """The advertisements of all but some topics."""
        left_out = frozenset(topics)
        return {topic: one for topic, one in self._by_topic.items() if topic not in left_out}

    def _advertisement(self, publication: Publication) -> Filter:
        properties = tuple(publication.properties)
        attributes = {attribute for attribute, text in properties if attribute and text}
        # What no clauses can say is advertised as any content of its topic.
        if not self._contents_max or not 0 < len(attributes) == len(properties) <= CLAUSES_MAX:
            return Filter(publication.topic)
        clauses = (Clause(attribute, "=", text) for attribute, text in properties)
        return Filter(publication.topic, tuple(sorted(clauses)))


def may_send(advertisement: Filter, wanted: Filter) -> bool:
    """True if some message that an advertisement stands for matches a filter."""
    if not intersects(advertisement, wanted):
        return False
    if not advertisement.clauses or not wanted.clauses:
        return True
    properties = tuple((one.attribute, one.operand) for one in advertisement.clauses)
    return clauses_hold(wanted.clauses, values_by_attribute(properties))
