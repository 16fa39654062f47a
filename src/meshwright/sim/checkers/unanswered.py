"""Clients that wait for an answer long after everything else has come to rest."""

from __future__ import annotations

from collections.abc import Iterable

from meshwright.history.violation import Violation, seconds
from meshwright.sim.clients.client import Client


def unanswered(clients: Iterable[Client], time_us: int) -> list[Violation]:
    """Every client that is connected, and whose broker owes it an answer."""
    return [
        Violation(
            checker="unanswered",
            sentence=f"{one.name} still waits for an answer of {one.broker} at {seconds(time_us)}",
            time_us=time_us,
            client=one.name,
        )
        for one in clients
        if one.is_connected and not one.is_settled
    ]
