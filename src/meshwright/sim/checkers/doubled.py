"""Clients that are served at several brokers long after everything else has come to rest."""

from __future__ import annotations

from collections.abc import Mapping

from meshwright.history.violation import Violation, seconds


def doubled(standing: Mapping[str, list[str]], time_us: int) -> list[Violation]:
    """Every client of which several brokers believe that it is connected there."""
    return [
        Violation(
            checker="doubled",
            sentence=f"{client} is connected at {' and '.join(brokers)} at {seconds(time_us)}",
            time_us=time_us,
            client=client,
        )
        for client, brokers in sorted(standing.items())
        if len(brokers) > 1
    ]
