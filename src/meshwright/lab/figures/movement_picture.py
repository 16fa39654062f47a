"""How people move in a trace: how often they come back, and how long they stay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meshwright.lab.figures.overlay_picture import INK, LINK_COLOUR, QUIET_INK
from meshwright.lab.figures.saving import save_figure

DAY_H, WEEK_H, MONTH_H = 24, 168, 720


def draw_movement(
    visit_counts: Sequence[int],
    stay_counts: Sequence[int],
    stay_edges_h: Sequence[int],
    *,
    title: str,
    path: Path,
) -> None:
    """Write one picture: pairs of user and cell by visits, and stays by length.

    visit_counts begin at one visit, the last is for so many and more; stay_counts lie below each
    edge in hours, the last above all of them.
    """
    figure = Figure(figsize=(11.0, 4.6), facecolor="white")
    figure.text(0.03, 0.93, title, color=INK, fontsize=14)
    visits, stays = figure.subplots(1, 2, gridspec_kw={"width_ratios": [4, 5]})
    figure.subplots_adjust(left=0.07, right=0.98, top=0.80, bottom=0.16, wspace=0.22)
    numbers = [str(number) for number in range(1, len(visit_counts))]
    _paint_shares(visits, [*numbers, f"{len(visit_counts)}+"], visit_counts)
    _say(visits, "visits to the same cell", "pairs of user and cell")
    words = [_length(hours) for hours in stay_edges_h]
    _paint_shares(stays, [*(f"<{word}" for word in words), f"≥{words[-1]}"], stay_counts)
    _say(stays, "until the next cell", "stays")
    save_figure(figure, path)


def _paint_shares(axes: Axes, labels: Sequence[str], counts: Sequence[int]) -> None:
    whole = sum(counts) or 1
    shares = [100 * count / whole for count in counts]
    axes.bar(labels, shares, color=LINK_COLOUR, width=0.8)
    for place, share in enumerate(shares):
        axes.text(
            place, share, f"{share:.0f}", ha="center", va="bottom", color=QUIET_INK, fontsize=8
        )


def _say(axes: Axes, along: str, what: str) -> None:
    axes.set_title(f"% of {what}", color=QUIET_INK, fontsize=10, loc="left")
    axes.set_xlabel(along, color=QUIET_INK, fontsize=10)
    axes.tick_params(colors=QUIET_INK, labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(QUIET_INK)


def _length(hours: int) -> str:
    for unit, name in ((MONTH_H, "mo"), (WEEK_H, "w"), (DAY_H, "d")):
        if hours % unit == 0:
            return f"{hours // unit} {name}"
    return f"{hours} h"
