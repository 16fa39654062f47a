"""Questions to peers, and what becomes of them when there are more than may be asked at once."""

from __future__ import annotations

from small_network import SmallNetwork

from meshwright.protocol.directory.entries import Get
from meshwright.protocol.directory.questions import Questions
from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.conversations import ConversationSettings
from meshwright.protocol.settings import BrokerSettings


def test_brokers_that_have_more_to_ask_than_a_conversation_lets_wait_answer_each_other() -> None:
    conversations = ConversationSettings(unacknowledged_max=20)
    network = SmallNetwork(2, settings=BrokerSettings(conversations=conversations))
    network.separate(one="b0", other="b1")
    for number in range(40):
        network.connect(f"one{number}", "b0")
        network.connect(f"other{number}", "b1")
    network.advance(6)
    network.cut.clear()
    network.advance(5)
    network.connect("reader", "b0")
    network.subscribe("reader", "news")
    network.connect("writer", "b1")
    network.publish("writer", "news", "x", 1)
    network.advance(1)
    assert network.payloads("reader") == ["x"]


def test_a_peer_is_asked_in_turn_and_asked_again_only_what_still_needs_an_answer() -> None:
    asked: list[tuple[str, int]] = []
    questions = Questions(
        "me", lambda _, peer, one: asked.append((peer, one.request)), at_once_max=2
    )
    turn = Turn(0)
    for number in (1, 2, 3, 4, 5):
        questions.ask(turn, "peer", Get(number, "key"))
    questions.ask(turn, "me", Get(1, "key"))
    assert asked == [("peer", 1), ("peer", 2), ("me", 1)]
    questions.close(2, ["peer"])
    questions.close(4, ["peer"])
    questions.answered(turn, "peer", 4)
    assert asked[3:] == []
    questions.answered(turn, "peer", 1)
    assert asked[3:] == [("peer", 3)]
    questions.peer_renewed(turn, "peer")
    assert asked[4:] == [("peer", 3), ("peer", 5)]
    questions.forget_all()
    questions.peer_renewed(turn, "peer")
    assert asked[6:] == []
