"""Messages of a group that come to a member twice, or go along with it."""

from __future__ import annotations

import pytest
from shared_crews import CREW, GONE, GROUP, TOPIC, crewed, keeper, left_behind, others
from small_network import SmallNetwork

from meshwright.protocol.peers.conversations import ConversationSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.shared.messages import Handed


def handed_twice(**options: object) -> SmallNetwork:
    """A message that ann has not answered comes back to her under another number."""
    network = crewed(**options)
    network.unsubscribe("cid", GROUP)
    network.connect("sender", keeper(network))
    network.publish("sender", TOPIC, "x", 1)
    assert network.payloads("ann") == ["x"]
    network.separate(one=network.connected["ann"], other=keeper(network))
    network.advance(6)
    assert network.payloads("bob") == ["x"]
    network.cut.clear()
    network.advance(2)
    network.connect("bob", network.connected["bob"], clean_start=True)
    hands = {body.hand for _, _, body in network.sent if isinstance(body, Handed)}
    assert len(hands) == 3
    network.subscribe("cid", GROUP)
    return network


@pytest.mark.parametrize("crashes", ["nobody", "member", "keeper"])
def test_what_was_handed_twice_goes_to_another_when_the_session_ends(crashes: str) -> None:
    network = handed_twice(session_expiry_s=600)
    ann_at = network.connected["ann"]
    if crashes != "nobody":
        crashed = ann_at if crashes == "member" else keeper(network)
        network.crash(crashed)
        network.start(crashed)
        network.advance(2)
    network.connect("ann", ann_at, clean_start=True)
    network.advance(1)
    assert network.payloads("cid") == ["x"]
    network.answer_all("cid")
    network.advance(2)
    assert left_behind(network) == []


@pytest.mark.parametrize("crashes", [False, True])
def test_what_was_handed_twice_is_answered_once_for_both(*, crashes: bool) -> None:
    network = handed_twice(session_expiry_s=600)
    ann_at = network.connected["ann"]
    if crashes:
        network.crash(ann_at)
        network.start(ann_at)
        network.forget("ann")
        network.connect("ann", ann_at, session_expiry_s=600)
        network.advance(2)
    assert network.payloads("ann") == ["x"]
    network.answer_all("ann")
    network.advance(2)
    network.connect("ann", ann_at, clean_start=True)
    network.advance(2)
    assert network.payloads("cid") == []
    assert left_behind(network) == []


def test_what_a_keeper_has_forgotten_is_forgotten_after_a_crash() -> None:
    network = crewed(session_expiry_s=600)
    network.connect("sender", keeper(network))
    network.publish("sender", TOPIC, "x", 1)
    ann_at = network.connected["ann"]
    network.hold(source=keeper(network), target=ann_at)
    network.answer_all("ann")
    network.crash(ann_at)
    network.held.clear()
    assert left_behind(network)
    network.start(ann_at)
    network.advance(2)
    assert left_behind(network) == []


def taken_along(settings: BrokerSettings | None = None, qos: int = 1) -> tuple[SmallNetwork, str]:
    """A message that ann has not answered where she was before; that broker."""
    network = crewed(session_expiry_s=600, settings=settings, qos=qos)
    for client in CREW[1:]:
        network.unsubscribe(client, GROUP)
    network.connect("sender", keeper(network))
    network.publish("sender", TOPIC, "x", qos)
    assert network.payloads("ann") == ["x"]
    former = network.connected["ann"]
    network.drop("ann")
    network.connect("ann", others(network)[3], session_expiry_s=600)
    network.advance(1)
    network.subscribe("cid", GROUP, qos)
    return network, former


@pytest.mark.parametrize("crashes", ["nobody", "former", "keeper"])
def test_what_a_member_took_along_goes_to_another_when_its_session_ends(crashes: str) -> None:
    network, former = taken_along()
    if crashes != "nobody":
        crashed = former if crashes == "former" else keeper(network)
        network.crash(crashed)
        network.start(crashed)
        network.advance(2)
    network.connect("ann", network.connected["ann"], clean_start=True)
    network.advance(2)
    assert network.payloads("cid") == ["x"]
    network.answer_all("cid")
    network.advance(2)
    assert left_behind(network) == []


def test_what_a_member_took_along_goes_to_another_when_its_broker_is_gone_for_good() -> None:
    network, _ = taken_along(GONE)
    network.crash(network.connected["ann"])
    network.advance(60)
    assert network.payloads("cid") == ["x"]


def test_a_lost_answer_to_what_a_member_took_along_is_given_again() -> None:
    network, _ = taken_along(qos=2)
    ann_at = network.connected["ann"]
    network.crash(keeper(network))
    network.answer_all("ann")
    network.crash(ann_at)
    network.start(ann_at)
    network.start(keeper(network))
    network.connect("ann", ann_at, session_expiry_s=600)
    network.advance(2)
    assert [one.is_duplicate for one in network.messages("ann")] == [False, True]
    assert network.payloads("cid") == []
    assert left_behind(network) == []


def test_what_a_member_took_along_twice_is_answered_where_it_is() -> None:
    network, former = taken_along()
    network.drop("ann")
    network.connect("ann", former, session_expiry_s=600)
    network.advance(1)
    network.crash(keeper(network))
    network.start(keeper(network))
    network.advance(2)
    network.forget("ann")
    network.drop("ann")
    network.connect("ann", former, session_expiry_s=600)
    network.answer_all("ann")
    network.advance(2)
    assert (network.payloads("ann"), network.payloads("cid")) == (["x"], [])
    assert left_behind(network) == []


def test_more_than_a_conversation_lets_wait_is_handed_and_answered_after_a_crash() -> None:
    conversations = ConversationSettings(window=50, spare_max=50, acknowledge_every=10)
    network = crewed(settings=BrokerSettings(conversations=conversations), session_expiry_s=600)
    for client in CREW[1:]:
        network.unsubscribe(client, GROUP)
    ann_at = network.connected["ann"]
    network.drop("ann")
    numbers = [str(number) for number in range(200)]
    for number in numbers:
        network.publish("publisher", TOPIC, number, 1)
    for crashed in (keeper(network), ann_at):
        network.crash(crashed)
        network.start(crashed)
        network.advance(5)
    network.connect("ann", ann_at, session_expiry_s=600)
    network.advance(2)
    assert network.payloads("ann") == numbers
    network.separate(one=ann_at, other=keeper(network))
    network.answer_all("ann")
    network.advance(6)
    network.cut.clear()
    network.advance(5)
    assert left_behind(network) == []
    assert network.payloads("ann") == numbers
