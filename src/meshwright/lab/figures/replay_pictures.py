"""What a replay found, as pictures: what designs cost, and how placements fared over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.textpath import TextPath
from matplotlib.ticker import LogFormatter, ScalarFormatter
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray

from meshwright.lab.figures.overlay_picture import INK, QUIET_INK
from meshwright.lab.figures.saving import svg_element

PLACEMENT_COLOURS = ("#bf2f33", "#2f6fbf", "#3a9b5c", "#ec9150", "#7a4fb5")
Points = Sequence[tuple[str, float, float]]
Box = tuple[float, float, float, float]  # left, bottom, right, top, in points
NAME_SIZE, NAME_HEIGHT = 8.0, 9.0
WIDE_RANGE = 20.0


def costs_picture(designs: Mapping[str, Points], chosen: tuple[str, str] | None = None) -> str:
    """Messages against delay, a dot for each design and a colour for each placement, as SVG.

    designs: by placement, the design's name, messages of a publication, delay in hops. chosen: the
    placement and design that get a ring.
    """
    figure = Figure(figsize=(10.0, 6.4), facecolor="white")
    axes = figure.add_axes((0.08, 0.09, 0.9, 0.82))
    paths: dict[str, list[tuple[float, float]]] = {}
    for colour, (placement, points) in zip(PLACEMENT_COLOURS, designs.items(), strict=False):
        axes.scatter(
            [messages for _, messages, _ in points],
            [delay for _, _, delay in points],
            s=42,
            color=colour,
            label=placement,
            alpha=0.85,
            edgecolors="white",
            zorder=3,
        )
        for name, messages, delay in points:
            paths.setdefault(name, []).append((messages, delay))
    chosen_placement, chosen_design = chosen or ("", "")
    for name, messages, delay in designs.get(chosen_placement, ()):
        if name == chosen_design:
            axes.scatter(
                messages, delay, s=150, facecolors="none", edgecolors=INK, label="recommended"
            )
    for path in paths.values():
        axes.plot(*zip(*path, strict=True), color=QUIET_INK, lw=0.6, alpha=0.6, zorder=2)
    _stretch(axes, [messages for path in paths.values() for messages, _ in path])
    _say(axes, "messages of a publication", "hops from publisher to interested broker")
    _explain(axes)
    _name_paths(figure, axes, paths)
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


def _stretch(axes: Axes, values: Sequence[float]) -> None:
    """Few designs that cost far more than all others must not push those together."""
    least, most = min(values), max(values)
    if least > 0 and most > WIDE_RANGE * least:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.xaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2.0, 0.5)))


def _explain(axes: Axes) -> None:
    """Colours of placements, above the picture where no dot or line can be."""
    axes.legend(
        frameon=False, fontsize=9, ncols=len(PLACEMENT_COLOURS) + 1, loc="lower left",
        bbox_to_anchor=(-0.01, 1.0), borderaxespad=0.2, handletextpad=0.4,
    )  # fmt: skip


def _name_paths(
    figure: Figure, axes: Axes, paths: Mapping[str, Sequence[tuple[float, float]]]
) -> None:
    """Each design's name once, beside one of its dots, where it covers least."""
    axes.autoscale_view()
    # In points, as pixels are another number in every file.
    to_points = Affine2D().scale(72.0 / figure.dpi)
    dots = {
        name: [tuple((axes.transData + to_points).transform(dot).tolist()) for dot in path]
        for name, path in paths.items()
    }
    corners = (axes.transAxes + to_points).transform([(0.0, 0.0), (1.0, 1.0)])
    (left, bottom), (right, top) = corners.tolist()
    inside = (left, bottom, right, top)
    taken = [_box(x, y, 6.0, 6.0) for path in dots.values() for x, y in path]
    for name, path in dots.items():
        width = TextPath((0.0, 0.0), name, size=NAME_SIZE).get_extents().width
        places = [
            (dot, across, up) for dot in path for across in (1, -1, 0) for up in (0, 1, -1)
            if across or up
        ]  # fmt: skip

        def covered(place: tuple[tuple[float, float], int, int], width: float = width) -> float:
            box = _beside(place, width)
            outside = _overlap(box, box) - _overlap(box, inside)
            return outside + sum(_overlap(box, other) for other in taken)

        chosen = min(places, key=covered)
        box = _beside(chosen, width)
        taken.append(box)
        axes.annotate(
            name, ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2), xycoords="figure points",
            ha="center", va="center", fontsize=NAME_SIZE, color=INK,
        )  # fmt: skip


def _beside(place: tuple[tuple[float, float], int, int], width: float) -> Box:
    """The box of a name beside, above or below a dot."""
    (x, y), across, up = place
    return _box(x + across * (width / 2 + 6), y + up * 8.5, width, NAME_HEIGHT)


def _box(x: float, y: float, width: float, height: float) -> Box:
    return (x - width / 2, y - height / 2, x + width / 2, y + height / 2)


def _overlap(one: Box, other: Box) -> float:
    """The area that two boxes share."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    up = min(one[3], other[3]) - max(one[1], other[1])
    return max(across, 0.0) * max(up, 0.0)


def _say(axes: Axes, along: str, up: str) -> None:
    axes.set_xlabel(along, color=QUIET_INK, fontsize=9)
    axes.set_ylabel(up, color=QUIET_INK, fontsize=9)
    axes.tick_params(colors=QUIET_INK, labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
