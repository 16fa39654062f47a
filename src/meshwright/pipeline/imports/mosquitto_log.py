"""A Mosquitto log of type all: who connected, subscribed and published at one broker.

The broker is named by its file, up to the first dot. A log tells seconds; lines of the same second
are set a microsecond apart, so that their order is kept. Docs/FILES.md lists the lines understood.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

from meshwright.errors import OperatorError
from meshwright.files.reading import name_fault
from meshwright.model.schema import BROKERS, CONNECTIONS, PUBLICATIONS, SUBSCRIPTIONS
from meshwright.pipeline.imports.imported import Imported
from meshwright.pipeline.imports.judging import Judged
from meshwright.pipeline.imports.lines import ORIGIN, first_line, numbered_lines
from meshwright.pipeline.imports.parameters import ImportParameters
from meshwright.pipeline.tables.frames import conform

STAMPED = r"^(\d{9,11}|\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:Z|[+-]\d{2}:?\d{2})?): (.*)$"
CONNECTED = r"^New client connected from \S+ as (.*) \(p\d+, c([01]), k\d+(?:, u'.*')?\)\.$"
LEFT = (
    r"^Client (.*?)(?: \[\S+\])? (?:disconnected|closed its connection|has exceeded timeout|"
    r"been disconnected by|already connected, closing old)\b.*$"
)
BROKEN = r"^(?:Socket error|Bad socket read/write) on client (.*?)(?:, disconnecting\.|: .*)$"
EXPIRED = r"^Expiring (?:persistent )?client (.*) due to timeout\.$"
BROKER_ENDS = r"^mosquitto version \S+ (?:starting|terminating)$"
PUBLISHED = (
    r"^Received PUBLISH from (.*) \(d0, q[012], r[01], m\d+, '(.*)', \.\.\. \((\d+) bytes\)\)$"
)
WANTED = r"^\t(.*?)(?: \(QoS ([012])\))?$"
ORDER = ("file_number", "line")


def check_mosquitto_log(path: Path, _parameters: ImportParameters) -> None:
    """Refuse a file that cannot be read, or whose name names no broker."""
    first_line(path)
    name = path.name.partition(".")[0]
    if (fault := name_fault(name)) is not None:
        raise OperatorError(f"{path}: the broker's name {name!r} {fault}; rename the file.")


def imported_mosquitto_log(
    session: SparkSession, paths: Sequence[Path], _parameters: ImportParameters
) -> Imported:
    """What logs tell of clients; lines about other things are passed over."""
    # The folder goes, then all from the first dot on.
    broker = sf.substring_index(sf.substring_index("file", "/", -1), ".", 1)
    lines = numbered_lines(session, dict(enumerate(paths)))
    rows = _stamped(lines).withColumn("broker", broker).persist()
    told = rows.filter("reason is null")
    sessions = _sessions(told)
    return Imported(
        {
            CONNECTIONS.name: _connections(told, sessions),
            SUBSCRIPTIONS.name: _subscriptions(told, sessions),
            PUBLICATIONS.name: _publications(told),
            BROKERS.name: _brokers(told),
        },
        (Judged(rows, (rows,)),),
    )


def _stamped(lines: DataFrame) -> DataFrame:
    """The time and the message of each line; a line without a time that can be read is refused."""
    stamp = sf.regexp_extract("text", STAMPED, 1)
    seconds = sf.coalesce(
        sf.timestamp_seconds(sf.when(stamp.rlike(r"^\d{9,11}$"), stamp).try_cast("long")),
        sf.when(stamp.contains("-"), stamp).try_cast("timestamp"),
    )
    same_second = Window.partitionBy("file_number", "second")
    offset = sf.col("line") - sf.min("line").over(same_second)
    return lines.withColumn("second", seconds).select(
        *ORIGIN,
        sf.timestamp_micros(sf.unix_micros("second") + offset).alias("time"),
        sf.regexp_extract("text", STAMPED, 2).alias("message"),
        sf.coalesce(
            "reason",
            sf.when(
                sf.col("second").isNull(), "the line does not begin with a time that can be read"
            ),
        ).alias("reason"),
    )


def _sessions(told: DataFrame) -> DataFrame:
    """What happens to a client's session: begins, is left, expires; and whether it is kept."""
    message = sf.col("message")
    connected = message.rlike(CONNECTED)
    client = _first_group(CONNECTED, LEFT, BROKEN, EXPIRED)
    named = told.withColumn("client", client).filter("client is not null")
    is_clean = sf.when(connected, sf.regexp_extract(message, CONNECTED, 2) == "1")
    so_far = Window.partitionBy("broker", "client").orderBy(*ORDER)
    last_clean = sf.last(is_clean, ignorenulls=True).over(so_far)
    return named.select(
        "broker",
        "client",
        "time",
        *ORDER,
        connected.alias("is_on"),
        # A session that begins clean forgets what was before, and is forgotten when it is left.
        (last_clean | message.rlike(EXPIRED)).alias("forgets"),
    )


def _connections(told: DataFrame, sessions: DataFrame) -> DataFrame:
    """Clients that come and go; when the broker ends, all who are there go."""
    ends = told.filter(sf.col("message").rlike(BROKER_ENDS)).select("broker", "time", *ORDER)
    clients = sessions.select("broker", "client").distinct()
    gone = clients.join(ends, "broker", how="inner").withColumn("is_on", sf.lit(False))
    events = sessions.drop("forgets").unionByName(gone)
    return conform(_changes(events, "broker", "client"), CONNECTIONS)


def _subscriptions(told: DataFrame, sessions: DataFrame) -> DataFrame:
    """Filters that clients begin and cease to want, also because their session is forgotten.

    A filter stands on a line of its own, and the next says whose it is: its client, the QoS if it
    is wanted, and the filter again.
    """
    filters = told.filter(sf.col("message").startswith("\t")).select(
        "file_number",
        (sf.col("line") + 1).alias("line"),
        sf.regexp_extract("message", WANTED, 1).alias("topic"),
        sf.nullif(sf.regexp_extract("message", WANTED, 2), sf.lit("")).alias("qos"),
    )
    ending = sf.concat_ws(" ", sf.lit(""), "qos", "topic")
    own = sf.expr("substring(message, 1, length(message) - length(ending))")
    asked = (
        told.join(filters, list(ORDER), how="inner")
        .withColumn("ending", ending)
        .filter(sf.endswith("message", "ending"))
        .select(
            "broker",
            own.alias("client"),
            "topic",
            "time",
            *ORDER,
            sf.col("qos").isNotNull().alias("is_on"),
        )
    )
    forgotten = (
        asked.select("broker", "client", "topic")
        .distinct()
        .join(sessions.filter("forgets"), ["broker", "client"], how="inner")
        .drop("forgets")
        .withColumn("is_on", sf.lit(False))
    )
    events = asked.unionByName(forgotten)
    return conform(_changes(events, "broker", "client", "topic"), SUBSCRIPTIONS)


def _publications(told: DataFrame) -> DataFrame:
    """First deliveries to the broker; what a client sends again is not published again."""
    published = told.filter(sf.col("message").rlike(PUBLISHED))
    return conform(
        published.withColumns(
            {
                name: sf.regexp_extract("message", PUBLISHED, group)
                for group, name in enumerate(("publisher", "topic", "bytes"), 1)
            }
        ),
        PUBLICATIONS,
    )


def _brokers(told: DataFrame) -> DataFrame:
    nothing = {column.name: sf.lit(None) for column in BROKERS.columns if column.name != "broker"}
    return conform(told.select("broker").distinct().withColumns(nothing), BROKERS)


def _changes(events: DataFrame, *key: str) -> DataFrame:
    """Events that change something: the first on, the first off after it, and so forth."""
    so_far = Window.partitionBy(*key).orderBy(*ORDER)
    former = sf.coalesce(sf.lag("is_on").over(so_far), sf.lit(False))
    return events.withColumn("former", former).filter("is_on != former")


def _first_group(*patterns: str) -> SparkColumn:
    """The first group of the pattern that fits the message, or null."""
    return sf.coalesce(
        *(
            sf.when(sf.col("message").rlike(pattern), sf.regexp_extract("message", pattern, 1))
            for pattern in patterns
        )
    )
