"""A script that is played over and over wants the same things whenever it begins."""

from __future__ import annotations

from meshwright.lab.scripted import LATE_MAX_S, Deed, Pace, Script


def wanted(deeds: tuple[Deed, ...], before: set[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set(before)
    for deed in deeds:
        if deed.kind == "want":
            assert (deed.client, deed.topic) not in found
            found.add((deed.client, deed.topic))
        elif deed.kind == "unwant":
            found.remove((deed.client, deed.topic))
    return found


def test_once_more_begins_with_what_was_wanted_at_the_beginning() -> None:
    script = Script(
        {"a": "b1", "b": "b2"},
        (
            Deed(0.0, "a", "want", "x"),
            Deed(0.0, "b", "want", "y"),
            Deed(1.0, "a", "unwant", "x"),
            Deed(1.5, "a", "publish", "y"),
            Deed(2.0, "a", "want", "z"),
        ),
        3.0,
    )
    first = wanted(script.deeds, set())
    assert first == {("b", "y"), ("a", "z")}
    assert wanted(script.again(), first) == first
    assert [deed for deed in script.again() if deed.kind == "publish"] == [script.deeds[3]]
    assert script.again()[:2] == (Deed(0.0, "a", "unwant", "z"), Deed(0.0, "a", "want", "x"))


def test_clients_that_were_held_up_go_on_at_their_pace() -> None:
    pace = Pace(100.0)
    assert pace.wait_s(1.0, 100.0) == 1.0
    assert pace.wait_s(1.0, 101.0 + LATE_MAX_S / 2) == 0.0
    assert pace.wait_s(2.0, 101.5) == 0.5
    assert pace.wait_s(3.0, 130.0) == 0.0
    assert pace.wait_s(3.5, 130.0) == 0.5
