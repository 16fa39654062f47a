"""The story of a failure: who told what to whom about one message, and what broke around it.

A story is told by running the same seed again with a witness, so that runs without failures pay
nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from meshwright.history.history import payload_of
from meshwright.history.violation import Violation, seconds
from meshwright.protocol.foundation.effects import (
    CloseClient,
    Effect,
    Report,
    SendClient,
    SendPeer,
    Write,
)
from meshwright.protocol.foundation.events import (
    ClientDown,
    ClientPacket,
    ClientUp,
    Event,
    PlanGiven,
)

LINES_MAX = 40
LINE_LENGTH_MAX = 300
# What broke is told from a little before the message was first seen to a little after the last.
MARGIN_US = 3_000_000


class Line(NamedTuple):
    """A sentence of the story; is_about_message unless it tells how the world changed."""

    time_us: int
    sentence: str
    is_about_message: bool


class Story:
    """Collects what concerns the message, or else the topic and the client, of a violation."""

    def __init__(self, violation: Violation) -> None:
        self._payload = payload_of(*violation.event) if violation.event is not None else None
        self._client = violation.client
        self._topic = violation.topic if violation.event is None else None
        self._time_us = violation.time_us
        self._lines: list[Line] = []

    def told(self) -> tuple[str, ...]:
        """The last lines about the message, and what broke around them, oldest first."""
        about = [line for line in self._lines if line.is_about_message][-LINES_MAX:]
        times_us = [self._time_us, *(line.time_us for line in about)]
        first_us, last_us = min(times_us) - MARGIN_US, max(times_us) + MARGIN_US
        kept = set(map(id, about))
        chosen = [
            line
            for line in self._lines
            if id(line) in kept
            or (not line.is_about_message and first_us <= line.time_us <= last_us)
        ]
        return tuple(f"{seconds(line.time_us)}  {line.sentence}" for line in chosen)

    def changed(self, time_us: int, sentence: str) -> None:
        """The world itself changed."""
        self._lines.append(Line(time_us, sentence, is_about_message=False))

    def stepped(self, time_us: int, broker: str, event: Event, effects: list[Effect]) -> None:
        """A broker was told something, and asked for this."""
        sentences = [self._heard(broker, event)]
        sentences.extend(self._asked(broker, effect) for effect in effects)
        for sentence in sentences:
            if sentence is not None:
                cut = sentence[:LINE_LENGTH_MAX] + "…" * (len(sentence) > LINE_LENGTH_MAX)
                self._lines.append(Line(time_us, cut, is_about_message=True))

    def _heard(self, broker: str, event: Event) -> str | None:
        if isinstance(event, PlanGiven):
            return f"{broker} is given a plan to {event.action}"
        if isinstance(event, ClientUp | ClientPacket):
            is_own = isinstance(event, ClientUp) and event.client == self._client
            if is_own or self._concerns(event.packet):
                return f"{event.client} -> {broker}: {brief(event.packet)}"
        if isinstance(event, ClientDown) and event.client == self._client:
            return f"{broker} loses the connection of {event.client}"
        return None

    def _asked(self, broker: str, effect: Effect) -> str | None:
        if isinstance(effect, SendPeer) and self._concerns(effect.envelope):
            body = getattr(effect.envelope, "body", effect.envelope)
            return f"{broker} -> {effect.peer}: {brief(body)}"
        if isinstance(effect, SendClient) and self._concerns(effect.packet):
            return f"{broker} -> {effect.client}: {brief(effect.packet)}"
        if isinstance(effect, CloseClient) and effect.client == self._client:
            return f"{broker} closes the connection of {effect.client}"
        if isinstance(effect, Write):
            keys = [key for key, value in effect.changes.items() if self._concerns(value)]
            return f"{broker} writes batch {effect.batch} with {keys}" if keys else None
        if isinstance(effect, Report) and self._concerns(effect.record):
            return f"{broker} reports {brief(effect.record)}"
        return None

    def _concerns(self, value: Any) -> bool:
        """Whether a value holds the message, or names the topic where no message is asked for."""
        if isinstance(value, bytes):
            return value == self._payload
        if isinstance(value, str):
            return value == self._topic
        if isinstance(value, msgspec.Struct):
            return any(self._concerns(getattr(value, name)) for name in value.__struct_fields__)
        if isinstance(value, dict):
            return self._any(value.values())
        return isinstance(value, tuple | list) and self._any(value)

    def _any(self, values: Iterable[Any]) -> bool:
        return any(self._concerns(value) for value in values)


def brief(value: Any) -> str:
    """A value as people read it: what is as usual is left out."""
    if isinstance(value, msgspec.Struct):
        parts = [
            f"{one.name}={brief(getattr(value, one.name))}"
            for one in msgspec.structs.fields(value)
            if getattr(value, one.name) != one.default
        ]
        return f"{type(value).__name__}({', '.join(parts)})"
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, tuple | list):
        return f"({', '.join(map(brief, value))})"
    return str(value)
