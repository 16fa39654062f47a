from __future__ import annotations

from collections import Counter

import numpy as np
from broker_views import session, traffic, view
from hypothesis import given
from hypothesis import strategies as st

from meshwright.manager.views.figures import POINTS_MAX, FiguresKept, quantile
from meshwright.manager.views.network_state import network_state, topic_page
from meshwright.model.overlay import Overlay
from meshwright.protocol.inspection import BrokerView

LINE = Overlay(design="tree", brokers=("a", "b", "c"), links=(("b", "a"), ("b", "c")))
SECOND_US = 1_000_000


def views() -> dict[str, BrokerView]:
    return {
        "a": view("a", LINE, [session("one", "t", "u"), session("two", "t", is_connected=False)]),
        "b": view("b", LINE, [session("three", "t", queued=4)], trip_ms=4.0),
    }


def test_rates_are_what_was_counted_between_two_looks() -> None:
    kept = FiguresKept()
    kept.see(0, {"a": traffic("a", published=10), "b": traffic("b")}, views())
    assert kept.figures(views()).points == ()
    now = {
        "a": traffic("a", published=30, by_peer={"b": 8}, by_hops={1: 6, 2: 2}),
        "b": traffic("b", delivered=40, relayed=2, by_peer={"a": 12}, dropped={"slow": 2}),
    }
    kept.see(2 * SECOND_US, now, views())
    (point,) = kept.figures(views()).points
    assert (point.brokers, point.clients) == (2, 2)
    assert (point.published_per_s, point.delivered_per_s) == (10.0, 20.0)
    assert (point.carried_per_s, point.relayed_per_s, point.dropped_per_s) == (10.0, 1.0, 1.0)
    assert point.messages_per_delivery == 0.5
    assert (point.delay_p50_ms, point.delay_p99_ms) == (1.0, 2.0)  # hops of half of 2 ms
    assert kept.rates.links == {("a", "b"): 10.0}
    assert kept.figures(views()).dropped == {"slow": 2}
    assert kept.figures(views()).waiting == 4
    assert kept.figures(views(), since_us=2 * SECOND_US).points == ()


def test_a_broker_that_was_started_again_or_came_counts_from_the_next_look() -> None:
    kept = FiguresKept()
    kept.see(0, {"a": traffic("a", published=1_000)}, views())
    kept.see(SECOND_US, {"a": traffic("a", published=3), "b": traffic("b", published=9)}, views())
    assert kept.figures(views()).points[-1].published_per_s == 0.0
    kept.see(
        2 * SECOND_US, {"a": traffic("a", published=5), "b": traffic("b", published=10)}, views()
    )
    assert kept.figures(views()).points[-1].published_per_s == 3.0


def test_what_is_kept_does_not_grow_without_end() -> None:
    kept = FiguresKept()
    for second in range(POINTS_MAX + 10):
        kept.see(second * SECOND_US, {"a": traffic("a")}, views())
    points = kept.figures(views()).points
    assert len(points) == POINTS_MAX
    assert points[-1].time_us == (POINTS_MAX + 9) * SECOND_US


@given(st.lists(st.integers(0, 5), min_size=1), st.sampled_from([0.5, 0.9, 0.99, 1.0]))
def test_a_quantile_is_that_of_all_values_written_out(values: list[int], share: float) -> None:
    found = quantile(Counter(map(float, values)), share)
    assert found == np.quantile(values, share, method="inverted_cdf")


def test_a_network_has_all_brokers_of_its_overlay_and_its_links_have_their_traffic() -> None:
    kept = FiguresKept()
    kept.see(0, {"a": traffic("a"), "b": traffic("b")}, views())
    kept.see(SECOND_US, {"a": traffic("a", by_peer={"b": 3}), "b": traffic("b")}, views())
    state = network_state(views(), kept.rates, {})
    assert [(one.broker, one.is_alive) for one in state.brokers] == [
        ("a", True),
        ("b", True),
        ("c", False),
    ]
    assert state.brokers[2].state == "does not answer"
    assert (state.brokers[0].clients, state.brokers[0].sessions) == (1, 2)
    assert state.links == (("a", "b"), ("b", "c"))
    assert [(one.one, one.other, one.messages_per_s) for one in state.traffic] == [("a", "b", 3.0)]


def test_topics_are_the_most_wanted_first_and_can_be_looked_for() -> None:
    page = topic_page(views())
    assert [(one.filter, one.wanted, one.brokers) for one in page.topics] == [
        ("t", 3, ("a", "b")),
        ("u", 1, ("a",)),
    ]
    assert topic_page(views(), search="U").total == 1
    own = topic_page(views(), broker="b").topics
    assert [(one.filter, one.wanted, one.brokers) for one in own] == [("t", 1, ("a", "b"))]
    limited = topic_page(views(), limit=1)
    assert (limited.total, len(limited.topics)) == (2, 1)
