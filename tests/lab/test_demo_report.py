"""What a demonstration says of the two times that it compares."""

from __future__ import annotations

from meshwright.lab.demo import Act
from meshwright.lab.demo_report import other_traffic
from meshwright.lab.live_measures import Measures, Window

NOTHING = Measures(deliveries=0, messages=0, relayed=0, arrivals=0, arrival_hops=0)


def act(rate: float) -> Act:
    return Act(Window(0, 1), rate, {}, NOTHING, {}, 0.0, 0)


def test_traffic_that_was_not_the_same_is_told() -> None:
    assert other_traffic(act(60.0), act(62.0)) == []
    (told,) = other_traffic(act(60.0), act(156.4))
    assert "60 times a second before and 156 after" in told
