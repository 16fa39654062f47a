from __future__ import annotations

import pytest
from histories import delivered, published, subscribed

from meshwright.history.across_topics import reordered_across
from meshwright.history.history import Abandoned, History


def turned_around(*, reader_broker: str, qualities: tuple[int, int] = (1, 1)) -> History:
    """The second of two messages on two topics came first."""
    history = History()
    history.connected("p", "b0", 1, session_present=False)
    history.connected("s", reader_broker, 1, session_present=False)
    subscribed(history, filter_text="#")
    published(history, 1, topic="a", at_us=100)
    published(history, 2, topic="b", at_us=110)
    delivered(history, 2, topic="b", qos=qualities[1], broker=reader_broker)
    delivered(history, 1, topic="a", qos=qualities[0], broker=reader_broker)
    return history


def test_clients_of_one_broker_have_an_order_across_topics() -> None:
    found = reordered_across(turned_around(reader_broker="b0"))
    assert [one.event for one in found] == [("p", 1)]


def test_clients_of_two_brokers_have_it_only_on_topics_that_are_named() -> None:
    history = turned_around(reader_broker="b1")
    assert reordered_across(history) == []
    history.ordered = ("a",)
    assert reordered_across(history) == []
    history.ordered = ("a", "b")
    assert [one.event for one in reordered_across(history)] == [("p", 1)]


def test_a_client_that_may_have_its_session_elsewhere_is_of_no_broker() -> None:
    history = turned_around(reader_broker="b0")
    history.abandoned.append(Abandoned("p", 5))
    assert reordered_across(history) == []


@pytest.mark.parametrize(
    ("qualities", "count"), [((2, 2), 1), ((0, 0), 1), ((0, 1), 0), ((2, 1), 0)]
)
def test_what_comes_with_each_qos_has_an_order_of_its_own(
    qualities: tuple[int, int], count: int
) -> None:
    history = turned_around(reader_broker="b0", qualities=qualities)
    assert len(reordered_across(history)) == count


@pytest.mark.parametrize(("granted_us", "count"), [(195, 1), (205, 0), (None, 0)])
def test_between_brokers_a_new_subscription_has_an_order_of_its_own(
    granted_us: int | None, count: int
) -> None:
    history = History()
    history.ordered = ("a", "b")
    history.connected("p", "b0", 1, session_present=False)
    history.connected("s", "b1", 1, session_present=False)
    subscribed(history, filter_text="b")
    subscribed(history, filter_text="a", requested_us=10, ended_us=180)
    subscribed(history, filter_text="a", requested_us=190, granted_us=granted_us)
    published(history, 1, topic="a", at_us=100)
    published(history, 2, topic="b", at_us=110)
    delivered(history, 2, topic="b", at_us=200)
    delivered(history, 1, topic="a", at_us=300)
    assert len(reordered_across(history)) == count


def test_qos_0_may_come_before_what_waits_for_a_client_that_moved() -> None:
    history = turned_around(reader_broker="b0", qualities=(0, 0))
    history.publications["p", 2].qos = 0
    assert len(reordered_across(history)) == 1
    history.connected("mover", "b0", 1, session_present=False)
    history.connected("mover", "b1", 50, session_present=True)
    assert reordered_across(history) == []
    history.publications["p", 2].qos = 1
    assert len(reordered_across(history)) == 1
