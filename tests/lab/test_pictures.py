from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from meshwright.errors import OperatorError
from meshwright.lab.figures.before_after import COMING, GOING, Pair, Panel, draw_pairs, pair_svg
from meshwright.lab.figures.overlay_picture import (
    Shading,
    draw_overlay,
    overlay_svg,
    paint_overlay,
)
from meshwright.lab.figures.replay_pictures import map_picture
from meshwright.lab.workloads import generate_snapshot
from meshwright.model.identifiers import BrokerName
from meshwright.model.overlay import Overlay
from meshwright.overlays.layouts import (
    cube_points,
    is_tree,
    layered_points,
    overlay_points,
    ring_points,
    stress_points,
    tree_middle,
)
from meshwright.planning.designs import build_overlay

TREES = st.builds(
    lambda count, seed: nx.random_labeled_tree(count, seed=seed),
    st.integers(2, 12),
    st.integers(0, 10**6),
)
GRAPHS = st.builds(
    lambda count, density, seed: nx.gnp_random_graph(count, density, seed=seed),
    st.integers(2, 12),
    st.floats(0, 1),
    st.integers(0, 10**6),
)


def links_of(graph: nx.Graph) -> np.ndarray:
    return np.array(list(graph.edges), dtype=np.int32).reshape(-1, 2)


def overlay_of(graph: nx.Graph, *, positions: bool = False) -> Overlay:
    names = tuple(f"b{broker}" for broker in graph)
    return Overlay(
        design="any",
        brokers=names,
        links=tuple((names[one], names[other]) for one, other in graph.edges),
        positions={name: 7 * at for at, name in enumerate(names)} if positions else None,
    )


@given(GRAPHS)
def test_is_tree_agrees_with_networkx(graph: nx.Graph) -> None:
    assert is_tree(len(graph), links_of(graph)) == nx.is_tree(graph)


@pytest.mark.parametrize("count", [1, 2, 8, 500])
def test_no_two_corners_of_a_cube_are_in_one_place_and_opposite_ones_mirror(count: int) -> None:
    points = cube_points(np.arange(count))
    assert len({tuple(point) for point in points.round(6).tolist()}) == count
    assert float(np.hypot(points[:, 0], points[:, 1]).max()) == pytest.approx(1.0)
    if count == 8:
        assert np.allclose(points, -points[::-1])


@given(TREES)
def test_layers_are_the_hops_from_the_middle(tree: nx.Graph) -> None:
    middle = tree_middle(len(tree), links_of(tree))
    assert middle == min(nx.center(tree))
    hops = nx.single_source_shortest_path_length(tree, middle)
    radii = np.hypot(*layered_points(len(tree), links_of(tree)).T)
    assert np.allclose(radii * max(hops.values()), [hops[broker] for broker in range(len(tree))])


@given(TREES)
def test_no_two_brokers_of_a_tree_are_drawn_on_one_point(tree: nx.Graph) -> None:
    points = layered_points(len(tree), links_of(tree)).round(9)
    assert len(np.unique(points, axis=0)) == len(tree)


@given(st.lists(st.integers(0, 2**32), min_size=2, max_size=12, unique=True))
def test_a_ring_goes_clockwise_by_identifier_from_the_top(identifiers: list[int]) -> None:
    points = ring_points(np.array(identifiers))
    angles = (np.pi / 2 - np.arctan2(points[:, 1], points[:, 0])).round(9) % (2 * np.pi)
    assert np.argsort(angles).tolist() == np.argsort(identifiers).tolist()


@settings(max_examples=30)
@given(GRAPHS, st.integers(0, 9))
def test_every_point_is_on_the_page_and_comes_back(graph: nx.Graph, seed: int) -> None:
    overlay = overlay_of(graph)
    points = overlay_points(overlay, seed=seed)
    assert np.isfinite(points).all()
    assert np.hypot(*points.T).max() <= 1 + 1e-9
    assert np.array_equal(points, overlay_points(overlay, seed=seed))


def test_a_path_is_laid_out_straight() -> None:
    points = stress_points(9, links_of(nx.path_graph(9)), seed=1)
    gaps = [float(np.hypot(*(after - before))) for before, after in pairwise(points)]
    assert np.hypot(*(points[8] - points[0])) == pytest.approx(sum(gaps), rel=0.02)


@pytest.mark.parametrize("name", ["overlay.svg", "overlay.png"])
@pytest.mark.parametrize("positions", [True, False])
def test_the_same_overlay_gives_the_same_bytes(name: str, positions: bool, tmp_path: Path) -> None:
    overlay = overlay_of(nx.cycle_graph(9), positions=positions)
    pictures = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        draw_overlay(overlay, tmp_path / folder / name, topic_counts=np.arange(9.0), seed=3)
        pictures.append((tmp_path / folder / name).read_bytes())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(b"<?xml" if name.endswith("svg") else b"\x89PNG")


def test_names_may_hold_signs_that_mean_something_to_a_typesetter(tmp_path: Path) -> None:
    names = ("$\\bad{$", "b_{1}", "c\\d")
    overlay = Overlay(design="$\\bad{$", brokers=names, links=(names[:2],))
    draw_overlay(overlay, tmp_path / "odd.svg")
    assert (tmp_path / "odd.svg").stat().st_size > 0


def test_a_picture_in_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"\.svg or \.png"):
        draw_overlay(overlay_of(nx.path_graph(3)), tmp_path / "overlay.pdf")
    assert not list(tmp_path.iterdir())


def test_pairs_are_drawn_side_by_side(tmp_path: Path) -> None:
    tree, graph = overlay_of(nx.path_graph(5)), overlay_of(nx.complete_graph(5))
    pair = Pair(
        "messages",
        Panel("before", "a tree", tree, np.arange(5.0), np.arange(4.0)),
        Panel("after", "all to all", graph, np.zeros(5)),
    )
    draw_pairs([pair, pair], "Before and after", tmp_path / "pairs.png")
    assert (tmp_path / "pairs.png").read_bytes().startswith(b"\x89PNG")


def names_painted(overlay: Overlay) -> tuple[Bbox, list[Bbox]]:
    """The box of the axes, and of each name, as in a report's picture of two panels."""
    figure = Figure(figsize=(10.4, 5.4))
    axes = figure.add_axes((0.03, 0.1, 0.46, 0.78))
    paint_overlay(axes, overlay, Shading("links", np.ones(len(overlay.brokers)), 2.0))
    axes.apply_aspect()
    renderer = FigureCanvasAgg(figure).get_renderer()
    return axes.get_window_extent(), [text.get_window_extent(renderer) for text in axes.texts]


def names_of_places(count: int) -> tuple[BrokerName, ...]:
    return tuple(BrokerName(f"b40.{number:02},-74.{number:02}") for number in range(count))


@pytest.mark.parametrize("design", ["chord", "star", "gm"])
def test_no_name_of_a_broker_is_cut_off_at_the_edge(design: str) -> None:
    snapshot = generate_snapshot(20, 30, 5, "zipf", seed=1)
    named = replace(snapshot, brokers=names_of_places(20))
    box, names = names_painted(build_overlay(design, named, rng=np.random.default_rng(0)))
    for ink in names:
        assert box.x0 - 1 <= ink.x0
        assert ink.x1 <= box.x1 + 1


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(16),
        nx.path_graph(40),
        nx.balanced_tree(2, 3),
        nx.grid_2d_graph(4, 4),
        nx.circular_ladder_graph(10),
        nx.star_graph(19),
    ],
)
def test_no_name_lies_on_another(graph: nx.Graph) -> None:
    graph = nx.convert_node_labels_to_integers(graph)
    names = names_of_places(len(graph))
    links = tuple((names[one], names[other]) for one, other in graph.edges)
    _, boxes = names_painted(Overlay(design="any", brokers=names, links=links))
    assert len(boxes) == len(names)
    assert_apart(boxes)


def assert_apart(boxes: list[Bbox]) -> None:
    for one, other in combinations(boxes, 2):
        wide = min(one.x1, other.x1) - max(one.x0, other.x0)
        high = min(one.y1, other.y1) - max(one.y0, other.y0)
        assert wide <= 1.0 or high <= 1.0


@pytest.mark.parametrize("design", ["chord", "mesh", "gm"])
def test_of_many_brokers_those_are_named_whose_name_covers_nothing(design: str) -> None:
    snapshot = generate_snapshot(48, 40, 6, "zipf", seed=1)
    overlay = build_overlay(design, snapshot, rng=np.random.default_rng(0))
    _, boxes = names_painted(overlay)
    assert len(boxes) > 10
    assert_apart(boxes)


def test_a_pointer_is_told_the_names_of_brokers_and_links() -> None:
    names = (BrokerName("a&b"), *names_of_places(3))
    overlay = Overlay(design="any", brokers=names, links=((names[0], names[1]),))
    places = np.array([[40.0, 1.0], [41.0, 2.0], [42.0, 3.0], [43.0, 4.0]])
    for picture in (overlay_svg(overlay), map_picture({"after": overlay}, places)):
        for name in names:
            assert f"<title>{name.replace('&', '&amp;')}</title>" in picture
        assert f"<title>a&amp;b to {names[1]}</title>" in picture
        assert "<a " not in picture


def test_a_link_that_changes_stands_out_and_brokers_stay_where_they_are() -> None:
    ring = nx.cycle_graph(8)
    wheel = nx.Graph(ring)
    wheel.add_edge(0, 4)
    wheel.remove_edge(2, 3)
    panels = [
        Panel(title, "", overlay_of(graph), np.ones(8))
        for title, graph in (("before", ring), ("after", wheel))
    ]
    pictured = pair_svg(Pair("links", *panels))
    assert pictured.count(GOING) == pictured.count(COMING) == 1
    same = pair_svg(Pair("links", panels[0], panels[0]))
    assert GOING not in same
    assert COMING not in same
    other = Panel("after", "", overlay_of(nx.complement(ring)), np.ones(8))
    assert COMING not in pair_svg(Pair("links", panels[0], other))
