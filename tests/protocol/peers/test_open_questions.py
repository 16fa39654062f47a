"""Questions that are open: who is asked again, and who is waited for no more."""

from __future__ import annotations

from one_end import OneEnd

from meshwright.protocol.mobility.messages import HaveYou
from meshwright.protocol.peers.open_questions import OpenQuestion, OpenQuestions


def open_at(end: OneEnd) -> OpenQuestions[int, OpenQuestion]:
    for peer in ("a", "b"):
        end.meet(peer)
    return OpenQuestions(end.conversations)


def question(name: str, *brokers: str) -> OpenQuestion:
    return OpenQuestion(HaveYou(name), brokers)


def test_a_renewed_peer_is_asked_again_only_what_it_has_not_answered() -> None:
    end = OneEnd()
    questions = open_at(end)
    for key in (1, 2, 3, 4):
        questions.ask(end.turn, key, question(str(key), "a", "b"))
    assert len(end.sent()) == 8
    assert questions.answered("a", 1) is questions[1]
    questions.answered("b", 2)
    del questions[4]
    end.meet("a")
    questions.peer_renewed(end.turn, "a")
    assert end.sent() == [("a", HaveYou("2")), ("a", HaveYou("3"))]


def test_many_questions_go_to_each_broker_as_it_has_room_unless_they_are_closed_by_then() -> None:
    end = OneEnd(window=2)
    questions = open_at(end)
    questions.feed(end.turn, {key: question(str(key), "a", "b") for key in (1, 2, 3)})
    assert end.sent() == [("a", HaveYou("1")), ("b", HaveYou("1"))]
    del questions[2]
    end.acknowledged("a")
    assert end.sent() == [("a", HaveYou("3"))]


def test_only_who_was_asked_and_has_not_answered_is_heard() -> None:
    end = OneEnd()
    questions = open_at(end)
    questions.ask(end.turn, 1, question("1", "a"))
    assert questions.answered("b", 1) is None
    assert questions.answered("a", 2) is None
    assert questions.is_waiting()
    assert questions.answered("a", 1) is not None
    assert questions.answered("a", 1) is None
    assert not questions.is_waiting()


def test_nobody_waits_for_a_broker_that_is_gone_for_good() -> None:
    end = OneEnd()
    questions = open_at(end)
    questions.ask(end.turn, 1, question("1", "a", "b"))
    questions.forget_removed(lambda name: name == "a")
    assert list(questions[1].waiting_for) == ["b"]
    assert questions.answered("a", 1) is None
