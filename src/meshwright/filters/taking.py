"""Which topics do subscriptions take: planning's question, asked of all of them at once.

Most subscriptions are the name of one topic, and take it whether or not anybody publishes to it.
The others take what is known of topics: those that have a wildcard, are shared or ask for content.
What is no valid filter takes nothing, as no broker accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from meshwright.errors import FilterError
from meshwright.filters.filter import SHARE_PREFIX, Filter, parse_filter
from meshwright.filters.index import FilterIndex
from meshwright.filters.names import TopicNames

# Subscriptions that are not the name of one topic, those that a group has together, and those that
# ask for content; the patterns mean the same to Spark.
SEVERAL = r"^\$(share|where)/|(^|/)[+#](/|$)"
SHARED = r"^\$share/"
CONTENT = r"^(\$share/[^/]*/)?\$where/"
# What stands before the topic filter, of filters that brokers accept.
PREFIX = r"^(\$share/[^/+#]+/)?(\$where/[^/]*[<=>][^/]*/)?"
_several = re.compile(SEVERAL)
_content = re.compile(CONTENT)
_prefix = re.compile(PREFIX)


def names_one_topic(subscription: str) -> bool:
    """Whether a subscription is the name of a topic, for a client of its own, whatever it says."""
    return _several.search(subscription) is None


def asks_content(subscription: str) -> bool:
    """Whether a subscription takes only some messages of its topics."""
    return _content.search(subscription) is not None


def is_shared(subscription: str) -> bool:
    """Whether a group of clients has the subscription together; each message goes to one."""
    return subscription.startswith(SHARE_PREFIX)


def topics_taken(subscriptions: Iterable[str], topics: Iterable[str]) -> dict[str, list[str]]:
    """The topics that each subscription takes, sorted; content is not looked at."""
    names = TopicNames(topics)
    return {text: taken_of(text, names) for text in subscriptions}


def taken_of(subscription: str, names: TopicNames) -> list[str]:
    """The topics that one subscription takes, sorted."""
    if names_one_topic(subscription):
        return [subscription]
    wanted = _parsed(subscription)
    return [] if wanted is None else sorted(names.taken_by(wanted))


def index_of(subscriptions: Iterable[str]) -> FilterIndex[str]:
    """An index of subscriptions that are not names of topics, to ask for many topics."""
    index: FilterIndex[str] = FilterIndex()
    for text in subscriptions:
        wanted = _parsed(text)
        if wanted is not None:
            index.add(text, wanted)
    return index


def pairs_taken(
    holdings: Iterable[tuple[str, str]], topics: Iterable[str] = ()
) -> list[tuple[str, str]]:
    """Pairs of a holder and a topic that one of its subscriptions takes, sorted.

    holdings: pairs of a holder and a subscription; of those that share one, the first alone has it.
    topics: those that are known beside the ones that somebody subscribes to by name.
    """
    held = _once_a_group(holdings)
    known = [topic for _, text in held if names_one_topic(topic := _prefix.sub("", text))]
    taken = topics_taken({text: None for _, text in held}, [*topics, *known])
    return sorted({(holder, topic) for holder, text in held for topic in taken[text]})


def _once_a_group(holdings: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    known: set[str] = set()
    kept = []
    for holder, subscription in holdings:
        if is_shared(subscription):
            if subscription in known:
                continue
            known.add(subscription)
        kept.append((holder, subscription))
    return kept


def _parsed(subscription: str) -> Filter | None:
    try:
        return parse_filter(subscription)
    except FilterError:
        return None
