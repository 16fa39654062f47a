from __future__ import annotations

from collections import Counter

import pytest
from shared_crews import CREW, GONE, GROUP, TOPIC, crewed, keeper, left_behind, others, taken
from small_network import SmallNetwork

from meshwright.model.publication import Publication
from meshwright.protocol.shared.messages import HandDone
from meshwright.protocol.wire import decode_disk, encode

SOME = f"$share/crew/$where/value>3/{TOPIC}"


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("text", [GROUP, "$share/crew/work/+", SOME])
def test_each_message_goes_to_one_member_in_turn(text: str, qos: int) -> None:
    network = crewed(text=text, qos=qos)
    for number in range(9):
        properties = (("value", "5"),)
        assert network.publish("publisher", TOPIC, str(number), qos, properties=properties)
        network.publish("publisher", "elsewhere", str(number), qos)
    network.advance(1)
    assert taken(network) == Counter(map(str, range(9)))
    assert [len(network.messages(client)) for client in CREW] == [3, 3, 3]
    assert all(one.qos == qos for client in CREW for one in network.messages(client))


def test_nothing_is_left_behind_when_all_is_answered() -> None:
    for qos in (1, 2):
        for expiry_s in (0, 600):
            network = crewed(qos=qos, session_expiry_s=expiry_s)
            for number in range(6):
                network.publish("publisher", TOPIC, str(number), qos)
            network.advance(1)
            for client in CREW:
                network.answer_all(client)
            network.advance(1)
            assert left_behind(network) == []


def test_groups_and_other_subscriptions_do_not_share() -> None:
    network = crewed()
    network.connect("loner", "b1")
    network.subscribe("loner", TOPIC)
    network.subscribe("loner", f"$share/other/{TOPIC}")
    network.publish("publisher", TOPIC, "x")
    network.advance(1)
    assert taken(network) == Counter(["x"])
    assert network.payloads("loner") == ["x", "x"]


def test_connected_members_come_before_those_that_are_away() -> None:
    network = crewed(session_expiry_s=600)
    network.drop("ann")
    network.drop("bob")
    for number in range(4):
        network.publish("publisher", TOPIC, str(number))
    network.advance(1)
    assert network.payloads("cid") == ["0", "1", "2", "3"]
    network.drop("cid")
    network.publish("publisher", TOPIC, "later")
    network.advance(1)
    for client, broker in zip(CREW, others(network), strict=False):
        network.connect(client, broker, session_expiry_s=600)
    network.advance(1)
    assert sum(payload == "later" for payload in taken(network).elements()) == 1


def test_what_was_not_answered_goes_to_another_when_a_session_ends() -> None:
    network = crewed()
    network.publish("publisher", TOPIC, "x")
    network.advance(1)
    [first] = [client for client in CREW if network.messages(client)]
    network.drop(first)
    network.advance(1)
    rest = [network.payloads(client) for client in CREW if client != first]
    assert sorted(rest) == [[], ["x"]]


def test_a_message_of_qos_2_that_went_out_goes_to_nobody_else() -> None:
    network = crewed(qos=2)
    network.publish("publisher", TOPIC, "x", 2)
    network.advance(1)
    [first] = [client for client in CREW if network.messages(client)]
    network.drop(first)
    network.advance(1)
    assert taken(network) == Counter(["x"])
    assert left_behind(network) == []


def test_a_message_of_qos_2_that_did_not_go_out_goes_to_another() -> None:
    network = crewed(qos=2, session_expiry_s=5)
    for client in CREW[1:]:
        network.unsubscribe(client, GROUP)
    network.drop("ann")
    network.publish("publisher", TOPIC, "x", 2)
    network.advance(1)
    network.subscribe("bob", GROUP, 2)
    network.advance(10)
    assert network.payloads("bob") == ["x"]
    assert network.payloads("cid") == []


def test_a_member_that_unsubscribes_gets_no_more() -> None:
    network = crewed()
    network.unsubscribe("ann", GROUP)
    for number in range(4):
        network.publish("publisher", TOPIC, str(number))
    network.advance(1)
    assert network.payloads("ann") == []
    assert taken(network) == Counter(map(str, range(4)))


def test_a_group_ends_with_its_last_member() -> None:
    network = crewed()
    for client in CREW:
        network.unsubscribe(client, GROUP)
    network.publish("publisher", TOPIC, "x")
    network.advance(1)
    assert taken(network) == Counter()
    kept = [key for name in network.names for key in network.disks[name] if key[0] == "group"]
    assert kept == []
    network.subscribe("ann", GROUP)
    network.publish("publisher", TOPIC, "y")
    network.advance(1)
    assert network.payloads("ann") == ["y"]


@pytest.mark.parametrize("qos", [1, 2])
def test_a_keeper_that_crashes_loses_nothing(qos: int) -> None:
    network = crewed(qos=qos, session_expiry_s=600)
    for number in range(3):
        network.publish("publisher", TOPIC, str(number), qos)
    network.crash(keeper(network))
    if network.connected.get("publisher") is None:
        network.connect("publisher", next(name for name in others(network)))
    for number in range(3, 6):
        network.publish("publisher", TOPIC, str(number), qos)
    network.advance(10)
    network.start(keeper(network))
    network.advance(20)
    assert taken(network) == Counter(map(str, range(6)))
    for client in CREW:
        network.answer_all(client)
    network.advance(2)
    assert left_behind(network) == []


def test_a_keeper_that_crashes_before_its_disk_has_it_gets_it_again() -> None:
    network = crewed(qos=2, session_expiry_s=600)
    network.publish("publisher", TOPIC, "first", 2)
    network.advance(1)
    network.stall_disk(keeper(network))
    network.publish("publisher", TOPIC, "second", 2)
    network.crash(keeper(network))
    network.start(keeper(network))
    network.advance(20)
    if keeper(network) != "b0":
        assert taken(network) == Counter(["first", "second"])


def cut_off(network: SmallNetwork, broker: str) -> None:
    for name in network.names:
        if name != broker:
            network.separate(one=broker, other=name)


def test_what_only_a_lost_broker_was_to_get_goes_to_others() -> None:
    for qos in (1, 2):
        network = crewed(qos=qos, session_expiry_s=600)
        network.connect("sender", keeper(network))
        network.publish("sender", TOPIC, "opens the topic", 0)
        cut_off(network, network.connected["ann"])
        # Until the silence is noticed, a third of all is meant for the broker out of reach.
        for number in range(6):
            network.publish("sender", TOPIC, str(number), qos)
        network.advance(30)
        elsewhere = [*network.payloads("bob"), *network.payloads("cid")]
        assert set(map(str, range(6))) <= set(elsewhere)
        network.cut.clear()
        network.advance(30)
        expected = Counter(["opens the topic", *map(str, range(6))])
        assert set(taken(network)) == set(expected)
        if qos == 2:
            assert taken(network) == expected


def test_a_lost_broker_keeps_what_of_qos_2_its_client_may_have() -> None:
    network = crewed(qos=2, session_expiry_s=600)
    network.connect("sender", keeper(network))
    for number in range(3):
        network.publish("sender", TOPIC, str(number), 2)
    cut_off(network, network.connected["ann"])
    network.advance(30)
    assert [len(network.messages(client)) for client in CREW] == [1, 1, 1]


def test_a_member_takes_its_messages_along() -> None:
    network = crewed(qos=2, session_expiry_s=600)
    for client in CREW[1:]:
        network.unsubscribe(client, GROUP)
    network.drop("ann")
    network.publish("publisher", TOPIC, "before", 2)
    network.advance(1)
    network.connect("ann", others(network)[3], session_expiry_s=600)
    network.advance(2)
    network.publish("publisher", TOPIC, "after", 2)
    network.advance(2)
    assert network.payloads("ann") == ["before", "after"]
    network.answer_all("ann")
    network.advance(2)
    assert left_behind(network) == []


def test_a_lost_answer_is_given_again() -> None:
    network = crewed(qos=2, session_expiry_s=600)
    network.publish("publisher", TOPIC, "x", 2)
    network.advance(1)
    [first] = [client for client in CREW if network.messages(client)]
    broker = network.connected[first]
    network.crash(keeper(network))
    network.answer_all(first)
    network.start(keeper(network))
    network.advance(20)
    assert any(isinstance(body, HandDone) and source == broker for source, _, body in network.sent)
    assert taken(network) == Counter(["x"])
    assert left_behind(network) == []


def test_a_message_expires_in_a_group_too() -> None:
    network = crewed(session_expiry_s=600)
    for client in CREW:
        network.drop(client)
    network.publish("publisher", TOPIC, "x", expiry_s=5)
    network.advance(10)
    for client, broker in zip(CREW, others(network), strict=False):
        network.connect(client, broker, session_expiry_s=600)
    network.advance(1)
    assert taken(network) == Counter()
    assert left_behind(network) == []


def test_a_client_is_told_the_identifier_and_the_flag_of_its_subscription() -> None:
    network = SmallNetwork()
    network.connect("ann", "b1")
    network.subscribe("ann", GROUP, 1, identifier=9, retain_as_published=True)
    network.connect("publisher", "b0")
    network.publish("publisher", TOPIC, "x", retain=True)
    network.advance(1)
    [message] = network.messages("ann")
    assert (message.subscription_ids, message.retain) == ((9,), True)


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("expiry_s", [0, 600])
def test_the_next_in_line_keeps_a_group_whose_keeper_never_returns(qos: int, expiry_s: int) -> None:
    network = crewed(qos=qos, session_expiry_s=expiry_s, settings=GONE)
    first = keeper(network)
    if network.connected["publisher"] == first:
        network.connect("publisher", others(network)[3])
    network.publish("publisher", TOPIC, "held by a member", qos)
    network.advance(1)
    network.crash(first)
    for number in range(3):
        assert network.publish("publisher", TOPIC, f"while it is gone {number}", qos)
    network.advance(60)
    network.publish("publisher", TOPIC, "after it was removed", qos)
    network.advance(2)
    gone = [f"while it is gone {number}" for number in range(3)]
    assert taken(network) == Counter(["held by a member", *gone, "after it was removed"])
    for client in CREW:
        network.answer_all(client)
    network.advance(2)
    network.disks.pop(first)
    network.names = tuple(name for name in network.names if name != first)
    assert left_behind(network) == []


def test_a_broker_that_starts_after_the_keeper_is_gone_turns_to_the_next_in_line() -> None:
    network = crewed(settings=GONE)
    network.crash(keeper(network))
    network.advance(60)
    broker = network.connected["ann"]
    network.crash(broker)
    network.start(broker)
    network.advance(2)
    network.connect("dan", broker)
    assert network.subscribe("dan", GROUP, 2)
    network.drop("bob")
    network.drop("cid")
    network.publish("dan", TOPIC, "x", 2)
    network.advance(2)
    assert network.payloads("dan") == ["x"]


def test_what_a_member_gives_back_after_the_keeper_is_gone_goes_to_another() -> None:
    network = crewed(qos=1, settings=GONE)
    first = keeper(network)
    if network.connected["publisher"] == first:
        network.connect("publisher", others(network)[3])
    network.publish("publisher", TOPIC, "x", 1)
    network.advance(1)
    [holder] = [client for client in CREW if network.messages(client)]
    network.crash(first)
    network.advance(60)
    network.drop(holder)
    network.advance(2)
    assert sum("x" in network.payloads(client) for client in CREW if client != holder) == 1


def test_a_keeper_that_was_removed_and_returns_leaves_its_groups_to_others() -> None:
    network = crewed(qos=2, session_expiry_s=600, settings=GONE)
    first = keeper(network)
    if network.connected["publisher"] == first:
        network.connect("publisher", others(network)[3])
    network.crash(first)
    network.advance(60)
    network.publish("publisher", TOPIC, "while it is gone", 2)
    network.start(first)
    network.advance(20)
    network.publish("publisher", TOPIC, "when it is back", 2)
    network.advance(20)
    assert taken(network) == Counter(["while it is gone", "when it is back"])
    for client in CREW:
        network.answer_all(client)
    network.advance(2)
    assert left_behind(network) == []


def test_what_a_lost_broker_has_got_after_all_does_not_come_again() -> None:
    network = crewed(qos=1, session_expiry_s=600, settings=GONE)
    network.unsubscribe("cid", GROUP)
    first, ann_at, bob_at = keeper(network), network.connected["ann"], network.connected["bob"]
    network.connect("sender", first)
    network.publish("sender", TOPIC, "opens the topic", 0)
    network.forget("ann")
    network.drop("bob")
    network.hold(source=ann_at, target=first)
    network.advance(3)
    network.hold(source=first, target=ann_at)
    network.publish("sender", TOPIC, "x", 1)
    network.crash(bob_at)
    # The keeper misses the one before the other, and so gives that what is on its way to the first.
    network.advance(2)
    network.release(source=first, target=ann_at)
    network.answer_all("ann")
    network.release(source=ann_at, target=first)
    network.advance(60)
    assert network.payloads("ann") == ["x"]


def test_a_disk_of_before_numbers_were_kept_is_read() -> None:
    older = (Publication("p", 1, TOPIC, b"x", 1), 7, "ann", "b1", 1, "b0", 3, False)
    key, state = decode_disk(encode(("shared", GROUP, 5)), encode(older))
    assert (key, state) == (("shared", GROUP, 5), (*older, (), 0))
