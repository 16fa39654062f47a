"""One overlay as a picture: brokers, links, and what they carry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from meshwright.lab.figures.saving import give_titles, save_figure, svg_element
from meshwright.model.interests import BoolArray, Int32Array
from meshwright.model.overlay import Overlay
from meshwright.model.snapshot import Float64Array
from meshwright.model.wording import counted
from meshwright.overlays.layouts import is_tree, overlay_links, overlay_points

INK = "#1d2b3a"
QUIET_INK = "#5b6b7b"
LINK_COLOUR = "#6f87a3"
SCALE = LinearSegmentedColormap.from_list(
    "meshwright", ["#e6f1f5", "#a3d3d6", "#f2d98d", "#ec9150", "#bf2f33"]
)
# How far axes reach from the middle of a ring of radius 1; names at its sides need more room.
REACH, REACH_WITH_NAMES = 1.14, 1.42
# How opaque a link is that has a colour of its own.
STANDING_OUT = 0.9
# Names: their size in points, how wide and high a letter is at most, and how far out they stand.
NAME_SIZE = 8
LETTER_WIDTH, LINE_HEIGHT = 0.66, 1.2
NAME_DISTANCE = 1.09
NAME_SHARE_MAX = 0.6
AT_THE_SIDE = 0.3
NAME_GAP_PT = 2.0
NAME_ROUNDS = 4
# Which way a name may stand from its broker, the best first.
NAME_WAYS = np.array([[0, -1], [0, 1], [1, 0], [-1, 0], [1, -1], [-1, -1], [1, 1], [-1, 1]])
NAME_STYLE: dict[str, Any] = {
    "va": "center", "fontsize": NAME_SIZE, "color": INK, "zorder": 4, "parse_math": False,
    "path_effects": [withStroke(linewidth=2.0, foreground="white")],
}  # fmt: skip
# Of more brokers only those are named whose name covers nothing, and of many more none.
NAMED_BROKERS_MAX, FITTED_NAMES_MAX = 40, 400


@dataclass(frozen=True, slots=True, eq=False)
class Shading:
    """What colours the brokers: a value each, (broker,), on a scale that ends at `highest`."""

    label: str
    values: Float64Array
    highest: float


def draw_overlay(
    overlay: Overlay, path: FilePath, *, topic_counts: Float64Array | None = None, seed: int = 0
) -> None:
    """Write a picture; brokers are coloured by the topics they want, else by their degree."""
    save_figure(_figure(overlay, topic_counts, seed=seed), path)


def overlay_svg(overlay: Overlay, *, seed: int = 0) -> str:
    """The same as an element of a page."""
    return svg_element(_figure(overlay, None, seed=seed))


def _figure(overlay: Overlay, topic_counts: Float64Array | None, *, seed: int) -> Figure:
    degrees = _degrees(overlay)
    if topic_counts is None:
        label, values = "links of a broker", degrees
    else:
        label, values = "topics wanted by a broker", topic_counts
    # Brokers that are all alike stand in the middle of the scale, not at its alarming end.
    shading = Shading(label, values, max(float(values.max()), 2 * float(values.min())))
    figure = Figure(figsize=(8.0, 8.4), facecolor="white")
    axes = figure.add_axes((0.04, 0.09, 0.92, 0.84))
    paint_overlay(axes, overlay, shading, seed=seed)
    axes.set_title(_title(overlay), color=INK, fontsize=15, loc="left", pad=18, parse_math=False)
    axes.text(
        0.0, 1.005, _subtitle(overlay, degrees), transform=axes.transAxes, color=QUIET_INK,
        fontsize=10.5,
    )  # fmt: skip
    add_scale(figure, (0.3, 0.05, 0.4, 0.014), shading)
    return figure


def paint_overlay(
    axes: Axes,
    overlay: Overlay,
    shading: Shading,
    *,
    link_loads: Float64Array | None = None,
    heaviest: float = 0.0,
    link_colours: Sequence[str] | None = None,
    points: Float64Array | None = None,
    seed: int = 0,
) -> None:
    """Paint one overlay into axes; links are as wide as their share of the heaviest load.

    link_colours: of each link that is not to have the usual one, (link,). points: where brokers
    are, (broker, 2), if not by the design.
    """
    links = overlay_links(overlay)
    points = overlay_points(overlay, seed=seed) if points is None else points
    degrees = _degrees(overlay)
    ringed = overlay.positions is not None
    if ringed or is_tree(len(points), links):
        _paint_circles(axes, points)
    curves = _curves(points, links, bend=0.55 if ringed else 0.0)
    shares = None if link_loads is None else link_loads / max(heaviest, 1e-9)
    lines = _link_lines(curves, shares, link_colours or [LINK_COLOUR] * len(curves))
    give_titles(lines, link_titles(overlay))
    axes.add_collection(lines)
    room = np.clip(90.0 / np.sqrt(len(points)), 2.2, 13.0)
    sizes = room**2 * (0.55 + 0.9 * degrees / max(float(degrees.max()), 1.0))
    marks = axes.scatter(
        points[:, 0], points[:, 1], s=sizes, c=shading.values, cmap=SCALE, vmin=0.0,
        vmax=max(shading.highest, 1e-9), edgecolors=INK, linewidths=0.6, zorder=3,
    )  # fmt: skip
    give_titles(marks, overlay.brokers)
    if len(points) > FITTED_NAMES_MAX:
        reach = REACH
    elif ringed and len(points) <= NAMED_BROKERS_MAX:
        reach = _named_outside(axes, overlay.brokers, points)
    else:
        reach = _named_beside(axes, overlay.brokers, points, np.sqrt(sizes) / 2)
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.set_aspect("equal")
    axes.set_axis_off()


def link_titles(overlay: Overlay) -> list[str]:
    """What each link is called where the pointer is over it."""
    return [f"{one} to {other}" for one, other in overlay.links]


def name_points(
    axes: Axes, names: Sequence[str], points: Float64Array, radii_pt: Float64Array
) -> None:
    """Names beside points of axes whose limits are known, where a name covers nothing."""
    figure = axes.get_figure(root=True)
    assert figure is not None, "axes are painted in a figure"
    axes.apply_aspect()
    middles_pt = axes.transData.transform(points) * 72.0 / figure.dpi
    sizes_pt = np.array([_name_size(name) for name in names])
    offsets_pt, fits = _free_places(middles_pt, sizes_pt, radii_pt, is_crowded=True)
    _write_names(axes, names, points, offsets_pt, fits)


def add_scale(figure: Figure, place: tuple[float, float, float, float], shading: Shading) -> None:
    """A slim colour scale with its label below the picture."""
    axes = figure.add_axes(place)
    highest = max(shading.highest, 1e-9)
    axes.imshow(
        np.linspace(0.0, 1.0, 256)[None, :], aspect="auto", cmap=SCALE, extent=(0.0, highest, 0, 1)
    )
    axes.set_yticks([])
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.tick_params(colors=QUIET_INK, labelsize=8.5, length=2)
    axes.set_xlabel(shading.label, color=QUIET_INK, fontsize=9.5, labelpad=3)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _degrees(overlay: Overlay) -> Float64Array:
    """Links of each broker: (broker,)."""
    ends = overlay_links(overlay).ravel()
    return np.bincount(ends, minlength=len(overlay.brokers)).astype(np.float64)


def _curves(points: Float64Array, links: Int32Array, *, bend: float) -> list[Path]:
    """Links bent towards the middle of the page by a share of the way there."""
    starts, ends = points[links[:, 0]], points[links[:, 1]]
    middles = (starts + ends) / 2 * (1.0 - bend)
    codes = (Path.MOVETO, Path.CURVE3, Path.CURVE3)
    return [Path(corners, codes) for corners in np.stack((starts, middles, ends), axis=1)]


def _link_lines(
    curves: list[Path], shares: Float64Array | None, named: Sequence[str]
) -> PathCollection:
    """All links alike, fainter the more there are; or each by its share of the heaviest load."""
    if shares is None:
        widths = np.ones(len(curves))
        alphas = np.full(len(curves), np.clip(6.0 / np.sqrt(max(len(curves), 1)), 0.1, 0.8))
    else:
        widths, alphas = 0.25 + 4.5 * shares, 0.18 + 0.6 * shares
    colours = [
        to_rgba(name, alpha if name == LINK_COLOUR else STANDING_OUT)
        for name, alpha in zip(named, alphas.tolist(), strict=True)
    ]
    return PathCollection(
        curves, facecolors="none", edgecolors=colours, linewidths=widths.tolist(), zorder=2
    )


def _paint_circles(axes: Axes, points: Float64Array) -> None:
    """A faint circle under each layer of brokers."""
    angles = np.linspace(0.0, 2 * np.pi, 181)
    for radius in np.unique(np.round(np.hypot(points[:, 0], points[:, 1]), 6)):
        axes.plot(
            radius * np.cos(angles), radius * np.sin(angles), color="#dfe6ee", lw=0.9, zorder=1
        )


def _named_outside(axes: Axes, names: Sequence[str], points: Float64Array) -> float:
    """Names around a ring; how far from its middle the picture goes, so that none is cut off."""
    half_pt, reach = _half_pt(axes), REACH_WITH_NAMES
    for name, (x, y) in zip(names, points.tolist(), strict=True):
        is_beside = abs(x) >= AT_THE_SIDE
        side = "center" if not is_beside else "left" if x > 0 else "right"
        axes.text(NAME_DISTANCE * x, NAME_DISTANCE * y, name, ha=side, **NAME_STYLE)
        beyond_pt = _name_size(name)[0] * (1.0 if is_beside else 0.5)
        # What is beyond the broker keeps its size whatever the reach is.
        share = min(beyond_pt / half_pt, NAME_SHARE_MAX)
        reach = max(reach, NAME_DISTANCE * abs(x) / (1.0 - share))
    return reach


def _named_beside(
    axes: Axes, names: Sequence[str], points: Float64Array, radii_pt: Float64Array
) -> float:
    """Names beside their brokers; how far the picture goes, so that none is cut off.

    The farther it goes, the closer are brokers, so that other places may be free. Of many brokers
    only those are named whose name covers nothing.
    """
    half_pt, reach = _half_pt(axes), REACH
    is_crowded = len(names) > NAMED_BROKERS_MAX
    sizes_pt = np.array([_name_size(name) for name in names])
    for _ in range(NAME_ROUNDS):
        offsets_pt, fits = _free_places(
            points * half_pt / reach, sizes_pt, radii_pt, is_crowded=is_crowded
        )
        shares = np.minimum((np.abs(offsets_pt) + sizes_pt / 2) / half_pt, NAME_SHARE_MAX)
        needed = float((np.abs(points) / (1.0 - shares))[fits].max(initial=REACH))
        if needed <= reach:
            break
        reach = needed
    _write_names(axes, names, points, offsets_pt, fits)
    return reach


def _write_names(
    axes: Axes,
    names: Sequence[str],
    points: Float64Array,
    offsets_pt: Float64Array,
    fits: BoolArray,
) -> None:
    for broker in np.flatnonzero(fits).tolist():
        axes.annotate(
            names[broker], points[broker], xytext=offsets_pt[broker], textcoords="offset points",
            ha="center", **NAME_STYLE,
        )  # fmt: skip


def _free_places(
    middles_pt: Float64Array,
    sizes_pt: Float64Array,
    radii_pt: Float64Array,
    *,
    is_crowded: bool,
) -> tuple[Float64Array, BoolArray]:
    """Where each name stands from its broker, (broker, 2), and whether it is written, (broker,).

    It stands where it covers least, below if it may; names before it and all brokers are in the
    way. Where it is crowded, a name that would cover something is left out.
    """
    marks = np.stack((middles_pt - radii_pt[:, None], middles_pt + radii_pt[:, None]), axis=1)
    taken = list(marks)
    offsets = np.empty_like(middles_pt)
    fits = np.ones(len(middles_pt), dtype=np.bool_)
    for broker, (size, radius) in enumerate(zip(sizes_pt, radii_pt.tolist(), strict=True)):
        ways = NAME_WAYS * (radius + NAME_GAP_PT + size / 2)
        lows = middles_pt[broker] + ways - size / 2
        others = np.array(taken)
        common = np.minimum(lows[:, None] + size, others[:, 1]) - np.maximum(
            lows[:, None], others[:, 0]
        )
        covered = np.clip(common, 0.0, None).prod(axis=2).sum(axis=1)
        chosen = int(np.argmin(covered))
        offsets[broker] = ways[chosen]
        fits[broker] = not is_crowded or covered[chosen] == 0.0
        if fits[broker]:
            taken.append(np.stack((lows[chosen], lows[chosen] + size)))
    return offsets, fits


def _half_pt(axes: Axes) -> float:
    """From the middle of axes to their nearer edge."""
    box, figure = axes.get_position(), axes.get_figure(root=True)
    assert figure is not None, "axes are painted in a figure"
    width, height = (float(inches) for inches in figure.get_size_inches())
    return 36.0 * min(box.width * width, box.height * height)


def _name_size(name: str) -> tuple[float, float]:
    """At most so many points wide and high."""
    return LETTER_WIDTH * NAME_SIZE * len(name), LINE_HEIGHT * NAME_SIZE


def _title(overlay: Overlay) -> str:
    params = ", ".join(f"{name} = {value}" for name, value in overlay.params.items())
    return overlay.design + (f"  ({params})" if params else "")


def _subtitle(overlay: Overlay, degrees: Float64Array) -> str:
    return (
        f"{counted(len(overlay.brokers), 'broker')}, {counted(len(overlay.links), 'link')}; "
        f"{degrees.mean():.1f} links a broker on average, {int(degrees.max())} at most"
    )
