"""What pages are made of: a picture of an overlay, figures over time, and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any
from urllib.parse import quote, urlencode

from nicegui import ui
from nicegui.element import Element

from meshwright.dashboard.door import HOME

# Columns for which the narrowest screen has room.
ABREAST_MAX = 3


class OverlayGraph(Element, component="browser/overlay_graph.js"):
    """Brokers and links; drawing.py says what shape, live and marks have in them."""

    def __init__(
        self,
        shape: dict[str, Any],
        live: dict[str, Any],
        label: str,
        marks: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._props["marks"] = marks or {}
        self._props["shape"] = shape
        self._props["live"] = live
        self._props["label"] = label

    def reshape(self, shape: dict[str, Any], live: dict[str, Any]) -> None:
        """Another overlay."""
        self._props["shape"] = shape
        self._props["live"] = live
        self.update()

    def load(self, live: dict[str, Any]) -> None:
        """What brokers and links of the same overlay carry by now."""
        self._props["live"] = live  # for who reloads; not sent with this
        self.run_method("load", live)

    def pick_out(self, marks: dict[str, Any]) -> None:
        """Pick out the ways of a message."""
        self.run_method("mark", marks)

    def choose(self, broker: str) -> None:
        """Pick out a broker, before the page is shown."""
        self._props["chosen"] = broker


class Trend(Element, component="browser/trend.js"):
    """Lines over time; a point is seconds and a value for each name."""

    def __init__(
        self, names: Sequence[str], points: list[list[float | None]], unit: str = ""
    ) -> None:
        super().__init__()
        self._props["names"] = list(names)
        self._props["points"] = points
        self._props["unit"] = unit

    def push(self, points: list[list[float | None]]) -> None:
        """More points, later than the others."""
        if points:
            self.run_method("push", points)


class Cell(str):
    """A cell of a table that is HTML already."""

    __slots__ = ()


def table_html(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table; a column whose title ends in # has numbers, in ! is not broken.

    Rows with sentences, in all other columns, become lists where a screen is too narrow for them.
    """
    names = [title.rstrip("#!") for title in columns]
    heads = "".join(
        f"<th{_of(title)}>{escape(name)}</th>" for title, name in zip(columns, names, strict=True)
    )
    shown = (
        "".join(
            f"<td{_of(title)} data-head='{escape(name)}'>"
            f"{cell if isinstance(cell, Cell) else escape(str(cell))}</td>"
            for title, name, cell in zip(columns, names, row, strict=True)
        )
        for row in rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in shown)
    has_sentences = any(title == name for title, name in zip(columns, names, strict=True))
    kind = " class='told'" if has_sentences and len(columns) > ABREAST_MAX else ""
    return f"<table{kind}><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _of(title: str) -> str:
    return {"#": " class='number'", "!": " class='whole'"}.get(title[-1:], "")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]] = ()) -> ui.html:
    """A table that is written anew when its content is set, with table_html."""
    return ui.html(table_html(columns, rows), sanitize=False).classes("mw-table")


def chip(text: str, kind: str = "") -> Cell:
    """A word with a colour."""
    return Cell(f"<span class='mw-chip {kind}'>{escape(text)}</span>")


def place(page: str, **query: str) -> str:
    """The address of a page."""
    return f"{HOME}/{quote(page)}" + (f"?{urlencode(query)}" if query else "")


def link(text: str, target: str) -> Cell:
    """A word that leads somewhere."""
    return Cell(f"<a href='{escape(target)}'>{escape(text)}</a>")


def anchor(text: str, target: str) -> ui.html:
    """The same as an element of its own; NiceGUI's links put HOME before HOME."""
    return ui.html(escape(text), sanitize=False, tag="a").props(f"href={target}")


def set_html(element: ui.html, content: str) -> None:
    """Show something else; nothing is sent if it is the same."""
    if element.content != content:
        element.set_content(content)


def set_text(element: ui.label, text: str) -> None:
    """Say something else; nothing is sent if it is the same."""
    if element.text != text:
        element.set_text(text)


def empty(told: str, command: str = "") -> str:
    """What to show where there is nothing, and what to do about it."""
    shown = f"<code>{escape(command)}</code>" if command else ""
    return f"<div class='mw-empty'>{escape(told)}<br>{shown}</div>"
