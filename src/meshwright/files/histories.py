"""history.jsonl: what clients saw, one line a fact, for the checkers (docs/FILES.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from meshwright.errors import FilterError, InputFileError
from meshwright.files.decoding import converted, decoded
from meshwright.files.reading import read_text
from meshwright.files.writing import write_whole
from meshwright.filters.filter import parse_filter
from meshwright.history.history import (
    Connected,
    Delivered,
    History,
    Oddity,
    Published,
    SessionLost,
    Subscribed,
)


def write_history(history: History, path: Path) -> None:
    """Write a history of brokers that all came back, and of clients without wills."""
    assert not history.gone_us
    assert not history.wills
    lines = [msgspec.json.encode({"kind": kind, **fact}) for kind, fact in _facts(history)]
    write_whole({path: b"".join(line + b"\n" for line in lines)})


def read_history(path: Path) -> History:
    """The history of a file; deliveries and connections are in the order of their lines."""
    history = History()
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            fact = decoded(line, dict[str, Any])
            take = _TAKERS.get(fact.pop("kind", None))
            if take is None:
                known = ", ".join(filter(None, _TAKERS))
                raise _fault(path, number, "its kind is missing or unknown", f"write {known}")
            take(history, fact)
        except msgspec.DecodeError as error:
            raise _fault(
                path, number, str(error).rstrip("."), "write one JSON object a line"
            ) from None
        except FilterError as error:
            raise _fault(path, number, f"{error.text!r}: {error.problem}", error.remedy) from None
    return history


def _facts(history: History) -> Iterator[tuple[str, dict[str, Any]]]:
    for text in history.ordered:
        yield "ordered", {"filter_text": text}
    for connections in history.connections.values():
        for connected in connections:
            yield "connected", asdict(connected)
    for subscribed in history.subscriptions:
        yield "subscribed", asdict(subscribed)
    for published in history.publications.values():
        yield "published", asdict(published)
    for delivered in history.deliveries:
        yield "delivered", msgspec.structs.asdict(delivered)
    for lost in history.sessions_lost:
        yield "session_lost", lost._asdict()
    for odd in history.oddities:
        yield "oddity", odd._asdict()


def _take_published(history: History, fact: dict[str, Any]) -> None:
    history.attempted(converted(fact, Published))


def _take_delivered(history: History, fact: dict[str, Any]) -> None:
    history.deliveries.append(_in_order(fact, Delivered, Delivered.__struct_fields__))


def _take_subscribed(history: History, fact: dict[str, Any]) -> None:
    subscribed = converted(fact, Subscribed)
    parse_filter(subscribed.filter_text)
    history.subscriptions.append(subscribed)


def _take_ordered(history: History, fact: dict[str, Any]) -> None:
    text = converted(fact.get("filter_text"), str)
    parse_filter(text)
    history.ordered += (text,)


def _take_connected(history: History, fact: dict[str, Any]) -> None:
    connected = converted(fact, Connected)
    history.connections.setdefault(connected.client, []).append(connected)


def _take_session_lost(history: History, fact: dict[str, Any]) -> None:
    history.sessions_lost.append(_in_order(fact, SessionLost, SessionLost._fields))


def _take_oddity(history: History, fact: dict[str, Any]) -> None:
    history.oddities.append(_in_order(fact, Oddity, Oddity._fields))


def _in_order(fact: dict[str, Any], kind: Any, names: tuple[str, ...]) -> Any:
    """A value whose fields have an order, from an object that has names."""
    missing = [name for name in names if name not in fact]
    if missing:
        raise msgspec.ValidationError(f"Object missing required field `{missing[0]}`")
    return converted([fact[name] for name in names], kind)


def _fault(path: Path, number: int, problem: str, remedy: str) -> InputFileError:
    return InputFileError(str(path), problem, remedy=remedy, line=number)


_TAKERS: dict[str | None, Callable[[History, dict[str, Any]], None]] = {
    "published": _take_published,
    "delivered": _take_delivered,
    "subscribed": _take_subscribed,
    "connected": _take_connected,
    "ordered": _take_ordered,
    "session_lost": _take_session_lost,
    "oddity": _take_oddity,
}
