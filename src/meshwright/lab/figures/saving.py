"""Figures as files: the same figure gives the same bytes, without dates."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.collections import Collection
from matplotlib.figure import Figure

from meshwright.errors import OperatorError
from meshwright.files.writing import refuse_unwritable, write_whole

PIXELS_ACROSS = 1500
FORMATS = (".svg", ".png")
# Matplotlib gives parts of a picture links, and no titles; these links become titles.
TITLE = "title:"
TITLED_PART = re.compile(rf'<a xlink:href="{TITLE}([^"]*)"[^>]*>(.*?)</a>', re.DOTALL)


def give_titles(parts: Collection, titles: Sequence[str]) -> None:
    """What each part of an .svg tells when the pointer is over it."""
    parts.set_urls([f"{TITLE}{title}" for title in titles])


def refuse_undrawable(path: Path) -> None:
    """Say, before any work, why a picture could not be written under this name."""
    if path.suffix.lower() not in FORMATS:
        raise OperatorError(f"{path}: pictures are written as .svg or .png; choose such a name.")
    refuse_unwritable(path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as .svg or .png, whole or not at all."""
    refuse_undrawable(path)
    write_whole({path: figure_bytes(figure, path.suffix.lower())})


def figure_bytes(figure: Figure, suffix: str) -> bytes:
    """A figure as the content of an .svg or .png file."""
    content = io.BytesIO()
    if suffix == ".svg":
        with mpl.rc_context({"svg.hashsalt": "meshwright", "svg.fonttype": "path"}):
            figure.savefig(content, format="svg", backend="svg", metadata={"Date": None})
        drawn = content.getvalue().decode("utf-8")
        return TITLED_PART.sub(r"<g><title>\1</title>\2</g>", drawn).encode("utf-8")
    dpi = PIXELS_ACROSS / figure.get_figwidth()
    figure.savefig(content, format="png", backend="agg", dpi=dpi, metadata={"Software": None})
    return content.getvalue()


def svg_element(figure: Figure) -> str:
    """A figure's own element, to stand inside a page."""
    document = figure_bytes(figure, ".svg").decode("utf-8")
    return document[document.index("<svg") :]
