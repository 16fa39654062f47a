"""What speaks against a plan: what carrying it out takes, what gets worse, how old its data is."""

from __future__ import annotations

import math

import msgspec

from meshwright.model.times import SECOND_US
from meshwright.model.wording import amount, amounts, counted


class WorseMetric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A figure of the whole network that gets worse; k_held gets worse by falling."""

    metric: str
    before: float
    after: float


class WorseTopic(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A topic that gets worse: messages of one publication, and mean delays of its deliveries.

    Where deliveries are missed, messages are those that all of them would take at the same price.
    Milliseconds are None where no delays between brokers are known.
    """

    topic: str
    messages_before: float
    messages_after: float
    delay_hops_before: float
    delay_hops_after: float
    delay_ms_before: float | None = None
    delay_ms_after: float | None = None


# What people call the metrics of an evaluation, and of a price.
METRIC_WORDS = {
    "price": "the price of a publication",
    "messages_per_publication": "messages of a publication",
    "messages_external": "messages to brokers that only relay",
    "delay_hops_mean": "hops of a delivery",
    "delay_ms_mean": "milliseconds of a delivery",
    "management_messages_mean": "messages of a broker's subscription",
    "degree_mean": "links of a broker",
    "degree_max": "links of the broker that has most",
    "diameter_max": "hops across a topic at most",
    "load_spread": "the spread of work over brokers",
    "deliveries_missed": "deliveries that are missed",
    "k_held": "deaths of brokers that part a topic",
}


class Objections(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What in a plan would be a reason to reject it.

    clients_reconnecting: clients that must connect to another broker. move_messages: the price of
    the change. move_s: how long it takes to move those clients, if each broker sends clients_per_s
    away; 0: all at once.
    topics: the worst few of the worse_topic_count topics that get worse.
    data_until_us: the time of the last thing that the plan knows of; None where that has no time.
    """

    clients_reconnecting: int
    move_messages: float
    move_s: float
    clients_per_s: float
    metrics: tuple[WorseMetric, ...]
    topics: tuple[WorseTopic, ...]
    worse_topic_count: int
    data_until_us: int | None = None

    def sentences(self, now_us: int, *, is_first: bool = False) -> tuple[str, ...]:
        """The same for people, at a time by which the age of the data is counted.

        is_first: nothing stands before the plan that could get worse.
        """
        is_silent = is_first or self.metrics or self.topics
        return (
            self._change(),
            *([_worse("The network", self.metrics)] if self.metrics else []),
            *(self._topics() if self.topics else []),
            *([] if is_silent else ["No metric and no topic gets worse."]),
            *([] if self.data_until_us is None else [_age(now_us - self.data_until_us)]),
        )

    def _change(self) -> str:
        takes = f"The change takes {amount(self.move_messages)} messages"
        if not self.clients_reconnecting:
            return f"{takes}; no client must connect anew."
        clients = counted(self.clients_reconnecting, "client")
        pace = f"{self.clients_per_s:g} a second from a broker" if self.clients_per_s else "once"
        return (
            f"{takes}; {clients} must connect to another broker, which takes about "
            f"{_duration(self.move_s)} at {pace}."
        )

    def _topics(self) -> tuple[str, ...]:
        counts = counted(self.worse_topic_count, "topic")
        verb = "gets" if self.worse_topic_count == 1 else "get"
        more = ", the worst of them" if self.worse_topic_count > len(self.topics) else ""
        return (f"{counts} {verb} worse{more}:", *map(_topic, self.topics))


def _worse(who: str, metrics: tuple[WorseMetric, ...]) -> str:
    figures = (
        f"{METRIC_WORDS.get(one.metric, one.metric)} from {_to(one.before, one.after)}"
        for one in metrics
    )
    return f"{who} gets worse in {', '.join(figures)}."


def _topic(one: WorseTopic) -> str:
    parts = [
        _part("", one.messages_before, one.messages_after, "messages a publication"),
        _part("delay ", one.delay_hops_before, one.delay_hops_after, "hops"),
    ]
    if one.delay_ms_before is not None and one.delay_ms_after is not None:
        parts.append(_part("", one.delay_ms_before, one.delay_ms_after, "ms"))
    return f"  {one.topic}: {', '.join(parts)}"


def _part(what: str, before: float, after: float, unit: str) -> str:
    if math.isclose(before, after):
        return f"{what}{amount(before)} {unit} as before"
    return f"{what}{_to(before, after)} {unit}"


def _to(before: float, after: float) -> str:
    return " to ".join(amounts(before, after))


def _age(age_us: int) -> str:
    return f"Its data ends {_duration(max(age_us, 0) / SECOND_US)} ago."


def _duration(seconds: float) -> str:
    """A span of time in the largest unit that it fills."""
    for unit_s, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * unit_s:
            return counted(round(seconds / unit_s), unit)
    return f"{seconds:.3g} s"
