"""interests.csv, rates.csv and delays.csv: who wants what, how often it comes, how far all are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from meshwright.errors import FilterError
from meshwright.files.tables import (
    Source,
    TableRow,
    read_table,
    table_bytes,
    table_fault,
    told_line,
)
from meshwright.files.writing import make_folder, write_whole
from meshwright.filters.filter import parse_filter
from meshwright.filters.taking import asks_content, names_one_topic, pairs_taken, topics_taken
from meshwright.filters.topics import check_topic_name
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import Interests, interests_from_pairs
from meshwright.model.snapshot import Float64Array, Snapshot

INTERESTS_COLUMNS = ("broker", "topic")
RATES_COLUMNS = ("topic", "publications")
PUBLISHING_BROKER = "broker"
DELAYS_COLUMNS = ("source", "target", "delay_ms")


@dataclass(frozen=True, slots=True, eq=False)
class InterestsFile:
    """What interests.csv says: topics may be filters.

    topic_lines: where each topic is first named, (topic,).
    """

    source: Source
    brokers: tuple[BrokerName, ...]
    topics: tuple[TopicName, ...]
    interests: Interests
    topic_lines: tuple[int, ...]

    def holdings(self) -> list[tuple[str, str]]:
        """Brokers and the topics or filters that they want, the brokers in their order."""
        pairs = zip(self.interests.row_of_pairs(), self.interests.columns, strict=True)
        return [(self.brokers[broker], self.topics[topic]) for broker, topic in pairs]


class Rate(NamedTuple):
    """Publications of a topic in the horizon, and the line that first says so.

    entering: publications by the broker where they enter; those of "" enter anywhere.
    """

    line: int
    entering: dict[str, float]

    @property
    def publications(self) -> float:
        return sum(self.entering.values())


def read_interests(source: Source, brokers: tuple[str, ...] | None = None) -> InterestsFile:
    """Who wants what; brokers and topics in the order of their first appearance.

    Where brokers are given (those of an overlay), their order holds, others are refused, and one
    that is not named in the file wants nothing.
    """
    broker_indexes = {name: index for index, name in enumerate(brokers or ())}
    topic_lines: dict[str, int] = {}
    topic_indexes: dict[str, int] = {}
    pair_lines: dict[tuple[int, int], int] = {}
    for row in read_table(source, INTERESTS_COLUMNS):
        broker, topic = row.name(0, "broker"), row.name(1, "topic")
        if topic not in topic_indexes:
            _check(row, topic, parse_filter, "no filter that a broker accepts")
        if brokers is not None and broker not in broker_indexes:
            raise row.fault(
                f"broker {broker!r} is not in the overlay", "use the overlay of these brokers"
            )
        pair = (
            broker_indexes.setdefault(broker, len(broker_indexes)),
            topic_indexes.setdefault(topic, len(topic_indexes)),
        )
        if pair in pair_lines:
            earlier = told_line(source, pair_lines[pair])
            raise row.fault(
                f"broker {broker!r} and topic {topic!r} stand on {earlier} already",
                "remove one of the two rows",
            )
        pair_lines[pair] = row.line
        topic_lines.setdefault(topic, row.line)
    if len(broker_indexes) < 2:
        raise table_fault(
            source,
            f"{next(iter(broker_indexes))!r} is the only broker",
            "an overlay needs at least two",
            min(pair_lines.values()),
        )
    rows, columns = np.array(list(pair_lines), dtype=np.int64).T
    return InterestsFile(
        source=source,
        brokers=tuple(BrokerName(name) for name in broker_indexes),
        topics=tuple(TopicName(name) for name in topic_indexes),
        interests=interests_from_pairs(rows, columns, len(broker_indexes), len(topic_indexes)),
        topic_lines=tuple(topic_lines.values()),
    )


def read_rates(source: Source) -> dict[str, Rate]:
    """Publications of each topic, in the order of the file."""
    rates: dict[str, Rate] = {}
    lines: dict[tuple[str, str], int] = {}
    for row in read_table(source, RATES_COLUMNS, optional=PUBLISHING_BROKER):
        topic = row.name(0, "topic")
        if topic not in rates:
            _check(row, topic, check_topic_name, "no topic that anybody publishes to")
        broker = row.name(2, "broker") if row.fields[2] else ""
        if (topic, broker) in lines:
            of = f" of broker {broker!r}" if broker else ""
            raise row.fault(
                f"topic {topic!r}{of} stands on {told_line(source, lines[topic, broker])} already",
                "remove one of the two rows",
            )
        lines[topic, broker] = row.line
        rate = rates.setdefault(topic, Rate(row.line, {}))
        rate.entering[broker] = row.amount(1, "publications")
    return rates


def _check(row: TableRow, text: str, check: Callable[[str], object], kind: str) -> None:
    """Refuse what brokers would refuse, at its row."""
    try:
        check(text)
    except FilterError as error:
        raise row.fault(f"{text!r} is {kind}: {error.problem}", error.remedy) from None


def read_delays(source: Source, brokers: tuple[BrokerName, ...]) -> Float64Array:
    """Milliseconds from each broker to each: (broker, broker).

    A way that is named in one direction only takes as long in the other.
    """
    numbers = {str(name): number for number, name in enumerate(brokers)}
    lines: dict[tuple[int, int], int] = {}
    delays_ms = np.full((len(brokers), len(brokers)), np.nan)
    for row in read_table(source, DELAYS_COLUMNS):
        names = (row.name(0, "source"), row.name(1, "target"))
        strangers = [name for name in names if name not in numbers]
        if strangers:
            raise row.fault(f"broker {strangers[0]!r} wants nothing", "remove the row")
        way = (numbers[names[0]], numbers[names[1]])
        if way in lines:
            raise row.fault(
                f"this way stands on {told_line(source, lines[way])} already",
                "remove one of the two rows",
            )
        lines[way] = row.line
        delays_ms[way] = row.amount(2, "delay_ms")
    delays_ms = np.where(np.isnan(delays_ms), delays_ms.T, delays_ms)
    np.fill_diagonal(delays_ms, 0.0)
    if bool(np.isnan(delays_ms).any()):
        one, other = np.argwhere(np.isnan(delays_ms))[0].tolist()
        raise table_fault(
            source,
            f"no delay from {brokers[one]!r} to {brokers[other]!r} is given",
            "add a row for each pair of brokers, in one direction at least",
        )
    return delays_ms


def read_snapshot(
    interests_source: Source,
    rates_source: Source | None = None,
    brokers: tuple[str, ...] | None = None,
    *,
    delays_source: Source | None = None,
) -> Snapshot:
    """The files, checked against each other; without rates every topic is published once.

    A filter among the interests takes the topics that have a rate or that somebody wants by name.
    A topic with a rate that nobody wants is normal.
    """
    file = read_interests(interests_source, brokers)
    rates = {} if rates_source is None else read_rates(rates_source)
    if rates_source is not None:
        _check_rates(file, rates_source, rates)
    pairs = pairs_taken(file.holdings(), rates)
    named = [topic for topic in file.topics if names_one_topic(topic)]
    topics = tuple(dict.fromkeys([*named, *(topic for _, topic in pairs), *rates]))
    if not topics:
        raise table_fault(
            interests_source,
            "no topic is known that these filters take",
            "name the topics that are published, in a file of rates",
            file.topic_lines[0],
        )
    publishing = dict.fromkeys(name for rate in rates.values() for name in rate.entering if name)
    if brokers is not None and rates_source is not None:
        _refuse_strangers(rates_source, rates, set(brokers))
    names = tuple(dict.fromkeys([*file.brokers, *map(BrokerName, publishing)]))
    broker_numbers = {name: number for number, name in enumerate(names)}
    topic_numbers = {name: number for number, name in enumerate(topics)}
    return Snapshot(
        names,
        tuple(TopicName(topic) for topic in topics),
        interests_from_pairs(
            np.array([broker_numbers[BrokerName(broker)] for broker, _ in pairs], dtype=np.int64),
            np.array([topic_numbers[topic] for _, topic in pairs], dtype=np.int64),
            len(names),
            len(topics),
        ),
        np.array([1.0 if rates_source is None else _rate(rates, topic) for topic in topics]),
        delays_ms=None if delays_source is None else read_delays(delays_source, names),
        content_subscriptions=sum(asks_content(wanted) for _, wanted in file.holdings()),
        publishers=_publishers(rates, broker_numbers, topic_numbers) if publishing else None,
        filters_idle=sum(not taken for taken in topics_taken(file.topics, topics).values()),
    )


def write_snapshot(snapshot: Snapshot, folder: Path) -> tuple[Path, Path]:
    """interests.csv and rates.csv, both or neither; the folder is created where it is missing."""
    interests_path, rates_path = folder / "interests.csv", folder / "rates.csv"
    interests = snapshot.interests
    pairs = zip(interests.row_of_pairs().tolist(), interests.columns.tolist(), strict=True)
    columns, rates = _rate_rows(snapshot)
    make_folder(folder)
    write_whole(
        {
            interests_path: table_bytes(
                INTERESTS_COLUMNS, ((snapshot.brokers[b], snapshot.topics[t]) for b, t in pairs)
            ),
            rates_path: table_bytes(
                columns, ((topic, f"{rate:.17g}", *broker) for topic, rate, *broker in rates)
            ),
        }
    )
    return interests_path, rates_path


def _rate_rows(snapshot: Snapshot) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """The header and rows of rates.csv; a row for each broker where publishers have places."""
    if snapshot.publishers is None:
        rates = zip(snapshot.topics, snapshot.publications.tolist(), strict=True)
        return RATES_COLUMNS, list(rates)
    rows = [
        (topic, amount, broker)
        for topic, column in zip(snapshot.topics, snapshot.publishers.T.tolist(), strict=True)
        for broker, amount in zip(snapshot.brokers, column, strict=True)
        if amount or (broker == snapshot.brokers[0] and not any(column))
    ]
    return (*RATES_COLUMNS, PUBLISHING_BROKER), rows


def _publishers(
    rates: dict[str, Rate],
    broker_numbers: Mapping[BrokerName, int],
    topic_numbers: Mapping[str, int],
) -> Float64Array:
    """Publications by the broker where they enter: (broker, topic)."""
    entering = np.zeros((len(broker_numbers), len(topic_numbers)), dtype=np.float64)
    for topic, rate in rates.items():
        column = entering[:, topic_numbers[topic]]
        for broker, amount in rate.entering.items():
            if broker:
                column[broker_numbers[BrokerName(broker)]] += amount
            else:
                column += amount / len(column)
    return entering


def _refuse_strangers(rates_source: Source, rates: dict[str, Rate], brokers: set[str]) -> None:
    """Refuse publishers at a broker that is not in the overlay."""
    for topic, rate in rates.items():
        for broker in rate.entering:
            if broker and broker not in brokers:
                raise table_fault(
                    rates_source,
                    f"topic {topic!r} is published at {broker!r}, which is not in the overlay",
                    "use the overlay of these brokers",
                    rate.line,
                )


def _rate(rates: dict[str, Rate], topic: str) -> float:
    return rates[topic].publications if topic in rates else 0.0


def _check_rates(file: InterestsFile, rates_source: Source, rates: dict[str, Rate]) -> None:
    """Refuse a topic that somebody wants by name and of which nobody says how often it comes."""
    for topic, line in zip(file.topics, file.topic_lines, strict=True):
        if topic not in rates and names_one_topic(topic):
            raise table_fault(
                file.source,
                f"topic {topic!r} has no rate in {rates_source}",
                "add a row for it there, 0 where nothing is published",
                line,
            )
