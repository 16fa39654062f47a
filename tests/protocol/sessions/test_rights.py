"""Rights are asked where it is worked out who gets a message, and when they change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_network import SmallNetwork

from meshwright.protocol.foundation.client_names import client_name, user_and_id
from meshwright.protocol.foundation.events import RightsChanged
from meshwright.protocol.foundation.rights import NOT_ALLOWED, WILL_NOT_ALLOWED
from meshwright.protocol.mqtt import packets
from meshwright.protocol.sessions.deliveries import Refused
from meshwright.protocol.sessions.session_settings import SessionSettings
from meshwright.protocol.settings import BrokerSettings

NAMES = st.text(st.sampled_from("ab@%40/25"), max_size=6)


class Denials:
    """Everything is allowed but what is named here: client, topic."""

    def __init__(self) -> None:
        self.pairs: set[tuple[str, str]] = set()

    def may_read(self, client: str, topic: str) -> bool:
        return (client, topic) not in self.pairs

    def may_write(self, client: str, topic: str) -> bool:
        return (client, topic) not in self.pairs


def network_with(denials: Denials, broker_count: int = 2) -> SmallNetwork:
    sessions = SessionSettings(rights=denials)
    network = SmallNetwork(broker_count, BrokerSettings(sessions=sessions))
    network.connect("writer", "b0")
    return network


def change(network: SmallNetwork, denials: Denials, *pairs: tuple[str, str]) -> None:
    denials.pairs = set(pairs)
    for name in network.names:
        network.tell(name, RightsChanged())


@given(NAMES, NAMES.filter(bool), NAMES, NAMES.filter(bool))
def test_no_two_users_or_client_ids_have_the_same_name(
    user: str, client_id: str, other_user: str, other_id: str
) -> None:
    name = client_name(user, client_id)
    assert user_and_id(name) == (user, client_id)
    is_same = (user, client_id) == (other_user, other_id)
    assert (name == client_name(other_user, other_id)) is is_same


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("broker", ["b0", "b1"])
def test_a_message_goes_only_to_those_who_may_read_it(broker: str, qos: int) -> None:
    denials = Denials()
    denials.pairs = {("reader", "secret")}
    network = network_with(denials)
    network.publish("writer", "secret", "retained", qos, retain=True)
    network.connect("reader", broker)
    network.subscribe("reader", "+", qos)
    for topic in ("secret", "open"):
        network.publish("writer", topic, topic, qos)
    assert network.payloads("reader") == ["open"]
    change(network, denials)
    network.publish("writer", "secret", "granted", qos)
    assert network.payloads("reader") == ["open", "granted"]
    change(network, denials, ("reader", "secret"))
    network.publish("writer", "secret", "withdrawn", qos)
    assert network.payloads("reader") == ["open", "granted"]


@pytest.mark.parametrize("expiry_s", [0, 600])
@pytest.mark.parametrize("qos", [1, 2])
def test_what_waits_is_dropped_aloud_when_it_may_be_read_no_more(qos: int, expiry_s: int) -> None:
    denials = Denials()
    network = network_with(denials)
    network.connect("reader", "b1", session_expiry_s=expiry_s, receive_maximum=1)
    network.subscribe("reader", "+", qos)
    for topic in ("secret", "secret", "open"):
        network.publish("writer", topic, topic, qos)
    assert network.payloads("reader") == ["secret"]
    change(network, denials, ("reader", "secret"))
    network.answer_all("reader")
    assert network.payloads("reader") == ["secret", "open"]
    (refused,) = [one for one in network.reports if isinstance(one, Refused)]
    assert (refused.client, refused.topic, refused.reason) == ("reader", "secret", NOT_ALLOWED)
    network.answer_all("reader")
    network.advance(5)
    assert not [key for key in network.disks["b1"] if key[0] in ("queue", "under_way")]


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("target", ["b0", "b1"])
def test_what_was_sent_once_is_not_sent_again_to_who_may_read_it_no_more(
    target: str, qos: int
) -> None:
    denials = Denials()
    network = network_with(denials)
    network.connect("reader", "b1", session_expiry_s=600)
    network.subscribe("reader", "+", qos)
    for topic in ("secret", "open"):
        network.publish("writer", topic, topic, qos)
    network.drop("reader")
    network.forget("reader")
    # Its broker hears of it only when the client is back.
    denials.pairs = {("reader", "secret")}
    network.connect("reader", target, session_expiry_s=600)
    network.advance(2)
    assert network.payloads("reader") == ["open"]
    network.answer_all("reader")
    network.advance(5)
    for disk in network.disks.values():
        assert not [key for key in disk if key[0] in ("queue", "under_way")]


def test_a_restart_forgets_no_denial() -> None:
    denials = Denials()
    network = network_with(denials)
    network.connect("reader", "b1", session_expiry_s=600)
    network.subscribe("reader", "+")
    network.drop("reader")
    for topic in ("secret", "open"):
        network.publish("writer", topic, topic)
    network.crash("b1")
    denials.pairs = {("reader", "secret")}
    network.start("b1")
    network.advance(2)
    network.connect("reader", "b1", session_expiry_s=600)
    network.advance(2)
    assert network.payloads("reader") == ["open"]


def test_a_member_of_a_group_gets_nothing_that_it_may_not_read() -> None:
    denials = Denials()
    denials.pairs = {("reader", "secret")}
    network = network_with(denials)
    network.connect("reader", "b1", session_expiry_s=600)
    network.subscribe("reader", "$share/group/+")
    for topic in ("secret", "open"):
        network.publish("writer", topic, topic)
    network.advance(2)
    assert network.payloads("reader") == ["open"]
    network.answer_all("reader")
    network.advance(5)
    for disk in network.disks.values():
        assert not [key for key in disk if key[0] in ("queue", "hand")]


@pytest.mark.parametrize("expiry_s", [0, 600])
@pytest.mark.parametrize("qos", [0, 1])
@pytest.mark.parametrize("crashes", [False, True])
def test_a_will_stays_unpublished_where_its_client_may_write_no_more(
    qos: int, expiry_s: int, crashes: bool
) -> None:
    denials = Denials()
    network = network_with(denials)
    network.connect("reader", "b0")
    network.subscribe("reader", "+")
    will = packets.Will("secret", b"will", qos)
    network.connect("dying", "b1", will=will, session_expiry_s=expiry_s)
    change(network, denials, ("dying", "secret"))
    if crashes:
        network.crash("b1")
        network.start("b1")
    else:
        network.drop("dying")
    network.advance(2)
    assert network.payloads("reader") == []
    assert WILL_NOT_ALLOWED in [one.reason for one in network.reports if isinstance(one, Refused)]


@pytest.mark.parametrize("broker", ["b0", "b1"])
def test_a_full_queue_keeps_nobody_from_publishing_what_its_client_may_not_read(
    broker: str,
) -> None:
    denials = Denials()
    sessions = SessionSettings(rights=denials, queue_max=4)
    network = SmallNetwork(2, BrokerSettings(sessions=sessions))
    network.connect("writer", "b0")
    network.connect("sleeper", broker, session_expiry_s=600)
    network.subscribe("sleeper", "+")
    network.drop("sleeper")
    change(network, denials, ("sleeper", "secret"))

    def answer(topic: str) -> int:
        network.forget("writer")
        network.publish("writer", topic)
        network.advance(1)
        (found,) = [one for one in network.got["writer"] if isinstance(one, packets.Puback)]
        return found.reason

    for _ in range(4):
        assert answer("open") == packets.SUCCESS
    assert answer("open") == packets.QUOTA_EXCEEDED
    assert answer("secret") == packets.SUCCESS
    # What is withheld makes room at once.
    change(network, denials, ("sleeper", "open"))
    change(network, denials)
    assert answer("open") == packets.SUCCESS
