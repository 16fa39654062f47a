"""What a replay found, as pictures: overlays on the map, and how placements fared over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from meshwright.lab.figures.overlay_picture import (
    INK,
    LINK_COLOUR,
    QUIET_INK,
    link_titles,
    name_points,
)
from meshwright.lab.figures.saving import give_titles, svg_element
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array
from meshwright.overlays.layouts import overlay_links

MAP_INCHES, DOT_PT = 5.2, 4.7
PLACEMENT_COLOURS = ("#bf2f33", "#2f6fbf", "#3a9b5c", "#ec9150", "#7a4fb5")


def map_picture(overlays: Mapping[str, Overlay], coordinates: Float64Array) -> str:
    """Brokers where they stand and the links between them, of two overlays at most, as SVG.

    overlays: by the word above each. coordinates: latitude and longitude in degrees, (broker, 2),
    in the order of brokers' names.
    """
    width, height = MAP_INCHES * len(overlays), MAP_INCHES
    figure = Figure(figsize=(width, height), facecolor="white")
    shape = 1.0 / max(math.cos(math.radians(float(coordinates[:, 0].mean()))), 0.1)
    for at, (word, overlay) in enumerate(overlays.items()):
        left = (at + 0.12) * MAP_INCHES / width
        axes = figure.add_axes((left, 0.1, 0.86 * MAP_INCHES / width, 0.8))
        rows = np.argsort(np.argsort(np.array(overlay.brokers)))
        places = coordinates[rows][:, ::-1]
        ends = places[overlay_links(overlay)]
        alpha = float(np.clip(6.0 / math.sqrt(max(len(ends), 1)), 0.1, 0.8))
        lines = LineCollection(list(ends), colors=LINK_COLOUR, lw=0.9, alpha=alpha)
        give_titles(lines, link_titles(overlay))
        axes.add_collection(lines)
        marks = axes.scatter(places[:, 0], places[:, 1], s=DOT_PT**2, color=INK, zorder=3)
        give_titles(marks, overlay.brokers)
        axes.set_title(word, color=INK, fontsize=11, loc="left")
        axes.set_aspect(shape, adjustable="datalim")
        name_points(axes, overlay.brokers, places, np.full(len(places), DOT_PT / 2))
        _say(axes, "longitude", "latitude")
    return svg_element(figure)


def history_picture(
    title: str,
    begins: NDArray[np.datetime64],
    lines: Mapping[str, Sequence[float]],
    label: str,
) -> str:
    """One line for each placement over the slots, which begin at these times, as SVG."""
    figure = Figure(figsize=(10.0, 2.9), facecolor="white")
    axes = figure.add_axes((0.08, 0.18, 0.9, 0.6))
    with mpl.rc_context({"date.converter": "concise"}):
        for colour, (placement, values) in zip(PLACEMENT_COLOURS, lines.items(), strict=False):
            # Nothing at all is drawn on the axis, which would hide it.
            axes.plot(
                begins, values, color=colour, lw=1.2, alpha=0.85, label=placement,
                clip_on=False, zorder=3,
            )  # fmt: skip
    axes.set_title(title, color=INK, fontsize=11, loc="left", pad=22)
    axes.set_ylim(bottom=0.0)
    axes.margins(x=0.01)
    _say(axes, "time, in UTC", label)
    _explain(axes)
    return svg_element(figure)


def _explain(axes: Axes) -> None:
    """Colours of placements, above the picture where no dot or line can be."""
    axes.legend(
        frameon=False, fontsize=9, ncols=len(PLACEMENT_COLOURS) + 1, loc="lower left",
        bbox_to_anchor=(-0.01, 1.0), borderaxespad=0.2, handletextpad=0.4,
    )  # fmt: skip


def _say(axes: Axes, along: str, up: str) -> None:
    axes.set_xlabel(along, color=QUIET_INK, fontsize=9)
    axes.set_ylabel(up, color=QUIET_INK, fontsize=9)
    axes.tick_params(colors=QUIET_INK, labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
