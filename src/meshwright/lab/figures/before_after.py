"""Pairs of overlays side by side: what was, and what a planner makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from meshwright.lab.figures.overlay_picture import (
    INK,
    LINK_COLOUR,
    QUIET_INK,
    Shading,
    add_scale,
    paint_overlay,
)
from meshwright.lab.figures.saving import save_figure, svg_element
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array
from meshwright.overlays.layouts import is_tree, overlay_links, overlay_points

PANEL_INCHES = 5.2
CAPTION_INCHES = 0.6
SCALE_INCHES = 0.7
TITLE_INCHES = 0.7
COMING, GOING = "#1a7f37", "#c4320a"


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
    """Write one picture: a column for each pair, before above and after below, on one scale."""
    save_figure(_figure(pairs, title, seed=seed), path)


def pair_svg(pair: Pair, *, seed: int = 0) -> str:
    """One pair side by side, as an element of a page."""
    width, height = 2 * PANEL_INCHES, CAPTION_INCHES + PANEL_INCHES + SCALE_INCHES
    figure = Figure(figsize=(width, height), facecolor="white")
    corners = [(0.0, SCALE_INCHES), (PANEL_INCHES, SCALE_INCHES)]
    _paint_pair(figure, pair, corners, seed=seed)
    return svg_element(figure)


def _figure(pairs: Sequence[Pair], title: str, *, seed: int) -> Figure:
    width = PANEL_INCHES * len(pairs)
    height = TITLE_INCHES + 2 * (CAPTION_INCHES + PANEL_INCHES) + SCALE_INCHES
    figure = Figure(figsize=(width, height), facecolor="white")
    figure.text(0.2 / width, 1 - 0.4 / height, title, color=INK, fontsize=18, va="center")
    above = SCALE_INCHES + PANEL_INCHES + CAPTION_INCHES
    for column, pair in enumerate(pairs):
        left = column * PANEL_INCHES
        _paint_pair(figure, pair, [(left, above), (left, SCALE_INCHES)], seed=seed)
    return figure


def _paint_pair(
    figure: Figure, pair: Pair, corners: Sequence[tuple[float, float]], *, seed: int
) -> None:
    """Both panels and their scale; corners: lower left, in inches, before and after."""
    width, height = figure.get_size_inches()
    panels = (pair.before, pair.after)
    highest = max(float(panel.values.max()) for panel in panels)
    heaviest = max(
        (float(panel.link_loads.max()) for panel in panels if panel.link_loads is not None),
        default=0.0,
    )
    points = _common_points(pair, seed=seed)
    for panel, colours, (left, bottom) in zip(panels, _link_colours(pair), corners, strict=True):
        text_left = (left + 0.2) / width
        axes = figure.add_axes(
            (left / width, bottom / height, PANEL_INCHES / width, PANEL_INCHES / height)
        )
        shading = Shading(pair.label, panel.values, highest)
        paint_overlay(
            axes,
            panel.overlay,
            shading,
            link_loads=panel.link_loads,
            heaviest=heaviest,
            link_colours=colours,
            points=points,
            seed=seed,
        )
        top = bottom + PANEL_INCHES
        figure.text(text_left, (top + 0.3) / height, panel.title, color=INK, fontsize=13.5)
        figure.text(text_left, (top + 0.06) / height, panel.caption, color=QUIET_INK, fontsize=9)
    place = ((left + 1.4) / width, 0.5 / height, (PANEL_INCHES - 2.8) / width, 0.09 / height)
    add_scale(figure, place, shading)


def _common_points(pair: Pair, *, seed: int) -> Float64Array | None:
    """Where brokers are in both pictures, if no design says it in either: as they end, (broker, 2).

    Who looks for what changed finds each broker where it was.
    """
    old, new = pair.before.overlay, pair.after.overlay
    are_free = all(
        each.positions is None and not is_tree(len(each.brokers), overlay_links(each))
        for each in (old, new)
    )
    return overlay_points(new, seed=seed) if are_free and old.brokers == new.brokers else None


def _link_colours(pair: Pair) -> tuple[list[str] | None, list[str] | None]:
    """Links that go, before, and those that come, after, stand out where most stay."""
    old, new = (
        {frozenset(link) for link in each.overlay.links} for each in (pair.before, pair.after)
    )
    if len(old ^ new) > len(old & new):
        return None, None
    return (
        [LINK_COLOUR if frozenset(link) in new else GOING for link in pair.before.overlay.links],
        [LINK_COLOUR if frozenset(link) in old else COMING for link in pair.after.overlay.links],
    )
