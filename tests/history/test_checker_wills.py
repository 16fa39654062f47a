from __future__ import annotations

from typing import Any

import pytest
from histories import delivered, published, subscribed

from meshwright.history.history import Connected, History, Outage, Willed
from meshwright.history.judgement import violations

SECOND_US = 1_000_000


def willed(history: History, sequence: int = 1, **facts: Any) -> Willed:
    """A will of `p` on `a` at broker b0, whose connection broke at 20 s, which b0 heard."""
    usual = {
        "delay_us": 0, "broker": "b0", "sent_us": 10 * SECOND_US, "opened_us": 10 * SECOND_US,
        "keeper": "b0", "ended_us": 20 * SECOND_US, "heard_us": 20 * SECOND_US,
    }  # fmt: skip
    will = Willed("p", "p.will", sequence, "a", 1, (), **{**usual, **facts})
    history.wills[will.publisher, will.sequence] = will
    return will


def came(history: History, at_s: float, **facts: Any) -> None:
    """Somebody got the will."""
    delivered(history, publisher="p.will", at_us=int(at_s * SECOND_US), **facts)


def watched() -> History:
    """A history with somebody who wants all that comes on `a`."""
    history = History()
    subscribed(history)
    history.connections["s"] = [Connected("s", "b1", 1, 5, session_present=False)]
    return history


def found(history: History) -> list[str]:
    return [one.checker for one in violations(history)]


def test_a_will_that_came_is_all_right() -> None:
    history = watched()
    willed(history)
    came(history, 20.1)
    assert violations(history) == []


def test_a_will_that_never_came_is_lost() -> None:
    history = watched()
    willed(history)
    (violation,) = violations(history)
    assert violation.checker == "lost"
    assert "s never got p.will:1 on a" in violation.sentence


@pytest.mark.parametrize(
    "facts",
    [
        {"is_taken_back": True},
        {"is_taken_back": True, "heard_us": None},
        {"opened_us": None, "keeper": None},
        {"opened_us": None, "keeper": None, "is_refused": True},
        {"ended_us": None, "heard_us": None},
        {"delay_us": SECOND_US},
    ],
    ids=str,
)
def test_a_will_that_need_not_come_is_not_missed(facts: dict[str, Any]) -> None:
    history = watched()
    willed(history, **facts)
    assert violations(history) == []


def test_a_will_is_not_owed_to_who_asked_later() -> None:
    history = History()
    subscribed(history, requested_us=20 * SECOND_US, granted_us=20 * SECOND_US)
    willed(history)
    assert violations(history) == []


def test_a_will_that_went_with_its_broker_is_not_missed() -> None:
    history = watched()
    willed(history)
    history.gone_us["b0"] = 19 * SECOND_US
    assert violations(history) == []


def test_a_will_with_a_delay_is_owed_when_nobody_came_back_in_time() -> None:
    for back_s, is_owed in ((22.5, True), (21.5, False)):
        history = watched()
        willed(history, delay_us=2 * SECOND_US)
        back_us = int(back_s * SECOND_US)
        willed(history, 2, sent_us=back_us, opened_us=back_us, ended_us=None, heard_us=None)
        assert found(history) == ["lost"] * is_owed


def test_a_will_with_a_delay_may_be_replaced_by_one_that_was_left_behind_unanswered() -> None:
    for delay_s in (0, 2):
        history = watched()
        left = {"sent_us": 9 * SECOND_US, "opened_us": None, "is_abandoned": True}
        willed(history, **left, ended_us=10 * SECOND_US)
        willed(history, 2, delay_us=delay_s * SECOND_US)
        back_us = 30 * SECOND_US
        willed(history, 3, sent_us=back_us, opened_us=back_us, ended_us=None, heard_us=None)
        assert found(history) == ["lost"] * (not delay_s)


def test_a_delay_counts_from_when_a_crashed_broker_is_up_again() -> None:
    for until_s, is_owed in ((20.1, True), (21.0, False), (None, False)):
        history = watched()
        willed(history, delay_us=2 * SECOND_US, heard_us=None)
        back_us = int(22.5 * SECOND_US)
        willed(history, 2, sent_us=back_us, opened_us=back_us, ended_us=None, heard_us=None)
        until_us = None if until_s is None else int(until_s * SECOND_US)
        history.outages = [Outage("b0", 19 * SECOND_US, until_us)]
        assert found(history) == ["lost"] * is_owed


def test_a_will_comes_once() -> None:
    history = watched()
    willed(history)
    came(history, 20.1)
    came(history, 20.2)
    assert found(history) == ["duplicated"]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"is_taken_back": True}, "b0 heard its client say goodbye at 20.000000 s"),
        ({"opened_us": None, "is_refused": True}, "b0 refused the connection it was given for"),
        ({"ended_us": None, "heard_us": None}, "the connection it was given for stands"),
        ({"delay_us": SECOND_US}, "it was not due before 20.900000 s"),
        ({"ended_us": 21 * SECOND_US}, "it was not due before 20.900000 s"),
    ],
    ids=str,
)
def test_a_will_that_must_not_come_is_found(facts: dict[str, Any], words: str) -> None:
    history = watched()
    willed(history, **facts)
    came(history, 20.5)
    (violation,) = violations(history)
    assert violation.checker == "wills"
    assert violation.sentence.endswith(f"but {words}")


@pytest.mark.parametrize(
    "facts",
    [
        {"is_taken_back": True, "heard_us": None},
        {"is_taken_back": True, "keeper": "b1"},
        {"opened_us": None, "keeper": None},
        {"ended_us": 25 * SECOND_US, "keeper": "b1"},
    ],
    ids=str,
)
def test_a_will_may_come_in_the_races_that_mqtt_leaves_open(facts: dict[str, Any]) -> None:
    history = watched()
    history.has_losses = True
    willed(history, **facts)
    came(history, 20.5)
    assert violations(history) == []


def test_a_goodbye_reaches_home_unless_brokers_lose_each_other_or_crash() -> None:
    for outages, is_amiss in (
        ([], True),
        ([Outage("b1", 1, 2)], False),
        ([Outage("b2", 1, 2)], True),
    ):
        history = watched()
        willed(history, is_taken_back=True, keeper="b1")
        history.outages = outages
        came(history, 20.5)
        assert found(history) == ["wills"] * is_amiss


def test_a_goodbye_is_forgotten_only_in_a_crash_right_after_it() -> None:
    for crash_s, is_amiss in ((20.5, False), (30.0, True), (19.0, True)):
        history = watched()
        willed(history, is_taken_back=True)
        since_us = int(crash_s * SECOND_US)
        history.outages = [Outage("b0", since_us, since_us + SECOND_US)]
        came(history, 40)
        assert found(history) == ["wills"] * is_amiss


def test_a_will_must_not_come_after_a_return_in_time() -> None:
    for back_s, is_amiss in ((21.5, True), (22.1, False)):
        history = watched()
        willed(history, delay_us=2 * SECOND_US)
        back_us = int(back_s * SECOND_US)
        willed(history, 2, sent_us=20 * SECOND_US, opened_us=back_us, ended_us=None, heard_us=None)
        came(history, 25)
        assert found(history) == ["wills"] * is_amiss


def test_a_new_session_in_place_of_the_old_one_has_the_will_published() -> None:
    for is_clean_start in (False, True):
        history = watched()
        willed(history, delay_us=5 * SECOND_US)
        back_us = 22 * SECOND_US
        willed(history, 2, sent_us=back_us, is_clean_start=is_clean_start, opened_us=None)
        came(history, 22.1)
        assert found(history) == ["wills"] * (not is_clean_start)


def test_a_will_comes_after_what_its_client_knew_to_be_safe() -> None:
    for acknowledged_s, is_amiss in ((19, True), (21, False)):
        history = watched()
        one = published(history, at_us=15 * SECOND_US)
        one.acknowledged_us = acknowledged_s * SECOND_US
        willed(history)
        came(history, 20.1)
        delivered(history, at_us=22 * SECOND_US)
        assert found(history) == ["wills"] * is_amiss


def test_a_will_of_a_new_session_need_not_wait_for_what_was_sent_in_another_one() -> None:
    """Also if the client went on in the old one, as it never heard of the new one."""
    for is_clean_start in (False, True):
        history = watched()
        published(history, at_us=9 * SECOND_US, acknowledged_us=9 * SECOND_US)
        willed(history, is_clean_start=is_clean_start, opened_us=None, is_abandoned=True)
        came(history, 20.1)
        delivered(history, at_us=22 * SECOND_US)
        assert found(history) == ["wills"] * (not is_clean_start)
