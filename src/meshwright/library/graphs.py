"""Overlays as NetworkX graphs, and back.

Only who wants a graph needs NetworkX, so it is imported when one is made.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from meshwright.errors import OperatorError
from meshwright.model.designs import design as known_design
from meshwright.model.overlay import Overlay

JOINED = "gm"  # whatever links there are, messages go along them among those who want them


def to_networkx(overlay: Overlay) -> Any:
    """A networkx.Graph: brokers are nodes, with their position if they have one, links are edges.

    The graph keeps the design and its parameters, so that from_networkx gives the same overlay.
    """
    try:
        networkx = import_module("networkx")
    except ModuleNotFoundError:
        raise OperatorError(
            "A graph needs NetworkX, which is not installed; pip install 'meshwright[networkx]'."
        ) from None
    graph = networkx.Graph(design=overlay.design, params=dict(overlay.params))
    seats = overlay.positions or {}
    for name in overlay.brokers:
        graph.add_node(name, **({"position": seats[name]} if name in seats else {}))
    graph.add_edges_from(overlay.links)
    return graph


def from_networkx(graph: Any, design: str | None = None) -> Overlay:
    """The overlay of a graph whose nodes are names of brokers.

    design: how messages travel on it; left out, what the graph says, or else along all links among
    those who want them.
    """
    name = design or str(graph.graph.get("design", JOINED))
    known_design(name)
    seats = {str(node): place for node, place in graph.nodes(data="position")}
    return Overlay(
        design=name,
        params=dict(graph.graph.get("params", {})) if design is None else {},
        brokers=tuple(seats),
        links=tuple((str(one), str(other)) for one, other in graph.edges),
        positions=seats if None not in seats.values() else None,
    )
