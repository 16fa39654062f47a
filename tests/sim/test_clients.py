from __future__ import annotations

from functools import partial
from typing import Any

from machines import LoneBroker
from worlds import small_world

from meshwright.history.history import payload_of
from meshwright.protocol.foundation.effects import CloseClient, Effect, SendClient
from meshwright.protocol.foundation.events import ClientDown, ClientPacket, ClientUp, Event
from meshwright.protocol.mqtt.packets import (
    PACKET_IDENTIFIER_NOT_FOUND,
    QUOTA_EXCEEDED,
    SESSION_TAKEN_OVER,
    USE_ANOTHER_SERVER,
    Connack,
    Disconnect,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
)
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.clients.testament import WillSettings
from meshwright.sim.world import World

SECOND_US = 1_000_000
PERSISTENT = ClientSettings(session_expiry_s=3_600)
STEADY = ClientSettings(session_expiry_s=3_600, roams_after=None)


class Silent:
    """Answers clients only with what a test puts down, and notes what they say."""

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.said: list[object] = []
        self.ups: list[ClientUp] = []
        self.downs: list[bool] = []

    def step(self, now_us: int, event: Event) -> list[Effect]:
        del now_us
        if isinstance(event, ClientUp):
            self.ups.append(event)
            return self.answer(event.client)
        if isinstance(event, ClientPacket):
            self.said.append(event.packet)
            return self.answer(event.client)
        if isinstance(event, ClientDown):
            self.downs.append(event.clean)
        return []

    def answer(self, client: str) -> list[Effect]:
        if not self.answers:
            return []
        answer = self.answers.pop(0)
        if answer == "close":
            return [CloseClient(client)]
        return [SendClient(client, answer)] if answer is not None else []


def lone_world(broker_count: int = 1, seed: int = 0) -> World:
    names = tuple(f"b{number}" for number in range(broker_count))
    return small_world(lambda _: LoneBroker(), names, seed=seed)


def deliveries(world: World, client: str) -> list[tuple[str, int]]:
    found = [one for one in world.history.deliveries if one.client == client]
    return [(one.publisher, one.sequence) for one in found]


def test_every_quality_of_service_is_delivered_once_and_acknowledged() -> None:
    world = lone_world()
    publisher = world.add_client("p", PERSISTENT)
    subscriber = world.add_client("s", PERSISTENT)
    subscriber.subscribe("a/#", 2)
    subscriber.connect("b0")
    publisher.connect("b0")
    world.run_until(SECOND_US)
    for qos in (0, 1, 2):
        publisher.publish("a/b", qos)
    world.run_until(2 * SECOND_US)
    assert [one.qos for one in world.history.deliveries] == [0, 1, 2]
    assert deliveries(world, "s") == [("p", 1), ("p", 2), ("p", 3)]
    acknowledged = [one.acknowledged_us is not None for one in world.history.publications.values()]
    assert acknowledged == [False, True, True]
    assert publisher.is_settled
    assert subscriber.is_settled


def test_a_client_returns_after_a_crash_and_settles_what_it_owed() -> None:
    world = lone_world()
    publisher, subscriber = world.add_client("p", STEADY), world.add_client("s", STEADY)
    subscriber.subscribe("a", 2)
    subscriber.connect("b0")
    publisher.connect("b0")
    world.run_until(SECOND_US)
    for number in range(60):
        world.at(SECOND_US + 400 * number, lambda: publisher.publish("a", 2))
    world.at(SECOND_US + 12_000, lambda: world.crash("b0"))
    world.at(2 * SECOND_US, lambda: world.restart("b0"))
    world.run_until(10 * SECOND_US)
    assert deliveries(world, "s") == [("p", number) for number in range(1, 61)]
    assert all(one.acknowledged_us for one in world.history.publications.values())
    assert any(one.resend_count for one in world.history.publications.values())
    assert len(world.history.connections["s"]) == 2
    assert world.history.connections["s"][1].session_present


def test_a_session_without_expiry_ends_with_its_connection_and_is_subscribed_anew() -> None:
    world = lone_world()
    client = world.add_client("s", ClientSettings())
    client.subscribe("a", 1)
    client.connect("b0")
    world.run_until(SECOND_US)
    client.lose_line()
    world.run_until(4 * SECOND_US)
    first, second = world.history.subscriptions
    assert (first.end_requested_us, first.ended_us, first.connection_last) == (10**6, 10**6, 1)
    assert second.granted_us is not None
    assert second.ended_us is None


def test_a_broker_that_was_left_without_a_word_notices_when_it_ends_the_line_itself() -> None:
    world = small_world(lambda _: LoneBroker(), ("b0", "b1", "b2"))
    client = world.add_client("s", PERSISTENT)
    client.connect("b0")
    for number, broker in enumerate(("b1", "b2", "b0", "b1"), start=1):
        world.at(number * SECOND_US, partial(client.double, broker))
    world.at(5 * SECOND_US, lambda: world.crash("b2"))
    world.run_until(6 * SECOND_US)
    taken_over, again, crashed, stands = world.history.abandoned
    assert [one.since_us for one in world.history.abandoned] == [
        number * SECOND_US for number in (1, 2, 3, 4)
    ]
    assert taken_over.until_us is not None
    assert 3 * SECOND_US < taken_over.until_us < 4 * SECOND_US
    assert again.until_us is not None
    assert again.until_us > 4 * SECOND_US
    assert crashed.until_us == 5 * SECOND_US
    assert stands.until_us is None


def test_unsubscribing_ends_a_subscription_when_the_broker_says_so() -> None:
    world = lone_world()
    client = world.add_client("s", PERSISTENT)
    client.subscribe("a", 1)
    client.connect("b0")
    world.run_until(SECOND_US)
    client.unsubscribe("a")
    client.subscribe("a", 1)
    assert client.filters == ()
    world.run_until(2 * SECOND_US)
    (subscription,) = world.history.subscriptions
    assert subscription.end_requested_us == SECOND_US
    assert subscription.ended_us is not None
    assert subscription.ended_us > SECOND_US


def test_what_was_asked_and_not_answered_is_asked_again_on_the_next_connection() -> None:
    broker = Silent(Connack(session_present=False), None, "close", Connack(session_present=True))
    world = small_world(lambda _: broker, ("b0",))
    client = world.add_client("s", PERSISTENT)
    client.subscribe("a", 1)
    client.connect("b0")
    world.run_until(SECOND_US)
    client.publish("t", 1)
    world.run_until(5 * SECOND_US)
    assert [type(one) for one in broker.said] == [Subscribe, Publish, Publish, Subscribe]
    first, again = broker.said[1], broker.said[2]
    assert isinstance(first, Publish)
    assert isinstance(again, Publish)
    assert (first.is_duplicate, again.is_duplicate) == (False, True)
    assert first.packet_id == again.packet_id


def test_a_refused_publication_is_not_acknowledged_and_a_refused_filter_is_asked_again() -> None:
    broker = Silent(
        Connack(session_present=False),
        Suback(1, (QUOTA_EXCEEDED,)),
        Suback(2, (1,)),
        Puback(3, QUOTA_EXCEEDED),
        Pubrec(4, QUOTA_EXCEEDED),
    )
    world = small_world(lambda _: broker, ("b0",))
    client = world.add_client("s", PERSISTENT)
    client.subscribe("a", 1)
    client.connect("b0")
    world.run_until(3 * SECOND_US)
    client.publish("t", 1)
    client.publish("t", 2)
    world.run_until(4 * SECOND_US)
    assert world.history.subscriptions[0].granted_us is not None
    assert [one.refused for one in world.history.publications.values()] == [QUOTA_EXCEEDED] * 2
    assert client.is_settled


def test_a_receiver_of_qos_2_takes_a_packet_id_once_until_it_is_released() -> None:
    message = Publish("t", payload_of("p", 1), 2, packet_id=9)
    broker = Silent(Connack(session_present=False), message, message, Pubrel(9), Pubrel(9), None)
    world = small_world(lambda _: broker, ("b0",))
    client = world.add_client("s", PERSISTENT)
    client.connect("b0")
    world.run_until(SECOND_US)
    client.publish("t", 0)
    world.run_until(2 * SECOND_US)
    assert broker.said[1:] == [
        Pubrec(9),
        Pubrec(9),
        Pubcomp(9),
        Pubcomp(9, PACKET_IDENTIFIER_NOT_FOUND),
    ]
    assert len(world.history.deliveries) == 1


def test_a_forgotten_session_is_noted_and_nothing_of_it_is_sent_again() -> None:
    broker = Silent(
        Connack(session_present=False), Suback(1, (1,)), "close", Connack(session_present=False)
    )
    world = small_world(lambda _: broker, ("b0",))
    client = world.add_client("s", PERSISTENT)
    client.subscribe("a", 1)
    client.connect("b0")
    world.run_until(SECOND_US)
    client.publish("t", 1)
    world.run_until(5 * SECOND_US)
    assert [type(one) for one in broker.said] == [Subscribe, Publish, Subscribe]
    assert [one.client for one in world.history.sessions_lost] == ["s"]
    assert world.history.subscriptions[0].ended_us is not None


def test_who_left_a_clean_start_behind_unanswered_trusts_no_session_any_more() -> None:
    """It may be seen to after the next one, and the session found then is not the client's."""
    brokers = {
        "b0": Silent(Connack(session_present=False), Connack(session_present=False)),
        "b1": Silent(),
        "b2": Silent(Connack(session_present=False)),
    }
    world = small_world(brokers.__getitem__, tuple(brokers))
    settings = ClientSettings(session_expiry_s=2, will=WillSettings(topic="w"))
    client = world.add_client("s", settings)
    client.connect("b0")
    world.run_until(SECOND_US)
    client.vanish()
    world.run_until(4 * SECOND_US)
    client.connect("b1")
    world.run_until(5 * SECOND_US)
    client.double("b2")
    world.run_until(6 * SECOND_US)
    client.double("b0")
    world.run_until(7 * SECOND_US)
    assert [[up.packet.clean_start for up in one.ups] for one in brokers.values()] == [
        [False, True],
        [True],
        [True],
    ]
    assert not world.history.sessions_lost


def test_a_client_goes_where_the_broker_sends_it() -> None:
    brokers = {
        "b0": Silent(Connack(False, USE_ANOTHER_SERVER, "b1")),
        "b1": Silent(Connack(session_present=False), Disconnect(USE_ANOTHER_SERVER, "b2")),
        "b2": Silent(Connack(session_present=True)),
    }
    world = small_world(brokers.__getitem__, tuple(brokers))
    client = world.add_client("s", PERSISTENT)
    client.connect("b0")
    world.run_until(3 * SECOND_US)
    client.publish("t", 0)
    world.run_until(6 * SECOND_US)
    assert [one.broker for one in world.history.connections["s"]] == ["b1", "b2"]


def test_a_client_of_a_broker_that_stays_down_tries_another() -> None:
    world = lone_world(broker_count=3)
    client = world.add_client("s", PERSISTENT)
    client.connect("b0")
    world.run_until(SECOND_US)
    world.crash("b0")
    world.run_until(20 * SECOND_US)
    assert client.is_connected
    assert client.broker != "b0"


def test_a_client_that_gets_no_answer_tries_again() -> None:
    broker = Silent(None, Connack(session_present=False))
    world = small_world(lambda _: broker, ("b0",))
    client = world.add_client("s", PERSISTENT)
    client.connect("b0")
    world.run_until(9 * SECOND_US)
    assert not client.is_connected
    world.run_until(12 * SECOND_US)
    assert client.is_connected
    assert broker.downs == [False]


def test_leaving_says_goodbye_and_vanishing_does_not_and_both_stay_away() -> None:
    for is_clean in (True, False):
        broker = Silent(Connack(session_present=False))
        world = small_world(lambda _, broker=broker: broker, ("b0",))
        client = world.add_client("s", PERSISTENT)
        client.connect("b0")
        world.run_until(SECOND_US)
        if is_clean:
            client.leave()
        else:
            client.vanish()
        world.run_until(10 * SECOND_US)
        assert broker.downs == [is_clean]
        assert len(broker.ups) == 1


def test_a_broker_hears_of_the_end_of_a_line_before_the_next_one() -> None:
    broker = Silent(Connack(session_present=False), Connack(session_present=True))
    world = small_world(lambda _: broker, ("b0",))
    client = world.add_client("s", PERSISTENT)
    client.connect("b0")
    world.run_until(SECOND_US)
    client.vanish()
    client.connect("b0")
    world.run_until(2 * SECOND_US)
    assert broker.downs == [False]
    assert len(broker.ups) == 2
    assert client.is_connected


def test_the_window_bounds_what_is_unacknowledged() -> None:
    broker = Silent(Connack(session_present=False))
    world = small_world(lambda _: broker, ("b0",))
    client = world.add_client("s", ClientSettings(window=3, waiting_max=5))
    client.connect("b0")
    world.run_until(SECOND_US)
    for _ in range(20):
        client.publish("t", 1)
    world.run_until(2 * SECOND_US)
    assert len(broker.said) == 3
    assert len(world.history.publications) == 3


def test_a_moving_client_says_where_it_was_and_what_it_wants() -> None:
    brokers = {
        "b0": Silent(Connack(session_present=False), Suback(1, (1,))),
        "b1": Silent(Connack(session_present=True)),
    }
    world = small_world(brokers.__getitem__)
    settings = ClientSettings(
        session_expiry_s=60, names_previous_broker=True, carries_subscriptions=True
    )
    client = world.add_client("s", settings)
    client.subscribe("a", 1)
    client.connect("b0")
    world.run_until(SECOND_US)
    client.leave()
    client.connect("b1")
    world.run_until(2 * SECOND_US)
    packet = brokers["b1"].ups[0].packet
    assert packet.previous_broker == "b0"
    assert [one.filter_text for one in packet.carried] == ["a"]


def test_packets_that_answer_nothing_are_noted_and_do_no_harm() -> None:
    hello = Connack(session_present=False)
    wrong = [Pubrec(8), Suback(9, (1,)), Unsuback(9, (1,)), Pubcomp(9), hello]
    broker = Silent(Puback(9), *wrong)
    world = small_world(lambda _: broker, ("b0",))
    client = world.add_client("s", PERSISTENT)
    client.connect("b0")
    world.run_until(SECOND_US)
    world.lines.answerer("b0")(SendClient("s", hello))
    world.run_until(2 * SECOND_US)
    for _ in wrong:
        client.publish("t", 0)
    world.run_until(3 * SECOND_US)
    noted = [one.sentence for one in world.history.oddities]
    assert noted == [
        "Puback(packet_id=9) before CONNACK",
        "Pubrec(packet_id=8) that answers nothing",
        "Suback(packet_id=9, reasons=(1,)) that answers nothing",
        "Unsuback(packet_id=9, reasons=(1,)) that answers nothing",
        "Pubcomp(packet_id=9) that answers nothing",
        "a second CONNACK",
    ]
    assert Pubrel(8, PACKET_IDENTIFIER_NOT_FOUND) in broker.said
    assert client.is_settled


def test_who_connects_twice_is_told_on_the_first_line_that_it_was_taken_over() -> None:
    world = small_world(lambda _: LoneBroker(), ("b0",))
    first = world.add_client("twin", ClientSettings(session_expiry_s=60))
    first.connect("b0")
    world.run_until(SECOND_US)
    told: list[Any] = []
    first.received = told.append
    second = world.add_client("twin", ClientSettings(session_expiry_s=60))
    second.connect("b0")
    world.run_until(SECOND_US + 10_000)
    assert told == [Disconnect(SESSION_TAKEN_OVER)]
    assert second.is_connected
    assert first.line is None
