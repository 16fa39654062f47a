from __future__ import annotations

from typing import Any

import pytest
from histories import delivered, published, subscribed

from meshwright.history.history import Abandoned, Connected, History, SessionLost
from meshwright.history.lost import lost


def test_an_owed_publication_that_never_came_is_lost_and_the_facts_are_told() -> None:
    history = History()
    published(history, 7)
    subscribed(history)
    (violation,) = lost(history)
    assert violation.event == ("p", 7)
    assert violation.client == "s"
    assert violation.topic == "a"
    assert "s never got p:7 on a" in violation.sentence
    assert "acknowledged by b0 at 0.000150 s" in violation.sentence


def test_a_publication_that_came_is_not_lost_however_late() -> None:
    history = History()
    published(history)
    subscribed(history)
    delivered(history, at_us=10**9)
    assert lost(history) == []


def test_a_delivery_to_one_client_does_not_count_for_another() -> None:
    history = History()
    published(history)
    subscribed(history, "s")
    subscribed(history, "other")
    delivered(history, client="s")
    assert [one.client for one in lost(history)] == ["other"]


def test_overlapping_subscriptions_of_a_client_are_owed_one_delivery() -> None:
    history = History()
    published(history)
    subscribed(history, filter_text="a")
    subscribed(history, filter_text="#")
    assert len(lost(history)) == 1
    delivered(history)
    assert lost(history) == []


@pytest.mark.parametrize(
    "case",
    [
        {"qos": 0},
        {"acknowledged_us": None},
        {"at_us": 20},
        {"topic": "b"},
        {"value": "0"},
    ],
    ids=str,
)
def test_what_was_not_promised_is_not_owed(case: dict[str, Any]) -> None:
    history = History()
    subscribed(history, filter_text="$where/value>0/a")
    published(history, **case)
    assert lost(history) == []


@pytest.mark.parametrize("case", [{"qos": 0}, {"granted_us": None}, {"ended_us": 300}], ids=str)
def test_a_subscription_that_is_weaker_or_did_not_stand_is_owed_nothing(
    case: dict[str, Any],
) -> None:
    history = History()
    subscribed(history, **case)
    published(history)
    assert lost(history) == []


def test_a_shared_subscription_is_owed_a_publication_once_in_its_group() -> None:
    history = History()
    published(history)
    subscribed(history, "s", filter_text="$share/group/a")
    subscribed(history, "other", filter_text="$share/group/a")
    assert lost(history)
    delivered(history, client="other")
    assert lost(history) == []


def test_a_forgotten_session_is_a_loss_unless_its_broker_never_returns() -> None:
    history = History()
    history.sessions_lost.append(SessionLost(500, "s", "b0", "b1"))
    assert ["forgotten" in one.sentence for one in lost(history)] == [True]
    history.gone_us["b0"] = 400
    assert lost(history) == []


def test_what_a_broker_alone_held_goes_with_it() -> None:
    history = History()
    published(history, broker="b0")
    subscribed(history)
    history.connections["s"] = [Connected("s", "b2", 1, 5, session_present=False)]
    assert lost(history)
    history.gone_us["b0"] = 160
    assert lost(history) == []


def test_the_queue_of_a_client_goes_with_the_broker_that_held_it() -> None:
    history = History()
    published(history, broker="b0", at_us=100)
    published(history, 2, broker="b0", at_us=900, acknowledged_us=950)
    subscribed(history)
    history.connections["s"] = [
        Connected("s", "b1", 1, 5, session_present=False, ended_us=200),
        Connected("s", "b2", 2, 600, session_present=True),
    ]
    history.gone_us["b1"] = 200
    assert [one.event for one in lost(history)] == [("p", 2)]


def test_a_client_that_had_moved_away_before_is_owed_everything() -> None:
    history = History()
    published(history, broker="b0", at_us=100)
    subscribed(history)
    history.connections["s"] = [
        Connected("s", "b1", 1, 5, session_present=False, ended_us=30),
        Connected("s", "b2", 2, 60, session_present=True),
    ]
    history.gone_us["b1"] = 200
    assert lost(history)


@pytest.mark.parametrize(
    ("other", "qos", "is_owed"),
    [
        ({}, 2, True),
        ({"qos": 0}, 2, False),
        ({"ended_us": 500}, 2, False),
        ({"ended_us": 500}, 1, True),
        ({"ended_us": 500, "qos": 1}, 2, True),
        ({"ended_us": 50}, 2, True),
        ({"qos": 0, "ended_us": 50}, 2, True),
    ],
    ids=str,
)
def test_a_group_is_owed_a_message_unless_a_member_may_have_taken_it_along(
    other: dict[str, Any], qos: int, is_owed: bool
) -> None:
    history = History()
    published(history, at_us=100, qos=qos)
    subscribed(history, filter_text="$share/group/a")
    subscribed(history, "other", filter_text="$share/group/a", **other)
    assert bool(lost(history)) == is_owed


@pytest.mark.parametrize(
    ("since_us", "until_us", "is_owed"),
    [(50, 90, True), (50, 100, False), (50, None, False), (5, None, True), (70, None, True)],
)
def test_who_left_without_a_word_may_take_along_what_comes_before_its_broker_knows(
    since_us: int, until_us: int | None, is_owed: bool
) -> None:
    history = History()
    published(history, at_us=100, qos=2)
    subscribed(history, filter_text="$share/group/a")
    subscribed(history, "other", filter_text="$share/group/a", ended_us=50)
    history.connected("other", "b1", 9, session_present=False)
    history.connected("other", "b2", 60, session_present=False)
    history.abandoned = [Abandoned("other", since_us, until_us), Abandoned("third", 50)]
    assert bool(lost(history)) == is_owed
