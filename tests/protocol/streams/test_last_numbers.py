from __future__ import annotations

from meshwright.protocol.streams.last_numbers import REMEMBERED_MIN, LastNumbers


def test_the_last_keys_are_remembered_and_no_more_than_twice_as_many() -> None:
    seen = LastNumbers()
    count = 3 * REMEMBERED_MIN + 5
    for number in range(count):
        seen["publisher", str(number)] = number
        assert len(seen) < 2 * REMEMBERED_MIN
    assert seen.get(("publisher", str(count - REMEMBERED_MIN)), -1) == count - REMEMBERED_MIN
    assert seen.get(("publisher", "0"), -1) == -1


def test_a_key_that_is_seen_again_keeps_its_last_number() -> None:
    seen = LastNumbers()
    seen["publisher", "a"] = 1
    for number in range(REMEMBERED_MIN):
        seen["publisher", f"b{number}"] = 7
    seen["publisher", "a"] = 2
    assert seen.get(("publisher", "a"), 0) == 2


def test_a_number_advances_only_from_below_what_is_asked_also_when_it_was_seen_long_ago() -> None:
    seen = LastNumbers()
    assert seen.advance(("publisher", "a"), 1, 3)
    for number in range(REMEMBERED_MIN):
        assert seen.advance(("publisher", f"b{number}"), 1, 1)
        assert len(seen) < 2 * REMEMBERED_MIN
    assert not seen.advance(("publisher", "a"), 3, 9)
    assert seen.get(("publisher", "a"), 0) == 3
    assert seen.advance(("publisher", "a"), 4, 4)
    assert seen.get(("publisher", "a"), 0) == 4
