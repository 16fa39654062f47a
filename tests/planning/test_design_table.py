"""The table of designs: what its rows name is there, and no other list of designs is."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name

import pytest

from meshwright.errors import ProblemError
from meshwright.live.settings import (
    AdaptationSettings,
    LiveSettings,
    PlacementSettings,
    check_settings,
)
from meshwright.model.designs import (
    DESIGNS,
    candidates,
    check_adaptable,
    chosen_designs,
    design,
    founded_as,
    joined_as,
)
from meshwright.overlays.growth import GROWTHS
from meshwright.overlays.key_geometries import KEY_GEOMETRIES
from meshwright.planning.founding import founding_overlay
from meshwright.protocol.reconfiguration.blocking import can_block
from meshwright.sim.scenario.parameters import SimulationParameters

ROOT = Path(__file__).parents[2]
BROKERS = ("a", "b", "c", "d")
# As many names of designs in a row are a list of them.
LISTED = 5


@pytest.mark.parametrize("name", DESIGNS)
def test_a_row_names_functions_of_planning_that_take_its_parameters(name: str) -> None:
    row = DESIGNS[name]
    references = [one for one in (row.build, row.choose_links) if one is not None]
    assert all(one.startswith("meshwright.planning.") for one in references)
    taken = set[str]().union(*(signature(resolve_name(one)).parameters for one in references))
    if row.geometry in KEY_GEOMETRIES:
        taken |= set(signature(KEY_GEOMETRIES[row.geometry]).parameters)
    assert set(row.params) <= taken
    assert row.geometry in {*KEY_GEOMETRIES, *GROWTHS}
    assert row.can_be_asked(row.k_own)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_variant_is_its_base_with_parameters(name: str) -> None:
    row, base = DESIGNS[name], DESIGNS[joined_as(name)]
    assert base.base is None
    assert set(row.given) <= set(base.params)
    assert (row.forwarding, row.geometry, row.build) == (base.forwarding, base.geometry, base.build)


@pytest.mark.parametrize("name", DESIGNS)
def test_a_founded_network_remembers_its_design(name: str) -> None:
    overlay = founding_overlay(name, BROKERS)
    assert (overlay.design, founded_as(overlay)) == (joined_as(name), name)


def test_names_are_chosen_in_the_order_of_the_table() -> None:
    assert chosen_designs("tree, chord") == ("chord", "tree")
    assert chosen_designs(None) == chosen_designs("all") == candidates()
    assert set(DESIGNS) - set(candidates()) == {
        *("dynatops-greedy", "ssbr-greedy", "lsap"),
        *("tree-advertised", "hierarchy-advertised"),
    }
    for wrong in ("tree,chrod", "chrod"):
        with pytest.raises(ProblemError, match="no design 'chrod'; choose one of chord, dynatops"):
            chosen_designs(wrong)
    with pytest.raises(ProblemError, match="is empty; name one"):
        chosen_designs(" , ")


def test_who_cannot_adapt_is_told_who_can() -> None:
    check_adaptable("tree")
    with pytest.raises(
        ProblemError, match=r"'gm' cannot adapt it .* take 'tree' or 'ocbr' or 'tree-ad"
    ):
        check_adaptable("gm")


def test_brokers_do_what_their_design_does_unless_the_settings_say_otherwise() -> None:
    rules = {
        name: (settings.placement_rule, settings.adaptation_rule)
        for name in DESIGNS
        for settings in (check_settings(LiveSettings(design=name)),)
    }
    assert rules["chord"] == rules["tree"] == ("none", "none")
    assert rules["dynatops"] == ("similarity", "none")
    assert rules["ocbr"] == ("none", "ocbr")
    plain = LiveSettings(
        design="ocbr",
        placement=PlacementSettings(rule="similarity"),
        adaptation=AdaptationSettings(rule="none"),
    )
    assert (plain.placement_rule, plain.adaptation_rule) == ("similarity", "none")
    simulated = {name: SimulationParameters(design=name) for name in DESIGNS}
    assert [name for name, one in simulated.items() if one.is_adapting] == ["ocbr"]
    assert all(
        one.is_gathering == (design(name).placement != "none") for name, one in simulated.items()
    )


@pytest.mark.parametrize(
    ("name", "expected"), [("chord", True), ("dynatops", True), ("tapestry", True),
    ("pastry", False), ("quadtree", False), ("hypercube", False), ("tree", False)],
)  # fmt: skip
def test_clients_can_wait_only_where_trees_grow_from_their_roots(name: str, expected: bool) -> None:
    overlay = founding_overlay(name, BROKERS)
    assert can_block(overlay, overlay) is expected


def test_no_source_has_a_list_of_designs_of_its_own() -> None:
    """Names in quotes, one after another, in any module but the table."""
    quoted = "|".join(f'"{name}"' for name in DESIGNS)
    several = re.compile(rf"(?:(?:{quoted})[^\"]{{0,40}}){{{LISTED},}}")
    sources = (ROOT / "src").rglob("*.py")
    found = [one.name for one in sources if several.search(one.read_text(encoding="utf-8"))]
    assert found == ["designs.py"]


def test_the_documents_name_every_design() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## The designs")[2].partition("\n\n[")[0]
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert {name for cell in first_cells for name in re.findall(r"`([\w-]+)`", cell)} == set(
        DESIGNS
    )
    settings = (ROOT / "docs" / "broker.toml").read_text(encoding="utf-8")
    said = settings.partition("\ndesign =")[2].partition("\ndurability")[0]
    assert set(DESIGNS) <= set(re.findall(r"[\w-]+", said))
