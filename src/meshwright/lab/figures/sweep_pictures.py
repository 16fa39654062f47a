"""Results of an experiment as a figure: means over seeds with their intervals, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meshwright.lab.experiments.experiment import Plot
from meshwright.lab.experiments.judging import estimate
from meshwright.lab.experiments.results import SEED_COLUMN
from meshwright.lab.figures.overlay_picture import INK, QUIET_INK

Picture: TypeAlias = Figure

COLOURS = (
    "#2f6fbf", "#bf2f33", "#3a9b5c", "#ec9150", "#7a4fb5", "#2aa5a0", "#8a6d3b", "#d0569f",
)  # fmt: skip
LINES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
PANELS_ACROSS = 3
PANEL_SIZE = (4.6, 3.4)
WIDE_SIZE = (7.6, 4.2)
ONLY = ""


def sweep_figure(plot: Plot, rows: pd.DataFrame) -> Picture | None:
    """The figure, or None where no row has what it shows."""
    for name, value in plot.where.items():
        rows = rows[rows[name] == value]
    rows = rows.dropna(subset=[plot.x, plot.y])
    if rows.empty:
        return None
    panels = _values(rows, plot.panel)
    across = min(PANELS_ACROSS, len(panels))
    down = -(-len(panels) // across)
    width, height = WIDE_SIZE if len(panels) == 1 else PANEL_SIZE
    figure = Figure(
        figsize=(width * across, height * down + 0.6), facecolor="white", layout="constrained"
    )
    title = f"{plot.title}; bars are 95 % intervals over seeds"
    figure.suptitle(title, color=INK, fontsize=12, x=0.01, ha="left")
    grid = figure.subplots(down, across, squeeze=False)
    lines = _values(rows, plot.series)
    for axes, panel in zip(grid.flat, panels, strict=False):
        _draw_panel(axes, plot, _having(rows, plot.panel, panel), lines)
        if plot.panel is not None:
            axes.set_title(f"{plot.panel.replace('_', ' ')}: {panel}", color=INK, fontsize=10)
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    if plot.series is not None:
        handles, labels = _legend(grid.flat)
        figure.legend(handles, labels, loc="outside right upper", frameon=False, fontsize=9,
                      title=plot.series.replace("_", " "), title_fontsize=9)  # fmt: skip
    return figure


def _draw_panel(axes: Axes, plot: Plot, rows: pd.DataFrame, lines: Sequence[Any]) -> None:
    places = {value: place for place, value in enumerate(_values(rows, plot.x))}
    is_number = all(isinstance(value, int | float | np.number) for value in places)
    for number, line in enumerate(lines):
        here = _having(rows, plot.series, line)
        if here.empty:
            continue
        found = [
            (value if is_number else places[value], _mean(here[here[plot.x] == value], plot.y))
            for value in places
        ]
        drawn = [(x, one) for x, one in found if one is not None]
        axes.errorbar(
            [x for x, _ in drawn],
            [one.mean for _, one in drawn],
            yerr=[one.half_width or 0.0 for _, one in drawn],
            label=str(line), color=_colour(number, lines), marker=MARKERS[number % len(MARKERS)],
            markersize=4.5, lw=1.3, capsize=2.5, elinewidth=0.9,
            ls=LINES[number // len(COLOURS) % len(LINES)] if is_number else "none",
        )  # fmt: skip
    if not is_number:
        axes.set_xticks(range(len(places)), [str(value) for value in places], rotation=30,
                        ha="right")  # fmt: skip
    if plot.log_x and is_number:
        axes.set_xscale("log")
        axes.set_xticks(list(places), [f"{value:g}" for value in places])
        axes.minorticks_off()
    if plot.log_y:
        axes.set_yscale("log")
    elif rows[plot.y].min() >= 0:
        axes.set_ylim(bottom=0.0)
    axes.set_xlabel(plot.x_label, color=QUIET_INK, fontsize=9)
    axes.set_ylabel(plot.y_label, color=QUIET_INK, fontsize=9)
    axes.tick_params(colors=QUIET_INK, labelsize=8)
    axes.grid(axis="y", color="#e6ebf1", lw=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _mean(rows: pd.DataFrame, column: str) -> Any:
    """Over seeds; several rows of one seed count as their mean."""
    return estimate(rows.groupby(SEED_COLUMN)[column].mean().to_numpy(np.float64))


def _colour(number: int, lines: Sequence[Any]) -> Any:
    """Steps of one scale for many numbers, else colours that differ, and come again dashed."""
    is_number = all(isinstance(line, int | float) for line in lines)
    if is_number and len(lines) > len(COLOURS):
        return mpl.colormaps["viridis"](number / max(1, len(lines) - 1) * 0.92)
    return COLOURS[number % len(COLOURS)]


def _values(rows: pd.DataFrame, column: str | None) -> list[Any]:
    """The values of a column: numbers in their order, names as they first come."""
    if column is None:
        return [ONLY]
    found = list(dict.fromkeys(rows[column].tolist()))
    return sorted(found) if all(isinstance(value, int | float) for value in found) else found


def _having(rows: pd.DataFrame, column: str | None, value: Any) -> pd.DataFrame:
    return rows if column is None else rows[rows[column] == value]


def _legend(all_axes: Any) -> tuple[list[Any], list[str]]:
    """Every line once, whichever panels have it."""
    found: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)
