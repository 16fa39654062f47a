"""Histories held against the closed form, on rows that can be counted by hand."""

from __future__ import annotations

from meshwright.history.history import Delivered, History, Published
from meshwright.lab.live_measures import Measures, delays_ms, due, measured
from meshwright.live.operating.control import TrafficView
from meshwright.live.telemetry.carried import CarriedCounts
from meshwright.model.overlay import Overlay

# a - b - c: a message from a to c is relayed by b.
LINE = Overlay(
    design="tree",
    brokers=("a", "b", "c"),
    links=(("a", "b"), ("b", "c")),
)


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
    assert due(LINE, history()) == Measures(
        deliveries=1, messages=2, relayed=1, arrivals=1, arrival_hops=2
    )


def test_a_reader_that_moved_is_counted_where_it_is() -> None:
    found = history()
    found.connected("reader", "b", 15, session_present=True)
    assert due(LINE, found).messages == 1


def test_what_brokers_counted_is_summed_and_what_came_twice_is_one_delivery() -> None:
    views = [
        TrafficView(broker=name, sent={}, carried=carried)
        for name, carried in (
            ("b", CarriedCounts(relayed=1)),
            ("c", CarriedCounts(wanted=1, arrivals=1, arrival_hops=2)),
            ("a", None),
        )
    ]
    found = measured(history(), views)
    assert found == Measures(deliveries=1, messages=2, relayed=1, arrivals=1, arrival_hops=2)
    assert (found.messages_per_delivery, found.relays_per_delivery, found.hops_mean) == (2, 1, 2)


def test_a_delay_lasts_from_sending_to_receiving() -> None:
    assert delays_ms(history()).tolist() == [5.0, 6.0]
