"""What a replay found, as pictures: what designs cost, and how placements fared over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meshwright.lab.figures.overlay_picture import INK, QUIET_INK
from meshwright.lab.figures.saving import figure_bytes

PLACEMENT_COLOURS = ("#bf2f33", "#2f6fbf", "#3a9b5c", "#ec9150", "#7a4fb5")
Points = Sequence[tuple[str, float, float]]


def costs_picture(designs: Mapping[str, Points]) -> str:
    """Messages against delay, a dot for each design and a colour for each placement, as SVG.

    designs: by placement, the design's name, messages of a publication, delay in hops.
    """
    figure = Figure(figsize=(10.0, 6.0), facecolor="white")
    axes = figure.add_axes((0.08, 0.1, 0.9, 0.82))
    for colour, (placement, points) in zip(PLACEMENT_COLOURS, designs.items(), strict=False):
        axes.scatter(
            [messages for _, messages, _ in points],
            [delay for _, _, delay in points],
            s=42,
            color=colour,
            label=placement,
            alpha=0.85,
            edgecolors="white",
        )
        for name, messages, delay in points:
            axes.annotate(
                name, (messages, delay), textcoords="offset points", xytext=(5, 4), fontsize=7.5,
                color=colour,
            )  # fmt: skip
    _say(axes, "messages of a publication", "hops from publisher to interested broker")
    axes.legend(title="placement", frameon=False, fontsize=9)
    return _as_svg(figure)


def history_picture(title: str, lines: Mapping[str, Sequence[float]], label: str) -> str:
    """One line for each placement over the slots, as SVG."""
    figure = Figure(figsize=(10.0, 2.9), facecolor="white")
    axes = figure.add_axes((0.08, 0.2, 0.9, 0.66))
    for colour, (placement, values) in zip(PLACEMENT_COLOURS, lines.items(), strict=False):
        axes.plot(range(len(values)), values, color=colour, lw=1.4, label=placement)
    axes.set_title(title, color=INK, fontsize=11, loc="left")
    axes.set_ylim(bottom=0.0)
    _say(axes, "slot", label)
    axes.legend(frameon=False, fontsize=8, ncols=5, loc="upper right")
    return _as_svg(figure)


def _say(axes: Axes, along: str, up: str) -> None:
    axes.set_xlabel(along, color=QUIET_INK, fontsize=9)
    axes.set_ylabel(up, color=QUIET_INK, fontsize=9)
    axes.tick_params(colors=QUIET_INK, labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _as_svg(figure: Figure) -> str:
    """The picture's own element, to stand inside a page."""
    document = figure_bytes(figure, ".svg").decode("utf-8")
    return document[document.index("<svg") :]
