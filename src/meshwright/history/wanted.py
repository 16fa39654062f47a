"""Which subscriptions of a history match a publication."""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.filters.filter import parse_filter
from meshwright.filters.index import FilterIndex
from meshwright.history.history import Properties, Subscribed


class Wanted:
    """Subscriptions by what they match."""

    def __init__(self, subscriptions: Iterable[Subscribed]) -> None:
        self._subscriptions = list(subscriptions)
        self._index: FilterIndex[int] = FilterIndex()
        for number, subscription in enumerate(self._subscriptions):
            self._index.add(number, parse_filter(subscription.filter_text))

    def by(self, topic: str, properties: Properties) -> list[Subscribed]:
        """The subscriptions that match, in the order in which they were made."""
        return [self._subscriptions[number] for number, _ in self._index.match(topic, properties)]


def wanted_by_client(subscriptions: Iterable[Subscribed]) -> dict[str, Wanted]:
    """The same for each client alone."""
    found: dict[str, list[Subscribed]] = {}
    for subscription in subscriptions:
        found.setdefault(subscription.client, []).append(subscription)
    return {client: Wanted(own) for client, own in found.items()}


def group_of(subscription: Subscribed) -> str | None:
    """The group of a shared subscription."""
    return parse_filter(subscription.filter_text).group
