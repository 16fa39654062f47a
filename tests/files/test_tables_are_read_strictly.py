from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.errors import InputFileError
from meshwright.files.reading import name_fault
from meshwright.files.snapshots import (
    read_interests,
    read_rates,
    read_snapshot,
    write_snapshot,
)
from meshwright.files.tables import read_table, table_bytes
from meshwright.files.traffic import (
    TrafficClass,
    read_clients,
    read_traffic,
    write_clients,
    write_traffic,
)
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.identifiers import TopicName

NAMES = st.text(min_size=1, max_size=6).filter(lambda name: name_fault(name) is None)
FIELDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=8)

INTERESTS_FAULTS = [
    (b"", "line 1: the file is empty"),
    (b"\n\n", "line 1: the file is empty"),
    (b"broker,topic\n", "line 1: there are no rows below the header"),
    (b"broker\nb0\n", "line 1: the header lacks 'topic'"),
    (b"b0,t0\nb1,t0\n", "line 1: the header lacks 'broker', 'topic' and has the extra 'b0', 't0'"),
    (b"broker,topic,weight\nb0,t0,1\n", "line 1: the header has the extra 'weight'"),
    (b"broker,topic,topic\nb0,t0,t0\n", "line 1: the header repeats 'topic'"),
    (b"broker,topic\nb0,t0\nb1\n", "line 3: the row has 1 fields instead of 2"),
    (b"broker,topic\nb0,t0,t1\n", "line 2: the row has 3 fields instead of 2"),
    (b"broker,topic\nb0,t0\nb1,t0\nb0,t0\n", "line 4: broker 'b0' and topic 't0' stand on line 2"),
    (b"broker,topic\nb0,t0\nb0,t1\n", "line 2: 'b0' is the only broker"),
    (b"broker,topic\nb0,t0\n,t0\n", "line 3: the broker name '' is empty"),
    (b"broker,topic\nb0,t0\nb1, t0\n", "line 3: the topic name ' t0' begins or ends with a blank"),
    (b'broker,topic\nb0,"t\n0"\n', "line 2: the topic name 't\\n0' contains a control character"),
    (b'broker,topic\nb0,t0\n"b1,t0\n', "line 3: this is not a CSV row"),
    (b'broker,topic\nb0,t0\n"b1"x,t0\n', "line 3: this is not a CSV row"),
    (b"broker,topic\nb0,t0\nb1,t\xff\n", "line 3: this is not UTF-8 text"),
]

RATES_FAULTS = [
    (b"topic,publications\nt0,-1\n", "line 2: publications '-1' is negative"),
    (b"topic,publications\nt0,nan\n", "line 2: publications 'nan' is not a finite number"),
    (b"topic,publications\nt0,inf\n", "line 2: publications 'inf' is not a finite number"),
    (b"topic,publications\nt0,1e999\n", "line 2: publications '1e999' is too large"),
    (b"topic,publications\nt0,many\n", "line 2: publications 'many' is not a finite number"),
    (b"topic,publications\nt0,\n", "line 2: publications '' is not a finite number"),
    (b"topic,publications\nt0,1_0\n", "line 2: publications '1_0' is not a finite number"),
    (b"topic,publications\nt0,1\nt1,2\nt0,1\n", "line 4: topic 't0' stands on line 2 already"),
    (b"topic,publications\nt0,1\n", "topic 't1' has no rate"),
    (
        b"topic,publications,broker\nt0,1,b0\nt1,2,\nt0,1,b0\n",
        "line 4: topic 't0' of broker 'b0' stands on line 2 already",
    ),
]

TRAFFIC_FAULTS = [
    (b"messages,members\n5,b0;b9\n", "line 2: member 'b9' is no broker of the tree and no client"),
    (b"messages,members\n5,b0;b0\n", "line 2: member 'b0' is named twice"),
    (b"messages,members\n5,\n", "line 2: there are no members"),
    (b"messages,members\n5,b0;b1\n7,b1;b0\n", "line 3: these members stand on line 2 already"),
    (b"messages,members\n-5,b0;b1\n", "line 2: messages '-5' is not a whole number"),
    (b"messages,members\n2.5,b0;b1\n", "line 2: messages '2.5' is not a whole number"),
]

CLIENTS_FAULTS = [
    (b"client,broker\nc0,b9\n", "line 2: broker 'b9' is not in the tree"),
    (b"client,broker\nc0,b0\nc0,b1\n", "line 3: client 'c0' stands on line 2 already"),
    (b"client,broker\nb1,b0\n", "line 2: client 'b1' has the name of a broker"),
]


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("content", "fault"), INTERESTS_FAULTS)
def test_a_fault_in_interests_is_one_sentence_with_its_line(
    content: bytes, fault: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "interests.csv", content)
    with pytest.raises(InputFileError) as caught:
        read_interests(path)
    assert str(caught.value).startswith(f"{path}, {fault}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("content", "fault"), RATES_FAULTS)
def test_a_fault_in_rates_is_one_sentence_with_its_line(
    content: bytes, fault: str, tmp_path: Path
) -> None:
    interests = written(tmp_path, "interests.csv", b"broker,topic\nb0,t0\nb1,t0\nb1,t1\n")
    rates = written(tmp_path, "rates.csv", content)
    with pytest.raises(InputFileError) as caught:
        read_snapshot(interests, rates)
    assert fault in str(caught.value)
    assert caught.value.line is not None


def test_a_topic_without_a_rate_points_at_the_interests(tmp_path: Path) -> None:
    interests = written(tmp_path, "interests.csv", b"broker,topic\nb0,t0\nb1,t0\nb1,t1\n")
    rates = written(tmp_path, "rates.csv", b"topic,publications\nt0,1\n")
    with pytest.raises(InputFileError) as caught:
        read_snapshot(interests, rates)
    assert (caught.value.path, caught.value.line) == (str(interests), 4)


def test_filters_take_topics_with_a_rate_and_a_group_is_at_its_first_broker(
    tmp_path: Path,
) -> None:
    wanted = b"broker,topic\nb0,$share/g/s/#\nb1,$share/g/s/#\nb1,s/+\nb2,t\nb2,$where/n>1/#\n"
    interests = written(tmp_path, "interests.csv", wanted)
    rates = written(tmp_path, "rates.csv", b"topic,publications\ns,4\ns/1,3\nt,2\n$SYS/a,1\n")
    snapshot = read_snapshot(interests, rates)
    assert (snapshot.topics_unwanted, snapshot.content_subscriptions) == (1, 1)
    topics = [snapshot.topics.index(TopicName(name)) for name in ("s", "s/1", "t", "$SYS/a")]
    assert snapshot.publications[topics].tolist() == [4.0, 3.0, 2.0, 1.0]
    assert snapshot.interests.dense()[:, topics].astype(int).tolist() == [
        [1, 1, 0, 0],
        [0, 1, 0, 0],
        [1, 1, 1, 0],
    ]


def test_rates_by_broker_say_where_publications_enter_and_are_written_so(tmp_path: Path) -> None:
    interests = written(tmp_path, "interests.csv", b"broker,topic\nb0,t\nb1,t\n")
    content = b"broker,topic,publications\nb1,t,4\nb2,t,2\n,u,6\n"
    snapshot = read_snapshot(interests, written(tmp_path, "rates.csv", content))
    again = read_snapshot(*write_snapshot(snapshot, tmp_path / "again"), snapshot.brokers)
    for found in (snapshot, again):
        assert found.brokers == ("b0", "b1", "b2")
        assert found.publications.tolist() == [6.0, 6.0]
        assert found.publishers is not None
        assert found.publishers.tolist() == [[0.0, 2.0], [4.0, 2.0], [2.0, 2.0]]
    with pytest.raises(InputFileError, match="published at 'b2', which is not in the overlay"):
        read_snapshot(interests, tmp_path / "rates.csv", ("b0", "b1"))


def test_filters_that_no_known_topic_fits_are_refused(tmp_path: Path) -> None:
    interests = written(tmp_path, "interests.csv", b"broker,topic\nb0,s/#\nb1,s/#\n")
    with pytest.raises(InputFileError, match="line 2: no topic is known that these filters take"):
        read_snapshot(interests)


@pytest.mark.parametrize(("content", "fault"), TRAFFIC_FAULTS)
def test_a_fault_in_traffic_is_one_sentence_with_its_line(
    content: bytes, fault: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "traffic.csv", content)
    with pytest.raises(InputFileError) as caught:
        read_traffic(path, {"b0", "b1"})
    assert str(caught.value).startswith(f"{path}, {fault}")


@pytest.mark.parametrize(("content", "fault"), CLIENTS_FAULTS)
def test_a_fault_in_clients_is_one_sentence_with_its_line(
    content: bytes, fault: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "clients.csv", content)
    with pytest.raises(InputFileError) as caught:
        read_clients(path, {"b0", "b1"})
    assert str(caught.value).startswith(f"{path}, {fault}")


def test_what_is_not_a_readable_file_is_refused(tmp_path: Path) -> None:
    broken = written(tmp_path, "broken.csv.gz", gzip.compress(b"broker,topic\n" * 99)[:-9])
    plain = written(tmp_path, "plain.csv.gz", b"broker,topic\n")
    for path, fault in (
        (tmp_path, "a folder"),
        (tmp_path / "none.csv", "no such file"),
        (tmp_path / "none" / "none.csv", "no such file"),
        (plain / "below.csv", "cannot be read"),
        (broken, "not a whole gzip file"),
        (plain, "not a whole gzip file"),
    ):
        with pytest.raises(InputFileError, match=fault):
            read_rates(path)


def test_columns_in_another_order_crlf_marks_quotes_and_gzip_are_read(tmp_path: Path) -> None:
    content = '\ufefftopic,broker\r\n"a ""x"", b",b1\r\n\r\nt0,b0\r\n'.encode()
    path = written(tmp_path, "interests.csv.gz", gzip.compress(content))
    file = read_interests(path)
    assert file.brokers == ("b1", "b0")
    assert file.topics == ('a "x", b', "t0")
    assert file.topic_lines == (2, 4)


def test_the_brokers_of_an_overlay_keep_their_order_and_may_want_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, "interests.csv", b"broker,topic\nb2,t0\nb0,t1\n")
    file = read_interests(path, ("b0", "b1", "b2"))
    assert file.brokers == ("b0", "b1", "b2")
    assert file.interests.counts().tolist() == [1, 0, 1]
    with pytest.raises(InputFileError, match="line 2: broker 'b2' is not in the overlay"):
        read_interests(path, ("b0", "b1"))


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=8))
def test_any_table_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]]
) -> None:
    path = written(tmp_path_factory.mktemp("t"), "t.csv", table_bytes(("one", "two"), rows))
    assert [row.fields for row in read_table(path, ("one", "two"))] == rows


@given(st.integers(2, 12), st.integers(1, 9), st.integers(0, 99), st.floats(0, 1e9))
def test_a_written_snapshot_is_read_back(
    tmp_path_factory: pytest.TempPathFactory,
    broker_count: int,
    topic_count: int,
    seed: int,
    rate: float,
) -> None:
    snapshot = generate_snapshot(
        broker_count, topic_count, 1, "zipf", seed=seed, publications_per_topic=rate
    )
    again = read_snapshot(*write_snapshot(snapshot, tmp_path_factory.mktemp("s")))
    order = [again.topics.index(topic) for topic in snapshot.topics]
    assert again.brokers == snapshot.brokers
    assert np.array_equal(again.interests.dense()[:, order], snapshot.interests.dense())
    assert np.array_equal(again.publications[order], snapshot.publications)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**12),
            st.lists(
                NAMES.filter(lambda name: ";" not in name), min_size=1, max_size=4, unique=True
            ),
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda row: frozenset(row[1]),
    )
)
def test_traffic_and_clients_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, list[str]]]
) -> None:
    folder = tmp_path_factory.mktemp("t")
    classes = tuple(TrafficClass(messages, tuple(members)) for messages, members in rows)
    names = dict.fromkeys(name for traffic in classes for name in traffic.members)
    write_traffic(classes, folder / "traffic.csv")
    assert read_traffic(folder / "traffic.csv", names) == classes
    homes = dict.fromkeys(names, "the one broker of all")
    write_clients(homes, folder / "clients.csv")
    assert read_clients(folder / "clients.csv", {"the one broker of all"}) == homes
