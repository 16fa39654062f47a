"""Memory that was freed goes back to the system."""

from __future__ import annotations

from pathlib import Path

from meshwright.live.system.heap import give_back

MESSAGE_BYTES = 20_000
MESSAGE_COUNT = 5_000


def resident_bytes() -> int:
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in one)
    return int(line.split()[1]) * 1024


def test_what_is_free_below_what_is_used_is_given_back() -> None:
    messages = [bytes(MESSAGE_BYTES + number % 7) for number in range(MESSAGE_COUNT)]
    kept = messages[::100]
    before = resident_bytes()
    messages.clear()
    give_back()
    assert before - resident_bytes() > MESSAGE_BYTES * MESSAGE_COUNT // 2
    assert len(kept) == MESSAGE_COUNT // 100
