"""Packets with which a broker broke the rules of MQTT, as its clients noticed."""

from __future__ import annotations

from meshwright.history.history import History
from meshwright.history.violation import Violation, seconds


def unmannerly(history: History) -> list[Violation]:
    """Every packet that a client had to take as a mistake of its broker."""
    return [
        Violation(
            checker="manners",
            sentence=f"{odd.broker} sent {odd.client} at {seconds(odd.time_us)} {odd.sentence}",
            time_us=odd.time_us,
            client=odd.client,
        )
        for odd in history.oddities
    ]
