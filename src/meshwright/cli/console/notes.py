"""What whoever reads an answer must know of the subscriptions and publications behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from meshwright.model.wording import counted

if TYPE_CHECKING:
    from meshwright.model.snapshot import Snapshot


class Notes(NamedTuple):
    """content_subscriptions: those that ask for content, and count as if they took every message.

    topics_unwanted: topics that are published and that nobody wants. filters_idle: those that
    take none of the topics, or None where nobody looked.
    """

    content_subscriptions: int
    topics_unwanted: int
    filters_idle: int | None = None

    def document(self) -> dict[str, int]:
        """For a script."""
        return {name: count for name, count in self._asdict().items() if count is not None}

    def sentences(self) -> list[str]:
        """For people; none where there is nothing to say."""
        told = []
        if self.content_subscriptions:
            ask = counted(self.content_subscriptions, "subscription asks", "subscriptions ask")
            told.append(
                f"{ask} for content: the share of messages that match is not known, so that all "
                "count."
            )
        if self.topics_unwanted:
            are = counted(self.topics_unwanted, "published topic is", "published topics are")
            cost = "it costs on its way" if self.topics_unwanted == 1 else "they cost on their way"
            told.append(f"{are} wanted by nobody; what {cost} is counted.")
        if self.filters_idle:
            take = counted(self.filters_idle, "filter takes", "filters take")
            told.append(f"{take} no topic that is known here; compare the spelling of both.")
        return told


def notes_on(snapshot: Snapshot) -> Notes:
    """What there is to know of a snapshot."""
    return Notes(snapshot.content_subscriptions, snapshot.topics_unwanted, snapshot.filters_idle)
