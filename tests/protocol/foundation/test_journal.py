"""What goes to the disk together, who waits for it, and what may go later."""

from __future__ import annotations

from meshwright.protocol.foundation.effects import Effect, Write
from meshwright.protocol.foundation.events import Synced
from meshwright.protocol.foundation.turn import Journal, Turn


def writes(effects: list[Effect]) -> list[Write]:
    return [effect for effect in effects if isinstance(effect, Write)]


def test_changes_of_a_step_make_one_batch_and_what_waits_for_it_is_done_once() -> None:
    journal = Journal()
    done: list[str] = []
    turn = Turn(0)
    turn.write(("a",), 1)
    turn.write(("b",), 2)
    turn.once_synced(lambda _: done.append("first"))
    assert writes(journal.close(turn)) == [Write(1, {("a",): 1, ("b",): 2})]
    later = Turn(1)
    later.once_synced(lambda _: done.append("second"))
    assert not journal.close(later)
    assert not done
    journal.synced(Turn(2), Synced(1))
    assert done == ["first", "second"]


def test_what_needs_no_disk_is_done_at_once_with_all_that_follows_from_it() -> None:
    journal = Journal()
    done: list[str] = []
    turn = Turn(0)
    turn.once_synced(lambda now: now.once_synced(lambda _: done.append("follows")))
    assert not journal.close(turn)
    assert done == ["follows"]


def test_what_is_forgotten_goes_along_with_the_next_batch() -> None:
    journal = Journal()
    first = Turn(0)
    first.forget(("queue", 1))
    first.forget(("id", 7))
    assert not journal.close(first)
    second = Turn(5)
    second.write(("id", 7), "used again")
    assert writes(journal.close(second)) == [
        Write(1, {("queue", 1): None, ("id", 7): "used again"})
    ]
    third = Turn(9)
    journal.forget(third)
    assert not third.effects


def test_what_is_written_and_forgotten_in_one_step_is_gone_in_the_end() -> None:
    journal = Journal()
    turn = Turn(0)
    turn.write(("log", 1), "message")
    turn.forget(("log", 1))
    assert writes(journal.close(turn)) == [Write(1, {("log", 1): "message"})]
    late = Turn(9)
    journal.forget(late)
    assert late.effects == [Write(2, {("log", 1): None})]


def test_what_a_step_forgets_goes_along_with_what_it_writes() -> None:
    journal = Journal()
    turn = Turn(0)
    turn.forget(("log", 1), ("given",))
    turn.write(("given",), "b2")
    assert writes(journal.close(turn)) == [Write(1, {("log", 1): None, ("given",): "b2"})]
    late = Turn(9)
    journal.forget(late)
    assert late.effects == [Write(2, {("given",): None})]


def test_once_synced_waits_for_what_is_on_its_way_to_be_forgotten() -> None:
    journal = Journal()
    done: list[str] = []
    turn = Turn(0)
    turn.forget(("log", 1))
    journal.close(turn)
    journal.forget(Turn(1))
    late = Turn(2)
    late.once_synced(lambda _: done.append("off the disk"))
    journal.close(late)
    assert not done
    journal.synced(Turn(3), Synced(1))
    assert done == ["off the disk"]


def test_nobody_waits_for_what_is_only_to_be_forgotten() -> None:
    journal = Journal()
    done: list[str] = []
    turn = Turn(0)
    turn.forget(("queue", 1))
    turn.once_synced(lambda _: done.append("at once"))
    journal.close(turn)
    assert done == ["at once"]
    late = Turn(9)
    journal.forget(late)
    assert late.effects == [Write(1, {("queue", 1): None})]
