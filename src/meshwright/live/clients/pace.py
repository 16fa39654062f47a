"""How fast a client may send: whoever is faster is read later."""

from __future__ import annotations

from meshwright.live.settings import LimitSettings
from meshwright.model.times import SECOND_US


class Pace:
    """Two budgets, of bytes and of messages, that fill by the second and hold a second's worth."""

    __slots__ = ("_us_a_byte", "_us_a_message", "_used_us")

    def __init__(self, limits: LimitSettings) -> None:
        bytes_max, messages_max = limits.bytes_per_second_max, limits.messages_per_second_max
        self._us_a_byte = SECOND_US / bytes_max if bytes_max else 0.0
        self._us_a_message = SECOND_US / messages_max if messages_max else 0.0
        self._used_us = [0.0, 0.0]

    def wait_us(self, now_us: int, byte_count: int, message_count: int) -> int:
        """For how long to read no more after what came; 0 if the pace was kept."""
        spent = (byte_count * self._us_a_byte, message_count * self._us_a_message)
        self._used_us = [
            max(used, float(now_us)) + more for used, more in zip(self._used_us, spent, strict=True)
        ]
        return max(0, int(max(self._used_us)) - now_us - SECOND_US)


def new_pace(limits: LimitSettings) -> Pace | None:
    """The pace of one client, if there is a limit to it."""
    has_limit = limits.bytes_per_second_max or limits.messages_per_second_max
    return Pace(limits) if has_limit else None
