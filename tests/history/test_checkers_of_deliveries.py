from __future__ import annotations

from typing import Any

import pytest
from histories import delivered, published, subscribed

from meshwright.history.duplicated import duplicated
from meshwright.history.history import History, Oddity
from meshwright.history.manners import unmannerly
from meshwright.history.reordered import reordered
from meshwright.history.unexpected import unexpected


def twice(qos: int, **again: Any) -> History:
    """One publication that came, and came again."""
    history = History()
    published(history, qos=qos)
    subscribed(history)
    delivered(history, qos=qos)
    delivered(history, qos=qos, at_us=300, **again)
    return history


@pytest.mark.parametrize("again", [{}, {"is_duplicate": True}, {"connection": 2}], ids=str)
def test_qos_2_comes_once_without_excuse(again: dict[str, Any]) -> None:
    (violation,) = duplicated(twice(2, **again))
    assert violation.event == ("p", 1)
    assert "s got p:1 on a with QoS 2" in violation.sentence


def test_qos_1_comes_again_only_as_a_duplicate_or_on_a_new_connection() -> None:
    assert duplicated(twice(1))
    assert not duplicated(twice(1, is_duplicate=True))
    assert not duplicated(twice(1, connection=2))


def test_qos_0_comes_again_only_on_a_new_connection() -> None:
    assert duplicated(twice(0))
    assert duplicated(twice(0, is_duplicate=True))
    assert not duplicated(twice(0, connection=2))


def test_a_publisher_that_sent_again_excuses_qos_1_but_not_qos_2() -> None:
    for qos in (1, 2):
        history = twice(qos)
        history.publications["p", 1].resend_count = 1
        assert bool(duplicated(history)) == (qos == 2)


def test_two_sessions_of_a_client_are_judged_apart() -> None:
    history = twice(2, connection=2)
    history.connected("s", "b0", 5, session_present=False)
    history.connected("s", "b0", 250, session_present=True)
    assert duplicated(history)
    history.connections["s"][1].session_present = False
    assert not duplicated(history)
    published(history, 0, qos=2)
    delivered(history, 0, qos=2, at_us=400, connection=3)
    assert reordered(history)
    history.connected("s", "b0", 350, session_present=False)
    assert not reordered(history)


def test_a_retained_message_is_no_duplicate() -> None:
    assert not duplicated(twice(2, is_retained=True))


@pytest.mark.parametrize(
    ("filters", "copies"),
    [
        (("a", "#"), 1),
        (("$share/one/a",), 1),
        (("$share/one/a", "a"), 2),
        (("$share/one/a", "$share/two/a"), 2),
        (("$share/one/a", "$share/one/+", "$share/two/a", "#"), 4),
        (("$share/one/a", "$share/one/b"), 1),
    ],
    ids=str,
)
def test_each_shared_subscription_of_a_client_brings_a_copy_of_its_own(
    filters: tuple[str, ...], copies: int
) -> None:
    history = History()
    published(history, qos=2)
    for text in filters:
        subscribed(history, filter_text=text)
    for number in range(copies):
        delivered(history, qos=2, at_us=200 + number)
    assert not duplicated(history)
    delivered(history, qos=2, at_us=300)
    assert len(duplicated(history)) == 1


def test_a_copy_that_comes_again_is_held_against_its_own_and_not_the_other_copy() -> None:
    history = History()
    published(history, qos=2)
    subscribed(history, filter_text="a", qos=2)
    subscribed(history, filter_text="$share/one/a", qos=1)
    for connection in (1, 2):
        history.connected("s", "b0", 100 * connection, session_present=connection == 2)
        delivered(history, qos=1, is_duplicate=connection == 2, connection=connection)
    delivered(history, qos=2, connection=2)
    assert not duplicated(history)
    delivered(history, qos=2, connection=2)
    assert len(duplicated(history)) == 1


def test_of_qos_2_one_member_of_a_group_gets_a_message_and_of_qos_1_two_may() -> None:
    history = History()
    for client in ("s", "t", "alone"):
        text = "a" if client == "alone" else "$share/one/a"
        subscribed(history, client, filter_text=text)
    for sequence, qos in ((1, 1), (2, 2)):
        published(history, sequence, qos=qos)
        for client in ("s", "t", "alone"):
            delivered(history, sequence, qos=qos, client=client)
    (violation,) = duplicated(history)
    assert violation.event == ("p", 2)
    subscribed(history, "t", filter_text="$share/two/a")
    assert not duplicated(history)


def test_the_same_publication_to_two_clients_is_no_duplicate() -> None:
    history = History()
    published(history, qos=2)
    delivered(history, qos=2)
    delivered(history, qos=2, client="other")
    assert not duplicated(history)


def in_order(*sequences: int, qos: int = 1) -> History:
    history = History()
    for sequence in sorted(set(sequences)):
        published(history, sequence, at_us=100 + sequence, qos=qos)
    for place, sequence in enumerate(sequences):
        delivered(history, sequence, at_us=200 + place, qos=qos)
    return history


def test_a_later_publication_that_came_first_is_out_of_order() -> None:
    (violation,) = reordered(in_order(1, 3, 2, 4))
    assert violation.event == ("p", 2)
    assert "after p:3" in violation.sentence


def test_gaps_and_repetitions_are_not_out_of_order() -> None:
    assert not reordered(in_order(1, 3, 1, 3, 7))


@pytest.mark.parametrize(
    ("granted_us", "ended_us", "qos", "is_wrong"),
    [(20, None, 1, True), (500, None, 1, False), (20, 50, 1, False), (20, None, 0, False)],
)
def test_who_came_while_qos_1_was_sent_again_may_have_missed_the_first_copy(
    granted_us: int, ended_us: int | None, qos: int, is_wrong: bool
) -> None:
    history = History()
    subscribed(history, granted_us=granted_us, ended_us=ended_us, qos=qos)
    for sequence in (1, 2):
        published(history, sequence, at_us=100 + sequence).resend_count = 1
    for sequence in (2, 1, 2):
        delivered(history, sequence, at_us=600)
    assert bool(reordered(history)) is is_wrong


def test_who_had_asked_for_the_end_may_have_missed_the_first_copy_of_what_is_sent_again() -> None:
    history = History()
    subscribed(history).end_requested_us = 50
    subscribed(history, requested_us=500, granted_us=550)
    for sequence in (1, 2):
        published(history, sequence, at_us=100 + sequence).resend_count = 1
    for sequence in (2, 1):
        delivered(history, sequence, at_us=600)
    assert not reordered(history)


def test_order_is_judged_for_each_topic_qos_publisher_and_client_alone() -> None:
    history = History()
    published(history, 1, topic="a", qos=1)
    published(history, 2, topic="b", qos=1)
    published(history, 3, topic="a", qos=2)
    published(history, 4, topic="a", qos=1)
    published(history, 1, publisher="q", topic="a", qos=1)
    delivered(history, 4, client="other")
    delivered(history, 3, qos=2)
    delivered(history, 2, topic="b")
    delivered(history, 1)
    delivered(history, 1, publisher="q")
    assert not reordered(history)


def test_shared_subscriptions_and_retained_messages_have_no_order() -> None:
    history = in_order(2, 1)
    subscribed(history, filter_text="$share/group/a")
    assert not reordered(history)
    history = in_order(2)
    published(history, 1)
    delivered(history, 1, is_retained=True, at_us=900)
    assert not reordered(history)


def test_a_delivery_that_a_subscription_explains_is_expected() -> None:
    history = History()
    subscribed(history, granted_us=None)
    published(history, at_us=5)
    delivered(history, at_us=11)
    assert not unexpected(history)


@pytest.mark.parametrize(
    ("subscription", "reason"),
    [
        ({"filter_text": "b"}, "no subscription matches it"),
        ({"filter_text": "$where/value>1/a"}, "no subscription matches it"),
        ({"client": "other"}, "no subscription matches it"),
        ({"requested_us": 300}, "from 0.000300 s"),
        ({"ended_us": 90}, "to 0.000090 s"),
        ({"qos": 0}, "(QoS 0)"),
        ({"ended_us": 150, "connection_last": 0}, "to 0.000150 s"),
    ],
    ids=str,
)
def test_a_delivery_that_no_subscription_explains_is_unexpected(
    subscription: dict[str, Any], reason: str
) -> None:
    history = History()
    subscribed(history, **subscription)
    published(history, at_us=100)
    delivered(history, at_us=200)
    (violation,) = unexpected(history)
    assert reason in violation.sentence


def test_what_was_sent_before_the_end_may_still_come_after_it() -> None:
    history = History()
    subscribed(history, ended_us=150)
    published(history, at_us=100)
    delivered(history, at_us=900)
    assert not unexpected(history)


def test_what_nobody_sent_or_what_was_changed_on_its_way_is_unexpected() -> None:
    history = History()
    subscribed(history, filter_text="#")
    published(history, 1, topic="b")
    published(history, 2, qos=0)
    for sequence in (1, 2, 3):
        delivered(history, sequence)
    reasons = [one.sentence.rpartition("but ")[2] for one in unexpected(history)]
    assert reasons == [
        "it was published on b",
        "it was published with QoS 0",
        "nobody published it",
    ]


def test_a_broken_rule_of_mqtt_is_told_with_who_broke_it() -> None:
    history = History()
    assert unmannerly(history) == []
    history.oddities.append(Oddity(7, "s", "b0", "a second CONNACK"))
    (violation,) = unmannerly(history)
    assert violation.sentence == "b0 sent s at 0.000007 s a second CONNACK"
    assert violation.client == "s"


def test_a_copy_of_what_came_as_a_retained_message_is_not_out_of_order() -> None:
    def history(resend_count: int) -> History:
        found = History()
        subscribed(found)
        for sequence in (1, 2):
            published(found, sequence, at_us=100 + sequence).resend_count = resend_count
        delivered(found, 1, qos=1, at_us=200, is_retained=True)
        delivered(found, 2, qos=1, at_us=300)
        delivered(found, 1, qos=1, at_us=400)
        return found

    assert not reordered(history(1))
    assert reordered(history(0))


def test_a_session_that_began_after_a_message_was_not_there_for_its_first_copy() -> None:
    history = History()
    history.connected("s", "b0", 5, session_present=False)
    subscribed(history)
    for sequence in (1, 2):
        published(history, sequence, at_us=100 + sequence).resend_count = 1
    history.connected("s", "b1", 200, session_present=False)
    subscribed(history, requested_us=210, granted_us=220)
    for sequence in (2, 1):
        delivered(history, sequence, qos=1, at_us=300, connection=2)
    assert not reordered(history)
    history.connections["s"][1].session_present = True
    assert reordered(history)
