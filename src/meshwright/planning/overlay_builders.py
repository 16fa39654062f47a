"""What builds the overlays of the designs."""

from __future__ import annotations

from dataclasses import asdict
from itertools import pairwise

import msgspec
import numpy as np

from meshwright.errors import ProblemError
from meshwright.model.designs import DESIGNS
from meshwright.model.identifiers import BrokerName
from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Overlay, Parameter
from meshwright.model.snapshot import Snapshot
from meshwright.overlays.geometry import KeyGeometry
from meshwright.overlays.graph import components, graph
from meshwright.overlays.graph import links as graph_links
from meshwright.overlays.hypercube import hypercube_of, readings_of
from meshwright.overlays.key_geometries import NEAREST, key_geometry
from meshwright.overlays.quadtree import drawn_map, identifiers_on_map
from meshwright.overlays.tapestry import nearest_neighbours
from meshwright.overlays.tree import FANOUT, regular_tree
from meshwright.planning.adaptation.plan import adapt
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.planning.adaptation.search import SearchRules
from meshwright.planning.adaptation.values import Traffic
from meshwright.planning.arrangement.methods import arrangement_method, counts_ways_in
from meshwright.planning.arrangement.problem import arrangement_problem, hash_positions
from meshwright.planning.arrangement.search import new_search
from meshwright.planning.arrangement.seats import arranged_overlay
from meshwright.planning.topic_connected.builders import build_links, supported_k


def on_key_geometry(
    design: str,
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    arrangement: str = "hash",
    delay_weight: float = 1.0,
    neighbours: str | None = None,
    **geometry_params: Parameter,
) -> Overlay:
    """Brokers on the positions of a key geometry, by hash or by another arrangement method.

    neighbours: of Tapestry, nearest for those of least round trip [Bayeux with PNS].
    """
    count, shape = len(snapshot.brokers), DESIGNS[design].geometry
    geometry = key_geometry(shape, count, identifiers=None, linked=None, **geometry_params)
    positions = hash_positions(snapshot.brokers)
    if arrangement != "hash":
        with_ways_in = counts_ways_in(arrangement)
        problem = arrangement_problem(snapshot, geometry, delay_weight, with_ways_in=with_ways_in)
        search = new_search(problem, positions, seed=search_seed(rng), net=False)
        positions = arrangement_method(arrangement)(search).target
    if neighbours == NEAREST:
        geometry = _with_nearest(geometry, positions, snapshot)
    return arranged_overlay(design, snapshot, geometry, positions, {"arrangement": arrangement})


def search_seed(rng: np.random.Generator) -> int:
    """The seed of a search for positions: the same for whoever begins with the same chance."""
    return int(rng.integers(2**32))


def _with_nearest(geometry: KeyGeometry, positions: Int32Array, snapshot: Snapshot) -> KeyGeometry:
    """The geometry with the neighbours that are nearest by delay to those who sit there."""
    if snapshot.delays_ms is None:
        raise ProblemError(
            "Nobody knows who is nearest to whom without delays between brokers; give those, or "
            "take neighbours=mirror."
        )
    brokers = np.argsort(positions)
    delays_ms = snapshot.delays_ms[np.ix_(brokers, brokers)]
    base = int(geometry.params["base"] or 0)
    linked = nearest_neighbours(geometry.identifiers, delays_ms, base=base)
    return key_geometry(
        geometry.name,
        len(brokers),
        identifiers=geometry.identifiers,
        linked=linked,
        **{**geometry.params, "neighbours": NEAREST},
    )


def on_map(
    design: str,
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    arrangement: str | None = None,
    cell_degrees: float = 1.0,
) -> Overlay:
    """Brokers in the cells they stand in, where their coordinates are known; else by hash."""
    if arrangement is not None or snapshot.coordinates is None:
        return on_key_geometry(design, snapshot, rng=rng, arrangement=arrangement or "hash")
    drawn = drawn_map(snapshot.coordinates, cell_degrees=cell_degrees)
    identifiers = identifiers_on_map(drawn, snapshot.coordinates)
    shape = DESIGNS[design].geometry
    geometry = key_geometry(
        shape, len(identifiers), identifiers=np.sort(identifiers), **asdict(drawn)
    )
    positions = np.searchsorted(geometry.identifiers, identifiers).astype(np.int32)
    return arranged_overlay(design, snapshot, geometry, positions, {"arrangement": "location"})


def on_hypercube(
    design: str,
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    low_bit_count: int | None = None,
    events: str = "selective",
    subscriptions: str = "path",
) -> Overlay:
    """Brokers on a hypercube by hash; events, subscriptions: how the paper is read [SHG, 2.2]."""
    del rng
    readings = readings_of({"events": events, "subscriptions": subscriptions})
    cube = hypercube_of(len(snapshot.brokers), {"low_bit_count": low_bit_count})
    positions = hash_positions(snapshot.brokers)
    return Overlay(
        design=design,
        params={"low_bit_count": cube.low_bit_count, **asdict(readings)},
        brokers=snapshot.brokers,
        links=_named_links(_seated(cube.links, positions), snapshot),
        positions=dict(zip(snapshot.brokers, positions.tolist(), strict=True)),
    )


def topic_connected(
    design: str,
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    k: int | None = None,
    **params: Parameter,
) -> Overlay:
    """Links that join the brokers of every topic among themselves, and the parts of the whole."""
    links = build_links(design, snapshot.interests, k=k, rng=rng, topics=snapshot.topics, **params)
    return joined_up(
        Overlay(
            design=design,
            params={"k": supported_k(design, k, len(snapshot.brokers)), **params},
            brokers=snapshot.brokers,
            links=_named_links(links, snapshot),
        )
    )


def joined_up(overlay: Overlay) -> Overlay:
    """The overlay with links between its parts, so that whatever anybody publishes finds its way.

    A part is joined to the one before it, each by the first broker in it: these links stay while
    parts do, however the links within them change.
    """
    numbers = {name: number for number, name in enumerate(overlay.brokers)}
    pairs = [(numbers[one], numbers[other]) for one, other in overlay.links]
    links = np.array(pairs, dtype=np.int32).reshape(-1, 2)
    firsts = np.unique(components(graph(len(numbers), links)), return_index=True)[1]
    added = tuple(
        (overlay.brokers[one], overlay.brokers[other])
        for one, other in pairwise(sorted(firsts.tolist()))
    )
    return msgspec.structs.replace(overlay, links=(*overlay.links, *added))


def on_tree(
    design: str,
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    fanout: int = FANOUT,
    adapted: bool = False,
    degree_max: int | None = None,
    covering: bool = True,
    advertisements: bool = False,
    contents_max: int = 0,
) -> Overlay:
    """A regular tree in hash order, adapted to who shares topics if wished [OCBR].

    degree_max: links that a broker may come to have; without it, equal costs end in a star.
    The rest says how filters spread (_spreading).
    """
    params = {"fanout": fanout, "adapted": adapted, "degree_max": degree_max}
    links = _regular_links(snapshot, fanout, hash_positions(snapshot.brokers))
    regular = Overlay(
        design=design,
        params={**params, **_spreading(covering, advertisements, contents_max)},
        brokers=snapshot.brokers,
        links=links,
    )
    if not adapted:
        return regular
    messages = np.ceil(snapshot.publications).astype(np.int64)
    traffic = Traffic(snapshot.interests.transposed(), messages)
    # Nothing is running yet, so a change has no price.
    rules = AdaptationRules(
        gain_share_min=0.0, messages_per_neighbour=0, search=SearchRules(degree_max=degree_max)
    )
    return adapt(regular, traffic, rng, rules=rules).target


def on_hierarchy(
    design: str,
    snapshot: Snapshot,
    *,
    rng: np.random.Generator,
    fanout: int = FANOUT,
    root: str | None = None,
    covering: bool = True,
    advertisements: bool = False,
    contents_max: int = 0,
) -> Overlay:
    """A regular tree in hash order, to whose root everything climbs [mobility, 4.1].

    root: a broker, the first by hash if None; it takes that one's place.
    The rest says how filters spread (_spreading).
    """
    del rng
    positions = hash_positions(snapshot.brokers)
    first = int(np.argmin(positions))
    if root is not None:
        if root not in snapshot.brokers:
            raise ProblemError(f"The root {root!r} is no broker of the network; name one that is.")
        chosen = snapshot.brokers.index(BrokerName(root))
        positions = positions.copy()
        positions[[first, chosen]] = positions[[chosen, first]]
        first = chosen
    params: dict[str, Parameter] = {"fanout": fanout, "root": snapshot.brokers[first]}
    return Overlay(
        design=design,
        params={**params, **_spreading(covering, advertisements, contents_max)},
        brokers=snapshot.brokers,
        links=_regular_links(snapshot, fanout, positions),
    )


def _spreading(covering: bool, advertisements: bool, contents_max: int) -> dict[str, Parameter]:
    """How filters spread on a tree [mobility, 2].

    covering: a filter is not told where a wider one was told. advertisements: a filter is told only
    towards brokers that publish what it matches. contents_max: so many contents of a topic are
    advertised one by one before it is advertised as a whole.
    """
    return {
        "covering": covering,
        "advertisements": advertisements,
        "contents_max": contents_max,
    }


def _regular_links(
    snapshot: Snapshot, fanout: int, positions: Int32Array
) -> tuple[tuple[str, str], ...]:
    hung = regular_tree(len(snapshot.brokers), fanout)
    return _named_links(_seated(graph_links(hung.joined), positions), snapshot)


def _seated(links: Int32Array, positions: Int32Array) -> Int32Array:
    """Links between positions as links between the brokers that sit there: (link, 2)."""
    brokers = np.argsort(positions).astype(np.int32)
    seated = np.sort(brokers[links], axis=1)
    return seated[np.lexsort((seated[:, 1], seated[:, 0]))]


def _named_links(links: Int32Array, snapshot: Snapshot) -> tuple[tuple[str, str], ...]:
    names = snapshot.brokers
    return tuple((names[one], names[other]) for one, other in links.tolist())
