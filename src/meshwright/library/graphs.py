"""Overlays as NetworkX graphs, and back.

Only who wants a graph needs NetworkX, so it is imported when one is made.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from msgspec import ValidationError

from meshwright.errors import ArgumentError, CallerError, OperatorError, OverlayError
from meshwright.files.decoding import converted
from meshwright.files.overlays import check_standing
from meshwright.model.overlay import Overlay

JOINED = "gm"  # whatever links there are, messages go along them among those who want them


def to_networkx(overlay: Overlay) -> Any:
    """A networkx.Graph: brokers are nodes, with their position if they have one, links are edges.

    The graph keeps the design and its parameters, so that from_networkx gives the same overlay.
    """
    graph = _networkx().Graph(design=overlay.design, params=dict(overlay.params))
    seats = overlay.positions or {}
    for name in overlay.brokers:
        graph.add_node(name, **({"position": seats[name]} if name in seats else {}))
    graph.add_edges_from(overlay.links)
    return graph


def from_networkx(graph: Any, design: str | None = None) -> Overlay:
    """The overlay of a graph whose nodes are names of brokers.

    design: how messages travel on it; left out, what the graph says, or else along all links among
    those who want them. What read_overlay would refuse in a file is refused here.
    """
    if not isinstance(graph, _networkx().Graph):
        raise ArgumentError("from_networkx", "graph", repr(type(graph)), "a networkx.Graph")
    if graph.is_directed() or graph.is_multigraph():
        raise CallerError(
            "from_networkx: links have no direction and are there once, and the graph is a "
            f"{type(graph).__name__}; give networkx.Graph(graph), which joins its edges."
        )
    seats = {str(node): place for node, place in graph.nodes(data="position") if place is not None}
    written = {
        "design": design or graph.graph.get("design", JOINED),
        "params": graph.graph.get("params", {}) if design is None else {},
        "brokers": [str(node) for node in graph.nodes],
        "links": [(str(one), str(other)) for one, other in graph.edges],
        "positions": seats or None,
    }
    try:
        overlay = converted(written, Overlay)
        check_standing(overlay)
    except (ValidationError, OverlayError) as error:
        raise CallerError(f"from_networkx: {error}") from None
    return overlay


def _networkx() -> Any:
    try:
        return import_module("networkx")
    except ModuleNotFoundError:
        raise OperatorError(
            "A graph needs NetworkX, which is not installed; pip install 'meshwright[networkx]'."
        ) from None
