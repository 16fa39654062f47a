"""A search for what is retained, whose answers come in parts."""

from __future__ import annotations

from one_end import OneEnd

from meshwright.filters.filter import parse_filter
from meshwright.model.publication import Publication
from meshwright.protocol.directory.directory import Directory, DirectorySettings
from meshwright.protocol.directory.entries import Entry
from meshwright.protocol.foundation.slices import Slices
from meshwright.protocol.foundation.turn import nothing
from meshwright.protocol.mobility.messages import HaveYou
from meshwright.protocol.peers.removals import Removals, RemovalSettings
from meshwright.protocol.retained.lookup import Retained, RetainedAnswer, RetainedQuestion


def test_parts_of_two_answers_are_not_taken_for_one() -> None:
    end = OneEnd(window=2)
    end.meet("a")
    conversations = end.conversations
    removals = Removals("me", ("a",), RemovalSettings(), incarnation=1, send=conversations.send)
    directory = Directory(
        "me",
        removals,
        DirectorySettings(),
        replica_count=3,
        conversations=conversations,
        incarnation=1,
    )
    retained = Retained(
        removals, directory, conversations=conversations, incarnation=1, slices=Slices()
    )
    found: list[str] = []
    retained.find(
        end.turn,
        parse_filter("#"),
        found=lambda _turn, publication: found.append(publication.topic),
        answered=nothing,
        complete=lambda _turn: found.append("that is all"),
    )
    ((_, question),) = end.sent()
    assert isinstance(question, RetainedQuestion)

    def answer(*topics: str, first: int, is_last: bool) -> None:
        registers = tuple((one, Entry(1, Publication("p", 1, one, b"x"))) for one in topics)
        message = RetainedAnswer(question.request, registers, first, is_last)
        retained.answered(end.turn, "a", message)

    answer("t1", first=0, is_last=False)
    # The peer may have been asked again, and its first part be lost that had another topic.
    end.meet("a")
    conversations.send(end.turn, "a", HaveYou("something else is in the way"))
    retained.peer_renewed(end.turn, "a")
    answer("t3", first=1, is_last=True)
    assert found == []
    end.sent()
    end.acknowledged("a")
    assert end.sent() == [("a", question)]
    answer("t1", "t2", "t3", first=0, is_last=True)
    assert found == ["t1", "t2", "t3", "that is all"]
