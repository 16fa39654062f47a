"""An overlay for the browser: where brokers stand, what links carry, which way a message goes.

Everything is small: a place is two numbers, a load a whole number of a hundred, a link two indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from meshwright.manager.views.network_state import BrokerState, NetworkState
from meshwright.manager.views.paths import PathView
from meshwright.model.designs import DESIGNS
from meshwright.model.overlay import Overlay
from meshwright.model.wording import counted
from meshwright.overlays.layouts import is_tree, overlay_links, overlay_points

# Links of a ring bend so far towards the middle, so that those of neighbours are seen.
BEND = 0.55
SEED = 0

Link = tuple[str, str]


def overlay_of(state: NetworkState) -> Overlay:
    """The overlay in force."""
    known = DESIGNS.get(state.design)
    return Overlay(
        design=state.design if known is None or known.base is None else known.base,
        params=state.params,
        brokers=tuple(one.broker for one in state.brokers),
        links=state.links,
        positions=state.positions,
    )


def shape_of(overlay: Overlay, kinds: Mapping[Link, str] | None = None) -> dict[str, Any]:
    """Brokers and links of an overlay as its design wants them; kinds: links that are special."""
    points = overlay_points(overlay, seed=SEED) if overlay.brokers else np.zeros((0, 2))
    pairs = overlay_links(overlay)
    known = DESIGNS.get(overlay.design)
    is_cube = known is not None and known.geometry == "hypercube"
    is_ring = overlay.positions is not None and not is_cube
    radii = np.hypot(points[:, 0], points[:, 1]) if len(points) else np.zeros(0)
    is_layered = is_ring or is_tree(len(points), pairs)
    names = overlay.brokers
    return {
        "nodes": [
            [name, round(x, 4), round(y, 4)]
            for name, (x, y) in zip(names, points.tolist(), strict=True)
        ],
        "links": [
            [one, other, (kinds or {}).get(_sorted(names[one], names[other]), "")]
            for one, other in pairs.tolist()
        ],
        "bend": BEND if is_ring else 0,
        "rings": np.unique(radii.round(4)).tolist() if is_layered else [],
    }


def live_of(state: NetworkState) -> dict[str, Any]:
    """What brokers and links carry, each as its share of the busiest."""
    loads = [_load(one) for one in state.brokers]
    traffic = {_sorted(one.one, one.other): one.messages_per_s for one in state.traffic}
    carried = [traffic.get(_sorted(*link), 0.0) for link in state.links]
    return {
        "nodes": _shares(loads),
        "links": _shares(carried),
        "dead": [at for at, one in enumerate(state.brokers) if not one.is_alive],
        "told": [_told(one) for one in state.brokers],
    }


def still_of(overlay: Overlay) -> dict[str, Any]:
    """An overlay of which nothing is measured: brokers by their links."""
    degrees = np.bincount(overlay_links(overlay).ravel(), minlength=len(overlay.brokers))
    return {
        "nodes": [0] * len(overlay.brokers),
        "links": [0] * len(overlay.links),
        "dead": [],
        "told": [counted(int(degree), "link") for degree in degrees],
    }


def marks_of(
    overlay: Overlay, wanted: Iterable[str], now: PathView | None, then: PathView | None
) -> dict[str, Any]:
    """Who wants a topic, and the ways of a message now and with a plan."""
    indexes = {name: index for index, name in enumerate(overlay.brokers)}
    relays = {name for path in (now, then) if path is not None for name in path.relays}
    return {
        "now": _hops(indexes, now),
        "then": _hops(indexes, then),
        "wanted": sorted(indexes[name] for name in wanted if name in indexes),
        "relays": sorted(indexes[name] for name in relays if name in indexes),
    }


def moved_of(overlay: Overlay, other: Overlay) -> dict[str, Any]:
    """Brokers of an overlay that have another place or other links in the other one."""
    links, others = (_links_by_broker(one) for one in (overlay, other))
    here, there = overlay.positions or {}, other.positions or {}
    return {
        "wanted": [
            at
            for at, name in enumerate(overlay.brokers)
            if here.get(name) != there.get(name) or links[name] != others.get(name)
        ]
    }


def _links_by_broker(overlay: Overlay) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {name: set() for name in overlay.brokers}
    for one, other in overlay.links:
        found[one].add(other)
        found[other].add(one)
    return found


def link_changes(before: Overlay, after: Overlay) -> tuple[dict[Link, str], dict[Link, str]]:
    """Links that a change removes from the one overlay, and those that it adds to the other."""
    old, new = ({_sorted(*link) for link in one.links} for one in (before, after))
    return dict.fromkeys(old - new, "removed"), dict.fromkeys(new - old, "added")


def _hops(indexes: Mapping[str, int], path: PathView | None) -> list[list[int]]:
    if path is None:
        return []
    return [
        [indexes[hop.source], indexes[hop.target]]
        for hop in path.hops
        if hop.source in indexes and hop.target in indexes
    ]


def _sorted(one: str, other: str) -> Link:
    return (one, other) if one < other else (other, one)


def _load(one: BrokerState) -> float:
    return one.published_per_s + one.delivered_per_s + one.carried_per_s


def _shares(values: list[float]) -> list[int]:
    # Brokers that are all alike stand in the middle of the scale, not at its alarming end.
    highest = max((*values, 2 * min(values, default=0.0)))
    return [round(100 * value / highest) if highest else 0 for value in values]


def _told(one: BrokerState) -> str:
    if not one.is_alive:
        return one.state
    carries = f"{counted(one.clients, 'client')}, {_load(one):,.0f} messages a second"
    return f"{carries}; {one.state}" if one.state else carries
