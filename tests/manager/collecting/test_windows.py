"""How much telemetry there is, and what is said of it; what traffic says a delivery costs."""

from __future__ import annotations

from meshwright.live.telemetry.carried import CarriedCounts
from meshwright.manager.collecting.collection import Span
from meshwright.manager.collecting.measuring import Look, Measuring
from meshwright.manager.collecting.windows import windows_of
from meshwright.manager.settings import WindowSettings

SECOND_US = 1_000_000
SETTINGS = WindowSettings(length_s=60.0, needed=5)


def told(seconds: int) -> str:
    return windows_of(Span(since_us=0, until_us=seconds * SECOND_US), SETTINGS).told()


def test_what_is_there_and_when_it_is_enough_is_said() -> None:
    assert windows_of(None, SETTINGS).told() == ("collecting: 0 of 5 windows, ready in about 5 min")
    assert told(185) == "collecting: 3 of 5 windows, ready in about 2 min"
    assert told(290) == "collecting: 4 of 5 windows, ready in about 10 s"
    assert told(300) == "ready: 5 windows of telemetry, 5 are needed"


def seen(second: int, messages: int, delivered: int, *brokers: str) -> Look:
    counts = {name: CarriedCounts(entering=0, wanted=messages, relayed=0) for name in brokers}
    return Look(second * SECOND_US, counts, delivered)


def test_a_delivery_costs_what_brokers_carried_for_it_in_the_last_while() -> None:
    measuring = Measuring(10 * SECOND_US)
    for second in range(5):
        measuring.see(seen(second, 100 * second, 50 * second, "b0", "b1"))
        assert measuring.cost() is None  # not long enough
    for second in range(5, 40):
        # From here on each delivery takes half as much.
        measuring.see(seen(second, 400 + 50 * (second - 4), 50 * second, "b0", "b1"))
    assert measuring.cost() == 2.0
    measuring.forget()
    assert measuring.cost() is None


def test_counting_begins_anew_when_a_broker_was_started_again_or_left() -> None:
    measuring = Measuring(2 * SECOND_US)
    for second in range(4):
        measuring.see(seen(second, 10 * second, second, "b0", "b1"))
    assert measuring.cost() == 20.0
    measuring.see(seen(4, 1, 0, "b0", "b1"))
    assert measuring.cost() is None
    measuring.see(seen(7, 31, 3, "b0", "b1"))
    assert measuring.cost() == 20.0
    measuring.see(seen(9, 51, 5, "b0"))
    assert measuring.cost() is None


def test_a_broker_that_once_does_not_answer_in_time_ends_no_measurement() -> None:
    measuring = Measuring(4 * SECOND_US)
    for second in range(8):
        is_late = second % 3 == 2
        brokers = ("b0",) if is_late else ("b0", "b1")
        measuring.see(seen(second, 10 * second, second, *brokers))
    assert measuring.cost() == 20.0
    measuring.see(seen(11, 110, 11, "b0", "b1"))
    assert measuring.cost() == 20.0
    measuring.see(seen(15, 150, 15, "b0"))
    assert measuring.cost() is None


def test_nothing_delivered_is_no_cost() -> None:
    measuring = Measuring(SECOND_US)
    for second in range(4):
        measuring.see(seen(second, 10 * second, 7, "b0"))
    assert measuring.cost() is None
