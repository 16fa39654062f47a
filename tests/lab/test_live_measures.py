"""Histories held against the closed form, on rows that can be counted by hand."""

from __future__ import annotations

from meshwright.history.history import Delivered, History, Published
from meshwright.lab.live_measures import (
    Measures,
    Window,
    delays_ms,
    due,
    longest_answer_ms,
    measured,
    subscription_changes,
)
from meshwright.live.telemetry.carried import CarriedCounts
from meshwright.manager.collecting.measuring import traffic_between
from meshwright.model.overlay import Overlay

# a - b - c: a message from a to c is relayed by b.
LINE = Overlay(
    design="tree",
    brokers=("a", "b", "c"),
    links=(("a", "b"), ("b", "c")),
)
ALWAYS = Window(0, 10_000)


def history() -> History:
    """A reader at c wants t from 10 to 30; the writer at a publishes at 20 and at 40."""
    found = History()
    found.connected("reader", "c", 1, session_present=False)
    wanted = found.subscribing("reader", "t", 1, 5)
    wanted.granted_us, wanted.end_requested_us = 10, 30
    for sequence, time_us in ((1, 20), (2, 40)):
        found.attempted(Published("writer", sequence, "t", 1, (), time_us, "a"))
    for time_us in (5_020, 6_020):
        found.deliveries.append(
            Delivered(time_us, "reader", "writer", 1, "t", 1, time_us > 6_000, False, 1, "c")
        )
    return found


def test_a_publication_is_due_to_who_wants_it_as_it_is_sent() -> None:
    assert due(LINE, history(), ALWAYS) == Measures(
        deliveries=1, messages=2, relayed=1, arrivals=1, arrival_hops=2
    )


def test_a_reader_that_moved_is_counted_where_it_is() -> None:
    found = history()
    found.connected("reader", "b", 15, session_present=True)
    assert due(LINE, found, ALWAYS).messages == 1


def test_what_brokers_counted_is_summed_and_what_came_twice_is_one_delivery() -> None:
    traffic = {
        "b": CarriedCounts(relayed=1),
        "c": CarriedCounts(wanted=1, arrivals=1, arrival_hops=2),
    }
    found = measured(history(), ALWAYS, traffic)
    assert found == Measures(deliveries=1, messages=2, relayed=1, arrivals=1, arrival_hops=2)
    assert (found.messages_per_delivery, found.relays_per_delivery, found.hops_mean) == (2, 1, 2)


def test_a_delay_lasts_from_sending_to_receiving() -> None:
    assert delays_ms(history(), ALWAYS).tolist() == [5.0, 6.0]


def test_only_what_is_in_the_window_counts() -> None:
    assert due(LINE, history(), Window(30, 50)).deliveries == 0
    assert measured(history(), Window(0, 5_000), {}).deliveries == 0
    assert len(delays_ms(history(), Window(6_000, 7_000))) == 1


def test_clients_are_counted_where_a_plan_would_have_them() -> None:
    assert due(LINE, history(), ALWAYS, {"reader": "a"}).messages == 0
    assert due(LINE, history(), ALWAYS, {"writer": "b"}).messages == 1


def test_traffic_of_a_window_is_the_difference_of_two_looks() -> None:
    before, after = (
        {"a": CarriedCounts(relayed=3, wanted=1)},
        {"a": CarriedCounts(relayed=5, wanted=1)},
    )
    assert traffic_between(before, after) == {"a": CarriedCounts(relayed=2)}


def test_a_broker_changes_with_its_first_and_its_last_client_only() -> None:
    found = history()
    found.connected("other", "c", 2, session_present=False)
    later = found.subscribing("other", "t", 1, 12)
    later.granted_us, later.end_requested_us = 15, 40
    assert subscription_changes(found, ALWAYS) == 2
    assert subscription_changes(found, ALWAYS, {"other": "a"}) == 4
    assert subscription_changes(found, Window(0, 20)) == 1
    found.connected("other", "b", 35, session_present=True)
    assert subscription_changes(found, ALWAYS) == 4


def test_the_longest_wait_is_of_publications_that_were_answered() -> None:
    found = history()
    found.publications["writer", 1].acknowledged_us = 2_020
    assert longest_answer_ms(found, ALWAYS) == 2.0
    assert longest_answer_ms(found, Window(30, 50)) == 0.0
