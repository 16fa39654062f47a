"""Pairs of overlays side by side: what was, and what a planner makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from meshwright.lab.figures.overlay_picture import (
    INK,
    QUIET_INK,
    Shading,
    add_scale,
    paint_overlay,
)
from meshwright.lab.figures.saving import save_figure
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array

PANEL_INCHES = 5.2


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One overlay, what it is called and what is said of it.

    values colour the brokers, (broker,); link_loads set the width of links, (link,), or None.
    """

    title: str
    caption: str
    overlay: Overlay
    values: Float64Array
    link_loads: Float64Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two panels whose brokers are coloured on one scale."""

    label: str
    before: Panel
    after: Panel


def draw_pairs(pairs: Sequence[Pair], title: str, path: Path, *, seed: int = 0) -> None:
    """Write one picture: a row for each pair, before on the left and after on the right."""
    height = PANEL_INCHES * 1.22 * len(pairs) + 0.7
    figure = Figure(figsize=(2 * PANEL_INCHES, height), facecolor="white")
    figure.text(0.04, 1 - 0.38 / height, title, color=INK, fontsize=17, va="center")
    row_height = (1 - 0.7 / height) / len(pairs)
    for row, pair in enumerate(pairs):
        bottom = 1 - 0.7 / height - (row + 1) * row_height
        highest = max(float(pair.before.values.max()), float(pair.after.values.max()))
        loads = [panel.link_loads for panel in (pair.before, pair.after)]
        heaviest = max(
            (float(found.max(initial=0)) for found in loads if found is not None), default=0
        )
        for column, panel in enumerate((pair.before, pair.after)):
            axes = figure.add_axes(
                (0.02 + 0.49 * column, bottom + 0.13 * row_height, 0.47, 0.76 * row_height)
            )
            shading = Shading(pair.label, panel.values, highest)
            paint_overlay(
                axes,
                panel.overlay,
                shading,
                link_loads=panel.link_loads,
                heaviest=heaviest,
                seed=seed,
            )
            left = 0.04 + 0.49 * column
            top = bottom + 0.93 * row_height
            figure.text(left, top, panel.title, color=INK, fontsize=13, va="bottom")
            figure.text(left, top, panel.caption, color=QUIET_INK, fontsize=9.5, va="top")
        add_scale(figure, (0.36, bottom + 0.095 * row_height, 0.28, 0.014 * row_height), shading)
    save_figure(figure, path)
