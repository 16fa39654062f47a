"""Who is lost, since when, and who is back."""

from __future__ import annotations

from broker_views import view

from meshwright.manager.views.losses import Change, Losses
from meshwright.planning.founding import founding_overlay

OVERLAY = founding_overlay("chord", ("b0", "b1", "b2"))


def test_a_broker_is_lost_once_and_back_once_and_since_when_is_known() -> None:
    all_of_them = {name: view(name, OVERLAY) for name in OVERLAY.brokers}
    rest = {name: one for name, one in all_of_them.items() if name != "b1"}
    losses = Losses()
    assert losses.see(1, all_of_them) == Change((), ())
    assert losses.see(2, rest) == Change(("b1",), ())
    assert losses.see(3, rest) == Change((), ())
    assert losses.since_us == {"b1": 2}
    assert losses.see(4, all_of_them) == Change((), ("b1",))
    assert losses.since_us == {}
