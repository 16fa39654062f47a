"""The state of a watch without Spark, beside a dull twin that has everything before it begins."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshwright.pipeline.watching.bucket import Bucket, Finding, Heard, News, Row
from meshwright.pipeline.watching.clocks import Clocks
from meshwright.pipeline.watching.clockwork import Clockwork
from meshwright.pipeline.watching.parts import Claim, Series
from meshwright.pipeline.watching.picture import Event, Picture
from meshwright.pipeline.watching.rates import Count, Rates, TopicRate

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
COPIED = 10_000  # the hour at which a copy was made says nothing of clocks
TWO_HOURS = Clockwork(HOUR_US, 2)
EXACT = Clockwork(HOUR_US, 2, late_us=0, patience_us=2 * HOUR_US)

CLIENTS, TOPICS, BROKERS = ("ann", "bob"), ("sun", "rain", "#"), ("b0", "b1", "b2")
TIMES = st.integers(0, 8).map(lambda half: half * HOUR_US // 2)
EVENTS = st.one_of(
    st.builds(Event, TIMES, st.just("want"), st.sampled_from(CLIENTS), st.sampled_from(TOPICS),
              st.booleans()),
    st.builds(Event, TIMES, st.just("host"), st.sampled_from(CLIENTS), st.sampled_from(BROKERS),
              st.booleans()),
    st.builds(Event, TIMES, st.just("tell"), st.sampled_from(CLIENTS)),
    st.builds(Event, TIMES, st.just("state"), st.sampled_from(BROKERS)),
)  # fmt: skip
RANKS = {"tell": 0, "state": 0, "want": 1, "host": 1}


def wanted_in_order(events: list[Event]) -> set[tuple[str, str]]:
    """The dull twin: sets and a list of all events in the order of their times.

    Of one moment, a statement comes before what it lists, and ends come before beginnings.
    """
    wants: dict[str, set[str]] = defaultdict(set)
    hosts: dict[str, dict[str, int]] = defaultdict(dict)
    for event in sorted(events, key=lambda one: (one.time_us, RANKS[one.kind], one.is_on)):
        time_us, kind, name, other, is_on = event
        if kind == "tell":
            wants[name].clear()
        elif kind == "state":
            for brokers in hosts.values():
                brokers.pop(name, None)
        elif kind == "want":
            (wants[name].add if is_on else wants[name].discard)(other)
        elif is_on:
            hosts[name][other] = time_us
        else:
            hosts[name].pop(other, None)
    return {
        (max(brokers, key=lambda name: (brokers[name], name)), topic)
        for client, brokers in hosts.items()
        if brokers
        for topic in wants[client]
    }


@given(st.lists(EVENTS, max_size=25))
def test_a_picture_is_what_its_events_say_in_the_order_of_their_times(events: list[Event]) -> None:
    picture = Picture()
    for event in events:  # in the order of arrival, which is any
        picture.apply(event)
    assert set(picture.wanted()) == wanted_in_order(events)
    picture.forget(before_us=0, lost=set())
    assert set(picture.wanted()) == wanted_in_order(events)
    picture.forget(before_us=HOUR_US, lost=set())
    assert set(picture.wanted()) == wanted_in_order(events)


def batch_of(events: list[Event], part: int, *, newest_us: int | None = None) -> News:
    """One file of b0 with these events; newest_us: what its clock shows if that is another time."""
    times = [event.time_us for event in events]
    newest_us = max(times) if newest_us is None else newest_us
    return News(
        rows=[Row(event, "b0", "t/b0/1", part, part) for event in events],
        clocks=[Heard("b0", newest_us, newest_us)],
        claims=[Claim("t/b0/1", part, part, part, newest_us)],
        periods={time // EXACT.period_us for time in times},
    )


@given(st.lists(st.lists(EVENTS, min_size=1, max_size=6), min_size=1, max_size=6), st.data())
def test_every_judged_period_says_what_had_been_told_by_then(
    files: list[list[Event]], data: st.DataObject
) -> None:
    """Whatever is late corrects later periods; in the end streamed and batch are the same."""
    bucket, told = Bucket(), list[Event]()
    for part, events in enumerate(files, start=1):
        if data.draw(st.booleans()):
            bucket = msgspec.msgpack.decode(msgspec.msgpack.encode(bucket), type=Bucket)
        told += events
        found = bucket.step(EXACT, batch_of(events, part))
        for period in {one.period for one in found if one.kind == "want"}:
            known = [one for one in told if one.time_us < (period + 1) * EXACT.period_us]
            assert wants(found, period) == wanted_in_order(known)
    end_us = 10 * HOUR_US
    last = Event(end_us - 1, "want", "nobody", "sun")
    bucket.step(EXACT, batch_of([last], len(files) + 1))
    found = bucket.step(EXACT, batch_of([last], len(files) + 2, newest_us=end_us))
    assert wants(found, 4) == wanted_in_order(told)


def wants(found: list[Finding], period: int) -> set[tuple[str | None, str | None]]:
    return {(one.broker, one.topic) for one in found if (one.kind, one.period) == ("want", period)}


def test_a_copy_and_files_that_were_put_together_count_once() -> None:
    def news(file: int, first: int, last: int) -> News:
        rows = [
            Row(Count(0, "sun", "b0", 10), "b0", "p/b0/1", part, file)
            for part in range(first, last + 1)
        ]
        return News(rows=rows, claims=[Claim("p/b0/1", first, last, file, 1)], periods={0},
                    clocks=[Heard("b0", 1, 1)])  # fmt: skip

    bucket = Bucket()
    at_once, copy = news(7, 1, 1), news(8, 1, 1)
    at_once.rows += copy.rows
    at_once.claims += copy.claims
    bucket.step(EXACT, at_once)
    bucket.step(EXACT, news(9, 1, 3))  # parts 2 and 3 were not heard before they were put together
    bucket.step(EXACT, news(10, 2, 2))
    late = News(clocks=[Heard("b0", 4 * HOUR_US, 4 * HOUR_US)])
    (found,) = (one for one in bucket.step(EXACT, late) if one.kind == "publish")
    assert found.amount == 30


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 5)), max_size=12))
def test_ranges_of_parts_are_a_set(ranges: list[tuple[int, int]]) -> None:
    series, plain = Series(), set[int]()
    for first, more in ranges:
        series.add(first, first + more)
        plain |= set(range(first, first + more + 1))
    assert {part for part in range(40) if series.has(part)} == plain
    assert all(one[1] + 1 < other[0] for one, other in pairwise(series.ranges))


@given(
    st.lists(
        st.tuples(
            st.integers(0, 11), st.sampled_from(TOPICS), st.sampled_from(BROKERS), st.integers(1, 9)
        ),
        max_size=20,
    ),
    st.sets(st.integers(0, 4)),
)
def test_rates_are_filtered_slot_by_slot_also_over_gaps(
    counted: list[tuple[int, str, str, int]], closed: set[int]
) -> None:
    counts = [Count(*one) for one in counted]
    rates, told = Rates(), Counter[str]()
    for period in sorted(closed | {5}):
        end = (period + 1) * 2
        now = [one for one in counts if one.slot < end]
        counts = [one for one in counts if one.slot >= end]
        found = list(rates.close(EXACT, now, end))
        for one in found:
            told[one.topic] += one.publications
    for topic in TOPICS:
        slots = Counter[int]()
        for slot, name, _, count in counted:
            slots[slot] += count * (name == topic)
        rate = None
        for slot in range(12):
            if rate is not None:
                rate = 0.7 * rate + 0.3 * slots[slot]
            elif slots[slot]:
                rate = float(slots[slot])
        assert sum(one.rate for one in found if one.topic == topic) == pytest.approx(rate or 0.0)
        assert told[topic] == slots.total()


def test_a_rate_knows_where_its_topic_is_published() -> None:
    rates = Rates()
    first = list(rates.close(EXACT, [Count(0, "sun", "b0", 4), Count(0, "sun", "", 2)], 1))
    assert first == [TopicRate("sun", "", 2, 2.0), TopicRate("sun", "b0", 4, 4.0)]
    (unknown, _, b1) = rates.close(EXACT, [Count(1, "sun", "b1", 10)], 2)
    assert unknown.rate == pytest.approx(1.4)
    assert b1 == TopicRate("sun", "b1", 10, pytest.approx(3.0))


def watermark(clocks: Clocks, *heard: tuple[str, int, int]) -> float:
    """In hours; heard: broker, hours that its newest event shows, hours at which it was written."""
    for broker, newest, written in heard:
        clocks.hear(TWO_HOURS, broker, newest * HOUR_US, written * HOUR_US)
    clocks.advance(TWO_HOURS)
    return clocks.watermark_us / HOUR_US


def test_no_broker_makes_another_one_late() -> None:
    clocks = Clocks()
    assert watermark(clocks, ("b0", 100, 100), ("b1", 100, 100), ("b2", 101, 100)) == 99
    assert watermark(clocks, ("b0", 110, 110), ("b2", 111, 110)) == 99
    assert watermark(clocks, ("b1", 110, 110)) == 109


def test_a_broker_that_is_dead_is_waited_for_only_so_long() -> None:
    clocks = Clocks()
    watermark(clocks, *((f"b{n}", 100, 100) for n in range(3)))
    held = [watermark(clocks, ("b0", hour, hour), ("b1", hour, hour)) for hour in (105, 110, 111)]
    assert held == [99, 99, 110]  # patience is ten hours
    (silent,) = (one for one in clocks.readings(TWO_HOURS) if not one.is_waited_for)
    assert silent.broker == "b2"
    assert watermark(clocks, ("b0", 112, 112)) == 110
    pair = Clocks()
    assert watermark(pair, ("b0", 100, 100), ("b1", 100, 100)) == 99
    assert watermark(pair, ("b0", 111, 111)) == 110


def test_an_event_far_ahead_moves_no_clock_until_others_come_near_it() -> None:
    clocks, far = Clocks(), 20 * 24
    watermark(clocks, *((f"b{n}", 100, COPIED) for n in range(3)))
    assert watermark(clocks, ("b0", 100 + far, COPIED), ("b0", 102, COPIED)) == 99
    assert watermark(clocks, ("b1", 102, COPIED), ("b2", 102, COPIED)) == 101
    assert watermark(clocks, *((f"b{n}", 100 + far, COPIED) for n in (1, 2))) == 99 + far


def hours_ahead(clocks: Clocks) -> dict[str, float]:
    return {one.broker: one.ahead_us / HOUR_US for one in clocks.readings(TWO_HOURS)}


def test_a_broker_that_is_ahead_of_its_own_files_is_the_one_that_is_wrong() -> None:
    clocks = Clocks()
    assert watermark(clocks, ("b0", 4, 4), ("b1", 24, 4)) == 3
    assert hours_ahead(clocks) == {"b0": 0, "b1": 20}
    assert all(one.is_waited_for for one in clocks.readings(TWO_HOURS))
    assert watermark(clocks, ("b1", 35, 15)) == 14  # b0 is not waited for, and would not be late
    assert hours_ahead(clocks) == {"b0": -11, "b1": 20}


def test_where_files_prove_nothing_most_brokers_are_right() -> None:
    """One is an hour ahead, one has died, and one tells of an event 20 days ahead."""
    clocks, day = Clocks(), 24
    told = (("b0", 122), ("b0", 25 * day), ("b1", 122), ("b2", 3), ("b3", 123))
    assert watermark(clocks, *((broker, hour, COPIED) for broker, hour in told)) == 121
    assert hours_ahead(clocks) == {"b0": 0, "b1": 0, "b2": -119, "b3": 1}
    pair = (("b0", 122), ("b0", 25 * day), ("b1", 121))
    assert watermark(Clocks(), *((broker, hour, COPIED) for broker, hour in pair)) == 120


def test_events_far_ahead_make_no_fast_clock_the_network_s() -> None:
    """b1 is three hours ahead; b2 told of an event far ahead, and b3 of another, further still."""
    day = 24
    told = [("b0", 4), ("b1", 7), ("b2", 4), ("b2", 10 * day)]
    for heard in (told, [*told, ("b3", 4), ("b3", 30 * day)]):
        clocks = Clocks()
        assert watermark(clocks, *((broker, hour, COPIED) for broker, hour in heard)) == 3
        assert hours_ahead(clocks) == {broker: 3 * (broker == "b1") for broker, _ in heard}


def test_a_broker_that_is_silent_is_lost_whatever_it_told_of_a_far_future() -> None:
    clocks, day = Clocks(), 24
    heard = [("b0", 4), ("b1", 4), ("b2", 4), ("b2", 30 * day), ("b0", 15), ("b1", 15)]
    watermark(clocks, *((broker, hour, COPIED) for broker, hour in heard))
    assert clocks.lost(TWO_HOURS, 10 * HOUR_US) == {"b2"}


def test_a_dead_broker_of_two_holds_nothing_up_in_a_copy() -> None:
    clocks = Clocks()
    heard = [("b1", 3, COPIED), *(("b0", hour, COPIED) for hour in range(1, 100, 5))]
    assert watermark(clocks, *heard) == 95


def test_rows_that_wait_for_a_far_future_are_counted_until_it_is_near() -> None:
    bucket, day = Bucket(), 24
    far = [Event(25 * day * HOUR_US, "want", "ann", "sun")]
    found = bucket.step(EXACT, of_two_brokers([Event(HOUR_US, "want", "ann", "rain"), *far], 1))
    assert [one for one in found if one.kind == "far"] == [
        Finding("far", 0, "b0", amount=1, rate=(25 * day - 1) * 3600)
    ]
    found = bucket.step(EXACT, of_two_brokers([Event(2 * HOUR_US, "want", "ann", "hail")], 2))
    assert not [one for one in found if one.kind == "far"]
    near = Event((25 * day - 3) * HOUR_US, "want", "ann", "hail")
    found = bucket.step(EXACT, of_two_brokers([near], 3))
    assert [one for one in found if one.kind == "far"] == [
        Finding("far", 0, "b0", amount=-1, rate=24 * 3600)
    ]


def of_two_brokers(events: list[Event], part: int) -> News:
    """A copy of a file of b0 with these events; b1 has come as far as the first of them."""
    news = batch_of(events, part)
    news.clocks = [Heard("b0", event.time_us, COPIED * HOUR_US) for event in events]
    news.clocks.append(Heard("b1", events[0].time_us, COPIED * HOUR_US))
    return news


def test_one_event_20_days_ahead_makes_no_periods_between() -> None:
    bucket = Bucket()
    hours = [Event(hour * HOUR_US, "host", "ann", "b0") for hour in (1, 2, 500)]
    first = bucket.step(EXACT, batch_of([*hours, Event(1, "want", "ann", "sun")], 1))
    second = bucket.step(EXACT, batch_of([Event(504 * HOUR_US, "want", "ann", "rain")], 2))
    assert [one.period for one in first + second if one.kind == "want"] == [0, 1, 250]


def test_what_is_over_is_forgotten() -> None:
    """Clients that come and go leave nothing; a client that stays is not forgotten."""
    bucket = Bucket()
    stays = [Event(0, "host", "ann", "b0"), Event(0, "want", "ann", "sun")]
    bucket.step(EXACT, batch_of(stays, 1))
    for day in range(1, 40):
        at_us, name = day * DAY_US, f"guest{day}"
        guest = [
            Event(at_us, "host", name, "b0"),
            Event(at_us, "want", name, "rain"),
            Event(at_us + 1, "want", name, "rain", False),
            Event(at_us + 2, "host", name, "b0", False),
        ]
        bucket.step(EXACT, batch_of(guest, day + 1))
    size = len(msgspec.msgpack.encode(bucket))
    assert size < 40 * 60
    found = bucket.step(EXACT, batch_of([Event(41 * DAY_US, "want", "ann", "rain")], 41))
    assert not [one for one in found if one.kind == "forgotten"]
    too_old = bucket.step(EXACT, batch_of([Event(DAY_US, "want", "ann", "snow")], 42))
    assert too_old[0] == Finding("forgotten", 0, "b0", amount=1)
    found = bucket.step(EXACT, batch_of([Event(42 * DAY_US, "want", "ann", "hail")], 43))
    assert ("b0", "sun") in {(one.broker, one.topic) for one in found if one.kind == "want"}
