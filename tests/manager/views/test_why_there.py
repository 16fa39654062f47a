from __future__ import annotations

from pathlib import Path

from changing_networks import plan_of

from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.saved_plans import Order, PlanState, PlanStore
from meshwright.manager.views.watching import Watching
from meshwright.model.overlay import Overlay

PAIR = Overlay(design="tree", brokers=("a", "b"), links=(("a", "b"),), params={"fanout": 2})


def test_who_moved_is_where_the_last_order_put_it(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    watching = Watching(tmp_path, RunningNetwork(tmp_path), store)
    plan = plan_of(PAIR, PAIR, ("ann", "a", "b"))
    saved = store.add(1, "running").become(PlanState.PROPOSED, plan=plan)
    put = {("ann", "b"): "plan p1 put it here: to see it move"}
    back = {("ann", "a"): "plan p1, which had moved it, was undone"}
    assert watching._why_there() == {}
    for action, states, reasons in (
        ("apply", (PlanState.APPLYING, PlanState.APPLIED), put),
        ("undo", (PlanState.UNDOING, PlanState.UNDONE), back),
        ("apply", (PlanState.APPLYING, PlanState.APPLIED), put),
    ):
        order = Order(action=action, leader="a", plan="x", after_epoch=0, given_us=1)
        for state in states:
            saved = store.write(saved.become(state, order=order))
            assert watching._why_there() == reasons
    store.write(saved.become(PlanState.UNDOING).become(PlanState.SUPERSEDED))
    assert watching._why_there() == {}
