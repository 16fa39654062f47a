from __future__ import annotations

import msgspec
from small_network import SmallNetwork

from meshwright.protocol.foundation.events import EmptyingGiven
from meshwright.protocol.inspection import BrokerView, InterestView, SubscriptionView
from meshwright.protocol.mqtt import packets


def test_an_operator_sees_sessions_interests_and_what_waits() -> None:
    network = SmallNetwork()
    network.connect("reader", "b0", session_expiry_s=60)
    network.subscribe("reader", "a/+")
    network.connect("writer", "b1")
    network.drop("reader")
    for number in range(3):
        network.publish("writer", "a/b", str(number))
    view = network.machines["b0"].view()
    assert view.broker == "b0"
    assert view.alive == ("b0", "b1", "b2")
    assert view.overlay == network.overlay
    assert view.interests == (InterestView("a/+", 1),)
    (session,) = view.sessions
    assert (session.client, session.is_connected, session.expiry_s) == ("reader", False, 60)
    assert session.subscriptions == (SubscriptionView("a/+", 1),)
    assert (session.queued, session.in_flight) == (3, 0)
    assert view.plan is None
    assert msgspec.json.decode(msgspec.json.encode(view), type=BrokerView) == view


def test_an_operator_sees_which_clients_cannot_be_sent_elsewhere_and_why() -> None:
    network = SmallNetwork()
    lasting = {"session_expiry_s": 60}
    network.connect("new", "b0", **lasting)
    for client in ("old", "older"):
        network.connect(client, "b0", **lasting, can_be_redirected=False)
    network.connect("fleeting", "b0", session_expiry_s=0)
    network.connect("willing", "b0", **lasting, will=packets.Will("t", b""))
    network.connect("patient", "b0", **lasting, will=packets.Will("t", b"", delay_s=5))
    view = network.machines["b0"].view()
    stuck = {one.client for one in view.sessions if one.stays}
    assert stuck == {"old", "older", "fleeting", "willing"}
    assert view.staying == {
        "it cannot be told where to go": 2,
        "its session would end with its connection": 1,
        "its will would go out": 1,
    }


def test_an_operator_sees_that_a_broker_is_being_emptied() -> None:
    network = SmallNetwork()
    assert not network.machines["b0"].view().is_emptying
    network.tell("b0", EmptyingGiven(is_on=True))
    assert network.machines["b0"].view().is_emptying
