"""Overlays that grow by one broker after the other."""

from __future__ import annotations

import pytest

from meshwright.errors import CallerError
from meshwright.model.overlay import Overlay
from meshwright.overlays.growth import lone_overlay, with_broker, without_broker
from meshwright.planning.founding import founding_overlay

NEWCOMERS = ("a", "z", "m", "c", "x", "y")


def grown(design: str, count: int) -> list[Overlay]:
    overlays = [founding_overlay(design, tuple(f"b{number}" for number in range(count)))]
    for name in NEWCOMERS:
        overlays.append(with_broker(overlays[-1], name))
    return overlays


def reached(overlay: Overlay) -> set[str]:
    """The brokers that links lead to from the first one."""
    found = [overlay.brokers[0]]
    for here in found:
        for link in overlay.links:
            if here in link:
                other = link[link[0] == here]
                if other not in found:
                    found.append(other)
    return set(found)


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize(
    "design", ["chord", "tapestry", "pastry", "quadtree", "hypercube", "cycle", "tree", "hierarchy"]
)
def test_everybody_keeps_its_place_and_all_are_joined(design: str, count: int) -> None:
    overlays = grown(design, count)
    for before, after, name in zip(overlays, overlays[1:], NEWCOMERS, strict=False):
        assert after.brokers == (*before.brokers, name)
        assert (after.design, after.params) == (before.design, before.params)
        if before.positions is not None and after.positions is not None:
            kept = {one: after.positions[one] for one in before.brokers}
            assert kept == before.positions
            assert len(set(after.positions.values())) == len(after.brokers)
        assert reached(after) == set(after.brokers)
        assert len(set(after.links)) == len(after.links)


@pytest.mark.parametrize("design", ["chord", "tapestry", "pastry", "quadtree", "hypercube", "tree"])
def test_who_stays_is_joined_without_one_that_leaves(design: str) -> None:
    overlay = founding_overlay(design, tuple(f"b{number}" for number in range(9)))
    while len(overlay.brokers) > 2:
        name = sorted(overlay.brokers)[len(overlay.brokers) // 2]
        after = without_broker(overlay, name)
        assert after.brokers == tuple(one for one in overlay.brokers if one != name)
        assert reached(after) == set(after.brokers)
        assert len(set(after.links)) == len(after.links)
        if after.positions is not None and overlay.positions is not None:
            moved = [one for one in after.brokers if after.positions[one] != overlay.positions[one]]
            assert len(moved) <= (design == "hypercube")
        overlay = after


@pytest.mark.parametrize("design", ["chord", "tapestry", "pastry", "quadtree", "hypercube", "gm"])
def test_who_came_last_leaves_the_overlay_as_it_was(design: str) -> None:
    overlay = founding_overlay(design, tuple(f"b{number}" for number in range(7)))
    assert without_broker(with_broker(overlay, "n"), "n") == overlay


def test_a_hierarchy_that_loses_its_root_has_another() -> None:
    overlay = founding_overlay("hierarchy", tuple(f"b{number}" for number in range(9)))
    while len(overlay.brokers) > 1:
        root = str(overlay.params["root"])
        below = {end for link in overlay.links if root in link for end in link} - {root}
        overlay = without_broker(overlay, root)
        assert overlay.params["root"] in below
        assert reached(overlay) == set(overlay.brokers)


def test_on_a_ring_a_newcomer_sits_in_the_widest_gap() -> None:
    ring = Overlay(
        design="chord", brokers=("p", "q"), links=(("p", "q"),), positions={"p": 0, "q": 8}
    )
    assert (with_broker(ring, "n").positions or {})["n"] == 8 + (2**32 - 8) // 2


def test_in_a_tree_a_newcomer_is_below_who_has_the_fewest_links() -> None:
    tree = Overlay(design="tree", brokers=("p", "q", "r"), links=(("p", "q"), ("p", "r")))
    assert with_broker(tree, "n").links == (("p", "q"), ("p", "r"), ("q", "n"))


def test_who_is_in_the_overlay_cannot_join_it() -> None:
    with pytest.raises(CallerError, match="'n' is in the overlay already"):
        with_broker(lone_overlay("n"), "n")
