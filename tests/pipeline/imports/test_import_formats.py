from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest
from checkin_files import write_lines
from trace_commands import answered, refused, rows

WHOLE = "a whole number from 0 to 9,223,372,036,854,775,807"

pytestmark = pytest.mark.usefixtures("spark")

LOG = """\
1600000000: mosquitto version 2.0.11 starting
1600000001: New client connected from 127.0.0.1:4 as cat flap (p2, c1, k60, u'joe').
1600000001: Received SUBSCRIBE from cat flap
1600000001: \ta/# (QoS 1)
1600000001: cat flap 1 a/#
1600000001: \tb c (QoS 0)
1600000001: cat flap 0 b c
1600000001: \ta/# (QoS 1)
1600000001: cat flap 1 a/#
2020-09-13T12:26:42: Received UNSUBSCRIBE from cat flap
2020-09-13T12:26:42: \tb c
2020-09-13T12:26:42: cat flap b c
2020-09-13T12:26:42: \tnever
2020-09-13T12:26:42: cat flap never
1600000003: New client connected from 127.0.0.1:5 as kept (p2, c0, k60).
1600000003: \tz (QoS 0)
1600000003: kept 0 z
1600000003: Received PUBLISH from kept (d0, q1, r0, m1, 'it's 1 z', ... (5 bytes))
1600000003: Received PUBLISH from kept (d1, q1, r0, m1, 'it's 1 z', ... (5 bytes))
1600000003: Sending PUBLISH to kept (d0, q0, r0, m0, 'z', ... (7 bytes))
1600000004: Client kept closed its connection.
1600000004: Client cat flap has exceeded timeout, disconnecting.
1600000005: New client connected from 127.0.0.1:6 as kept (p2, c0, k60).
1600000006: mosquitto version 2.0.11 terminating
somebody wrote this
"""


def clock(value: object) -> str:
    assert isinstance(value, datetime)
    return f"{value:%S.%f}"


def test_a_mosquitto_log_tells_who_connected_subscribed_and_published(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "edge.log", *LOG.splitlines())
    trace = tmp_path / "trace"
    answered("import", "--format", "mosquitto-log", path, "--out", trace)
    connections = sorted(rows(trace, "connections"))
    assert [(clock(time), *others) for time, *others in connections] == [
        ("41.000000", "cat flap", "edge", True),
        ("43.000000", "kept", "edge", True),
        ("44.000000", "kept", "edge", False),
        ("44.000001", "cat flap", "edge", False),
        ("45.000000", "kept", "edge", True),
        ("46.000000", "kept", "edge", False),
    ]
    subscriptions = sorted(rows(trace, "subscriptions"))
    assert [(clock(time), *others) for time, *others in subscriptions] == [
        ("41.000003", "cat flap", "a/#", True),
        ("41.000005", "cat flap", "b c", True),
        ("42.000002", "cat flap", "b c", False),
        ("43.000002", "kept", "z", True),
        ("44.000001", "cat flap", "a/#", False),
    ]
    ((time, *others),) = rows(trace, "publications")
    assert (clock(time), *others) == ("43.000003", "it's 1 z", "kept", 5)
    assert rows(trace, "brokers") == [("edge", None, None, None, None)]
    assert [row[1] for row in rows(trace, "quarantine")] == [25]


def test_a_mosquitto_log_whose_file_names_no_broker_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / " .log", *LOG.splitlines())
    assert refused("import", "--format", "mosquitto-log", path, "--out", tmp_path / "trace") == (
        f"error: {path}: the broker's name ' ' begins or ends with a blank; rename the file."
    )


def test_a_venue_that_would_make_no_topic_is_refused(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "checkins.csv",
        "user_id,ts_utc_hour,venue_id,category_id",
        "7,2012-04-03T18:00:00Z,v1,cafe",
        "7,2012-04-03T19:00:00Z,v1,cafe#2",
    )
    answered("import", "--format", "foursquare", path, "--out", tmp_path / "trace")
    assert {row[1] for row in rows(tmp_path / "trace", "publications")} == {"category/cafe"}
    (refusal,) = rows(tmp_path / "trace", "quarantine")
    assert str(refusal[2]).startswith("category_id is not a topic name")


def test_foursquare_checkins_publish_and_keep_their_user_interested(tmp_path: Path) -> None:
    header = "user_id,ts_utc_hour,ts_local_hour,venue_id,category_id"
    path = write_lines(
        tmp_path / "checkins.csv",
        header,
        "1,2012-04-01T10:00:00Z,2012-04-01T07:00:00,x,5",
        "1,2012-04-05T10:00:00Z,2012-04-05T07:00:00,y,5",
        "1,2012-04-20T10:00:00Z,2012-04-20T07:00:00,x,5",
        "2,2012-04-01T10:00:00Z,2012-04-01T07:00:00,x,",
        "1,2012-04-01T10:00:00Z,2012-04-01T07:00:00,x,5",
    )
    trace = tmp_path / "trace"
    words = ("import", "--format", "foursquare", path, "--interest-days", "10", "--out", trace)
    answered(*words)
    subscriptions = sorted(rows(trace, "subscriptions"))
    assert [(f"{time:%m-%d}", *others) for time, *others in subscriptions] == [
        ("04-01", "1", "category/5", True),
        ("04-15", "1", "category/5", False),
        ("04-20", "1", "category/5", True),
        ("04-30", "1", "category/5", False),
    ]
    assert sorted(row[1:] for row in rows(trace, "publications")) == [("category/5", "1", 64)] * 3
    assert sorted(row[1:3] for row in rows(trace, "quarantine")) == [
        (5, "category_id is missing"),
        (6, "it repeats line 2"),
    ]


def test_tables_of_our_own_are_read_from_csv_by_the_names_of_their_files(tmp_path: Path) -> None:
    subscriptions = write_lines(
        tmp_path / "subscriptions.csv",
        "is_on,topic,client,time",
        'true,"a,b",ann,2020-01-01T00:00:00+02:00',
        "perhaps,t,ann,2020-01-01T00:00:00Z",
    )
    brokers = write_lines(tmp_path / "brokers.csv.gz", "broker,capacity", "b1,12", "b2,", "b3,-1")
    trace = tmp_path / "trace"
    answered("import", "--format", "csv", subscriptions, brokers, "--out", trace)
    ((time, *others),) = rows(trace, "subscriptions")
    assert (str(time), *others) == ("2019-12-31 22:00:00+00:00", "ann", "a,b", True)
    assert sorted(rows(trace, "brokers"), key=str) == [
        ("b1", None, None, 12, None),
        ("b2", None, None, None, None),
    ]
    assert sorted(row[2] for row in rows(trace, "quarantine")) == [
        f"capacity is not {WHOLE}",
        "is_on is not true, false, 1 or 0",
    ]
    other = write_lines(tmp_path / "list.csv", "broker", "b1")
    assert "list.csv: the name of the file must be that of a table: subscriptions," in refused(
        "import", "--format", "csv", other, "--out", trace
    )


def test_tables_of_our_own_are_read_from_json_lines(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "anything.jsonl",
        '{"time": "2020-01-01T00:00:00Z", "topic": "t", "publisher": "p", "bytes": 5}',
        '{"time": "2020-01-01T00:00:00Z", "topic": "t", "publisher": "p", "size": 5}',
        "[1, 2]",
        '{"time": "2020-01-01T00:00:00Z", "topic": "t", "publisher": "p", "bytes": -5}',
        '{"time": "2020-01-01T00:00:00Z", "topic": null, "publisher": "p", "bytes": 5}',
    )
    trace = tmp_path / "trace"
    answered("import", "--format", "jsonl", path, "--table", "publications", "--out", trace)
    assert [row[1:] for row in rows(trace, "publications")] == [("t", "p", 5)]
    assert sorted(row[1:3] for row in rows(trace, "quarantine")) == [
        (2, "there is no column size"),
        (3, "this is not a JSON object"),
        (4, f"bytes is not {WHOLE}"),
        (5, "topic is missing"),
    ]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_blanks_around_text_belong_to_it_and_those_around_numbers_do_not(
    tmp_path: Path, kind: str
) -> None:
    moment, blank = "2020-01-01T00:00:00Z", " a , p , 5"
    told = [blank, "a,p,5", " , ,5"]
    lines = ["time,topic,publisher,bytes", *(f"{moment} ,{line}" for line in told)]
    if kind == "jsonl":
        fields = [f"{moment} ,{line}".split(",") for line in told]
        names = lines[0].split(",")
        lines = [json.dumps(dict(zip(names, each, strict=True))) for each in fields]
    trace = tmp_path / "trace"
    path = write_lines(tmp_path / f"publications.{kind}", *lines)
    answered("import", "--format", kind, path, "--out", trace)
    assert sorted(row[1:] for row in rows(trace, "publications")) == [
        (" ", " ", 5), (" a ", " p ", 5), ("a", "p", 5),
    ]  # fmt: skip
    assert rows(trace, "quarantine") == []


def test_what_is_no_json_or_no_text_is_refused(tmp_path: Path) -> None:
    good = '{"time":"2020-01-01T00:00:00Z","topic":"t","publisher":"p","bytes":5}'
    faulty = {
        good.replace('"', "'"): "this is not a JSON object (Expecting property name",
        f"{good} trailing": "this is not a JSON object (Extra data)",
        good.replace(":5", ":NaN"): "this is not a JSON object (NaN is no JSON)",
        "[" * 100_000: "this is not a JSON object",
        "null": "this is not a JSON object",
        good.replace('"t"', '"\\ud800"'): "topic is not text in UTF-8: an escape",
        good.replace('"topic"', '"\\ud800"'): "there is no column ?",
        good.replace('"t"', "7"): "topic is not a JSON string",
        good.replace('"t"', "true"): "topic is not a JSON string",
        good.replace('"p"', '{"x":1}'): "publisher is a JSON object",
        good.replace('"p"', '["x"]'): "publisher is a JSON array",
        good.replace('"p"', '""'): "publisher is missing",
        good.replace(',"bytes":5', ""): "bytes is missing",
        good.replace(":5", ":5.0"): f"bytes is not {WHOLE}",
        good.replace(":5", ":true"): f"bytes is not {WHOLE}",
        good.replace(":5", ":9223372036854775808"): f"bytes is not {WHOLE}",
        good.replace('"topic":', '"topic":"a","topic":'): "a column is given twice",
    }
    fine = [
        good.replace('"t"', '"\\ud83d\\ude00"'),
        good.replace(":5", ": 9223372036854775807 "),
        good.replace(":5", ':"5"'),
    ]
    path = write_lines(tmp_path / "publications.jsonl", *faulty, *fine)
    trace = tmp_path / "trace"
    answered("import", "--format", "jsonl", path, "--out", trace)
    assert sorted(row[1:] for row in rows(trace, "publications")) == [
        ("t", "p", 5), ("t", "p", 9223372036854775807), ("\U0001f600", "p", 5),
    ]  # fmt: skip
    refusals = sorted(rows(trace, "quarantine"), key=lambda row: row[1])
    for row, (number, (line, reason)) in zip(refusals, enumerate(faulty.items(), 1), strict=True):
        assert (row[1], row[3]) == (number, line)
        assert str(row[2]).startswith(reason)
