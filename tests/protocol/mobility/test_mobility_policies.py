"""What each mobility policy changes about a move, on a few whole brokers."""

from __future__ import annotations

from typing import Any

import pytest
from small_network import SmallNetwork

from meshwright.errors import ProblemError
from meshwright.protocol.mobility.departing import HandOverRecord
from meshwright.protocol.mobility.messages import MoveBegun, MoveEnd, MoveOffer, MoveStored
from meshwright.protocol.mobility.policies import POLICIES, MobilitySettings, parse_policies
from meshwright.protocol.mobility.proxies import ProxyPacket
from meshwright.protocol.mobility.watching import Watch, WatchOver
from meshwright.protocol.mqtt import packets
from meshwright.protocol.settings import BrokerSettings

COMBINATIONS = (
    *POLICIES,
    "logging+device",
    "prefetching+logging+device",
    "home+device",
    "watching+device",
)


def network_with(text: str, **options: Any) -> SmallNetwork:
    mobility = MobilitySettings(policies=parse_policies(text), **options)
    network = SmallNetwork(4, BrokerSettings(mobility=mobility))
    network.advance(2)
    return network


def sent(network: SmallNetwork, kind: type) -> list[Any]:
    return [body for _, _, body in network.sent if isinstance(body, kind)]


def roaming(network: SmallNetwork, **options: Any) -> None:
    """A subscriber that was at b1, while something was published for it."""
    network.connect("roamer", "b1", session_expiry_s=600, **options)
    network.subscribe("roamer", "t", 2)
    network.drop("roamer", clean=True)
    network.advance(1)
    network.connect("publisher", "b0")
    assert network.publish("publisher", "t", "stored", 2)
    network.advance(1)


@pytest.mark.parametrize("text", COMBINATIONS)
def test_what_was_stored_and_what_comes_later_reach_a_client_that_moved(text: str) -> None:
    network = network_with(text)
    roaming(network)
    carried = (packets.Subscription("t", 2),)
    for broker in ("b2", "b3", "b2", "b1"):
        connack = network.connect("roamer", broker, session_expiry_s=600, carried=carried)
        assert connack == packets.Connack(True)
        network.advance(1)
        assert network.publish("publisher", "t", broker, 2)
        network.advance(1)
        network.answer_all("roamer")
        network.drop("roamer", clean=True)
        network.advance(2)
    assert network.payloads("roamer") == ["stored", "b2", "b3", "b2", "b1"]


def test_what_came_at_every_stop_outlives_a_crash_at_the_last() -> None:
    network = SmallNetwork(3)
    network.connect("publisher", "b0")
    network.connect("c", "b0", session_expiry_s=600)
    network.subscribe("c", "t")
    for broker in ("b0", "b1", "b2"):
        network.connect("c", broker, session_expiry_s=600)
        network.advance(1)
        network.publish("publisher", "t", f"at {broker}")
        network.advance(1)
        network.drop("c")
    network.crash("b2")
    network.start("b2")
    network.forget("c")
    network.connect("c", "b2", session_expiry_s=600)
    network.advance(1)
    assert network.payloads("c") == ["at b0", "at b1", "at b2"]


def test_filters_that_the_client_brings_are_not_sent_by_its_old_broker() -> None:
    network = network_with("device")
    roaming(network)
    carried = (packets.Subscription("t", 2),)
    network.connect("roamer", "b2", session_expiry_s=600, carried=carried)
    assert [one.subscriptions for one in sent(network, MoveBegun)] == [None]
    assert network.payloads("roamer") == ["stored"]


def test_filters_that_differ_from_those_of_the_session_do_not_count() -> None:
    network = network_with("device")
    roaming(network)
    carried = (packets.Subscription("u", 2),)
    network.connect("roamer", "b2", session_expiry_s=600, carried=carried)
    assert [one.subscriptions for one in sent(network, MoveBegun)] == [
        (packets.Subscription("t", 2),)
    ]
    network.publish("publisher", "u", "unwanted")
    network.publish("publisher", "t", "wanted")
    network.advance(1)
    assert network.payloads("roamer") == ["stored", "wanted"]


def test_a_client_without_a_session_gets_none_from_the_filters_it_brings() -> None:
    network = network_with("device")
    network.connect("roamer", "b1", session_expiry_s=0)
    network.drop("roamer")
    carried = (packets.Subscription("t", 2),)
    connack = network.connect("roamer", "b2", session_expiry_s=600, carried=carried)
    assert connack == packets.Connack(False)
    network.connect("publisher", "b0")
    network.publish("publisher", "t", "unasked")
    network.advance(1)
    assert network.payloads("roamer") == []


def test_what_the_new_broker_has_seen_is_not_sent_again() -> None:
    network = network_with("logging")
    network.connect("neighbour", "b2")
    network.subscribe("neighbour", "t")
    roaming(network)
    network.connect("roamer", "b2", session_expiry_s=600)
    (end,) = sent(network, MoveEnd)
    assert [one.publication.payload for one in end.session_state.queue] == [b""]
    assert network.payloads("roamer") == ["stored"]


@pytest.mark.parametrize(
    ("text", "replayed"), [("standard", 1), ("logging", 0), ("prefetching", 1)]
)
def test_a_session_that_is_handed_over_says_how_and_what_went_with_it(
    text: str, replayed: int
) -> None:
    network = network_with(text, expected={"roamer": "b2"})
    network.connect("neighbour", "b2", session_expiry_s=600)
    network.subscribe("neighbour", "t", 2)
    roaming(network)
    network.connect("roamer", "b2", session_expiry_s=600)
    network.advance(2)
    found = [one for one in network.reports if isinstance(one, HandOverRecord)]
    stored = 0 if text == "prefetching" else 1  # it went ahead before anything was published
    assert found == [
        HandOverRecord(
            client="roamer", target="b2", mode=text, stored=stored, replayed=min(stored, replayed)
        )
    ]


def test_nothing_is_asked_when_nothing_is_stored() -> None:
    network = network_with("logging")
    network.connect("roamer", "b1", session_expiry_s=600)
    network.subscribe("roamer", "t", 2)
    network.drop("roamer")
    assert network.connect("roamer", "b2", session_expiry_s=600) == packets.Connack(True)
    assert sent(network, MoveStored) == []
    assert len(sent(network, MoveEnd)) == 1


def test_a_session_waits_for_its_client_where_that_is_expected() -> None:
    network = network_with("prefetching", expected={"roamer": "b2"})
    roaming(network)
    assert sent(network, MoveOffer) == [MoveOffer("roamer")]
    ends = len(sent(network, MoveEnd))
    assert ends == 1
    assert network.connect("roamer", "b2", session_expiry_s=600) == packets.Connack(True)
    assert network.payloads("roamer") == ["stored"]
    assert len(sent(network, MoveEnd)) == ends


def test_brokers_where_a_client_may_come_see_what_it_wants() -> None:
    network = network_with("watching", watchers_max=2)
    network.connect("publisher", "b0")
    for broker in ("b2", "b1", "b3", "b1"):
        network.connect("roamer", broker, session_expiry_s=600)
        network.subscribe("roamer", "t", 2)
        network.drop("roamer", clean=True)
        network.advance(1)
    watches = [(target, body) for _, target, body in network.sent if isinstance(body, Watch)][-2:]
    assert watches == [("b2", Watch("roamer", ("t",))), ("b3", Watch("roamer", ("t",)))]
    assert network.publish("publisher", "t", "stored", 2)
    network.advance(1)
    before = len(sent(network, MoveEnd))
    assert network.connect("roamer", "b3", session_expiry_s=600) == packets.Connack(True)
    network.advance(1)
    end = sent(network, MoveEnd)[before]
    assert [one.publication.payload for one in end.session_state.queue] == [b""]
    assert network.payloads("roamer") == ["stored"]
    overs = [target for _, target, body in network.sent if isinstance(body, WatchOver)][-2:]
    assert overs == ["b2", "b3"]
    assert [wants(network, name) for name in ("b1", "b2", "b3")] == [False, False, True]


def test_a_watch_that_nobody_ends_ends_by_itself() -> None:
    network = network_with("watching", expected={"roamer": "b3"}, watch_s=20.0)
    roaming(network)
    assert wants(network, "b3")
    network.crash("b1")
    network.advance(30)
    assert not wants(network, "b3")


def test_a_watch_ends_when_the_client_comes_back() -> None:
    network = network_with("watching", expected={"roamer": "b3"})
    roaming(network)
    network.connect("roamer", "b1", session_expiry_s=600)
    network.advance(1)
    assert (wants(network, "b1"), wants(network, "b3")) == (True, False)


def wants(network: SmallNetwork, name: str) -> bool:
    return network.machines[name].wants("t")


def test_a_wrong_guess_is_moved_again() -> None:
    network = network_with("prefetching", expected={"roamer": "b2"})
    roaming(network)
    assert network.connect("roamer", "b3", session_expiry_s=600) == packets.Connack(True)
    assert network.payloads("roamer") == ["stored"]
    assert len(sent(network, MoveEnd)) == 2


def test_a_session_with_a_will_to_come_waits_where_it_is() -> None:
    network = network_with("prefetching", expected={"roamer": "b2"})
    will = packets.Will("t", b"gone", 1, delay_s=30)
    network.connect("roamer", "b1", session_expiry_s=600, will=will)
    network.connect("watcher", "b0")
    network.subscribe("watcher", "t")
    network.drop("roamer")
    assert sent(network, MoveOffer) == []
    network.advance(40)
    assert network.payloads("watcher") == ["gone"]


def test_a_session_sent_ahead_expires_as_if_it_had_stayed() -> None:
    network = network_with("prefetching", expected={"roamer": "b2"})
    roaming(network)
    assert network.connect("roamer", "b2", session_expiry_s=600) == packets.Connack(True)
    network.drop("roamer", clean=True)
    network.advance(601)
    assert network.connect("roamer", "b2", session_expiry_s=600) == packets.Connack(False)


def test_a_session_that_stays_home_is_served_from_there() -> None:
    network = network_with("home")
    roaming(network)
    assert network.connect("roamer", "b2", session_expiry_s=600) == packets.Connack(True)
    assert network.payloads("roamer") == ["stored"]
    network.answer_all("roamer")
    assert sent(network, MoveEnd) == []
    assert {type(one.packet) for one in sent(network, ProxyPacket)} >= {packets.Pubrec}
    assert network.publish("roamer", "t", "own", 2)
    network.advance(1)
    assert network.payloads("roamer") == ["stored", "own"]


def test_a_client_is_let_go_when_its_home_dies_and_finds_its_session_when_that_is_back() -> None:
    network = network_with("home")
    roaming(network)
    network.connect("roamer", "b2", session_expiry_s=600)
    network.crash("b1")
    network.advance(8)
    assert "roamer" not in network.connected
    network.start("b1")
    network.advance(8)
    assert network.connect("roamer", "b2", session_expiry_s=600) == packets.Connack(True)
    assert set(network.payloads("roamer")) == {"stored"}


def test_a_will_is_published_when_the_broker_between_dies() -> None:
    network = network_with("home")
    will = packets.Will("t", b"gone", 1)
    network.connect("roamer", "b1", session_expiry_s=600)
    network.drop("roamer", clean=True)
    network.connect("watcher", "b0")
    network.subscribe("watcher", "t")
    network.connect("roamer", "b2", session_expiry_s=600, will=will)
    network.crash("b2")
    network.advance(8)
    assert network.payloads("watcher") == ["gone"]


def test_a_client_that_comes_home_is_served_there_again() -> None:
    network = network_with("home")
    roaming(network)
    network.connect("roamer", "b2", session_expiry_s=600)
    network.answer_all("roamer")
    assert network.connect("roamer", "b1", session_expiry_s=600) == packets.Connack(True)
    before = len(sent(network, ProxyPacket))
    assert network.publish("roamer", "t", "own", 2)
    assert len(sent(network, ProxyPacket)) == before


def test_an_unknown_policy_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ProblemError, match="no mobility policy 'teleport'; choose from standard,"):
        parse_policies("logging+teleport")
