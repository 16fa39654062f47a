"""Which sessions get a publication, found once for each topic where possible."""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.filters.filter import Filter
from meshwright.filters.index import FilterIndex
from meshwright.model.publication import Publication
from meshwright.protocol.foundation.rights import Rights
from meshwright.protocol.mqtt.packets import Subscription
from meshwright.protocol.sessions.retained_replay import RetainedReplay
from meshwright.protocol.sessions.session import Recipient, Session, recipient_of

TOPICS_MAX = 65_536


class Recipients:
    """The filters of all sessions of one broker, those of groups apart.

    A topic's recipients are remembered unless they depend on the message: on its properties, its
    publisher, or an earlier retained message. Every change of a subscription or of rights makes
    them void.
    """

    def __init__(self, looks: RetainedReplay, rights: Rights | None) -> None:
        self._looks = looks
        self._rights = rights
        self._index: FilterIndex[Session] = FilterIndex()
        self._by_topic: dict[str, tuple[Recipient, ...]] = {}
        self.change_count = 0

    def add(self, session: Session, wanted: Filter) -> None:
        """A session has a filter that it had not before."""
        self._index.add(session, wanted)
        self.changed()

    def discard(self, session: Session, wanted: Filter) -> None:
        """A session has a filter no more."""
        self._index.discard(session, wanted)
        self.changed()

    def changed(self) -> None:
        """A subscription or a client's rights changed: forget all that is remembered."""
        self.change_count += 1
        self._by_topic.clear()

    def plain(self, publisher: str, topic: str) -> tuple[Recipient, ...] | None:
        """The recipients of a publisher's messages without properties, until something changes.

        None if it depends on what was retained before.
        """
        if self._looks.in_flight:
            return None
        known = self._by_topic.get(topic)
        return self.of(Publication(publisher, 0, topic)) if known is None else known

    def of(self, publication: Publication) -> tuple[Recipient, ...]:
        """The sessions that get a publication, in the order in which they subscribed."""
        topic = publication.topic
        known = self._by_topic.get(topic)
        if known is not None and not self._looks.in_flight:
            return known
        pairs, asks_content = self._index.look_up(topic, publication.properties)
        is_lasting = not self._looks.in_flight and not asks_content
        found: dict[Session, list[Subscription]] = {}
        for session, wanted in self._readable(topic, pairs):
            text = str(wanted)
            subscription = session.subscriptions[text]
            if subscription.no_local:
                is_lasting = False
                if session.has_sent(publication):
                    continue
            if self._looks.passes(session.client, text, publication):
                found.setdefault(session, []).append(subscription)
        recipients = tuple(recipient_of(session, granted) for session, granted in found.items())
        if is_lasting:
            if len(self._by_topic) >= TOPICS_MAX:
                self._by_topic.clear()
            self._by_topic[topic] = recipients
        return recipients

    def clients(self, publication: Publication) -> tuple[str, ...]:
        """The clients whose filters match a publication, each once."""
        pairs = self._index.match(publication.topic, publication.properties)
        return tuple(dict.fromkeys(session.client for session, _ in pairs))

    def _readable(
        self, topic: str, pairs: tuple[tuple[Session, Filter], ...]
    ) -> Iterable[tuple[Session, Filter]]:
        """Those that may read a topic."""
        rights = self._rights
        if rights is None:
            return pairs
        return [pair for pair in pairs if rights.may_read(pair[0].client, topic)]
