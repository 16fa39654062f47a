"""Who is where and wants what, by what was told: the order in which it is told counts for nothing.

Of each client at each broker, and of each topic that a client wants, the last word is kept with its
time, an end as well as a beginning, so that what comes late finds whether it is still news. A
statement is a floor: what was said before it, and not again with it, holds no longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

Word = tuple[int, bool]  # when, and whether something began or ended; of one time, it began last


class Event(NamedTuple):
    """A client wants a topic or is at a broker from now on, or no longer; or a statement.

    state: a broker (client) has named all who are connected to it. tell: what a client (client)
    wants was told, all of it.
    """

    time_us: int
    kind: Literal["want", "host", "tell", "state"]
    client: str
    other: str = ""
    is_on: bool = True


class Picture(msgspec.Struct):
    """Some clients: wants by client and topic, hosts by client and broker; floors told and stated.

    told: since when all wants of a client are known, stated: all clients of a broker.
    """

    wants: dict[str, dict[str, Word]] = {}
    hosts: dict[str, dict[str, Word]] = {}
    told: dict[str, int] = {}
    stated: dict[str, int] = {}

    def apply(self, event: Event) -> None:
        """Take in one event, whatever came before."""
        time_us, kind, name, other, is_on = event
        if kind == "want":
            _say(self.wants.setdefault(name, {}), other, (time_us, is_on))
        elif kind == "host":
            _say(self.hosts.setdefault(name, {}), other, (time_us, is_on))
        elif kind == "tell":
            self.told[name] = max(time_us, self.told.get(name, 0))
        else:
            self.stated[name] = max(time_us, self.stated.get(name, 0))

    def host(self, client: str) -> str | None:
        """The broker that a client came to last and has not left."""
        standing = [
            (time_us, broker)
            for broker, (time_us, is_on) in self.hosts.get(client, {}).items()
            if is_on and time_us >= self.stated.get(broker, 0)
        ]
        return max(standing)[1] if standing else None

    def wanted(self) -> Iterator[tuple[str, str]]:
        """Brokers and the topics or filters that their clients want, perhaps several times."""
        for client, topics in self.wants.items():
            broker = self.host(client)
            if broker is None:
                continue
            floor_us = self.told.get(client, 0)
            for topic, (time_us, is_on) in topics.items():
                if is_on and time_us >= floor_us:
                    yield broker, topic

    def forget(self, before_us: int, lost: set[str]) -> None:
        """Drop what cannot matter any more.

        That is ends from before a time, as nothing so old is taken any more, what floors have
        overruled, clients of brokers that are lost, and who has been away since before that time.
        """
        for client in self.wants.keys() | self.hosts.keys() | self.told.keys():
            hosts = {
                broker: word
                for broker, word in self.hosts.pop(client, {}).items()
                if word[0] >= max(self.stated.get(broker, 0), 0 if word[1] else before_us)
                and broker not in lost
            }
            told_us = self.told.pop(client, 0)
            wants = {
                topic: word
                for topic, word in self.wants.pop(client, {}).items()
                if word[0] >= max(told_us, 0 if word[1] else before_us)
            }
            is_away = not any(is_on for _, is_on in hosts.values())
            if is_away and all(time_us < before_us for time_us, _ in wants.values()):
                wants = {}
            if hosts:
                self.hosts[client] = hosts
            if wants:
                self.wants[client] = wants
            if told_us >= before_us:
                self.told[client] = told_us
        self.stated = {broker: at_us for broker, at_us in self.stated.items() if broker not in lost}


def _say(words: dict[str, Word], name: str, word: Word) -> None:
    known = words.get(name)
    if known is None or known < word:
        words[name] = word
