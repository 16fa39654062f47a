"""The table of designs: what its rows name is there, and no other list of designs is."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
import pytest

from meshwright.errors import ProblemError
from meshwright.lab.workloads import generate_snapshot
from meshwright.live.settings import (
    AdaptationSettings,
    LiveSettings,
    PlacementSettings,
    check_settings,
)
from meshwright.model.design_parameters import PARAMETERS, example
from meshwright.model.designs import (
    DESIGNS,
    asking,
    candidates,
    check_adaptable,
    chosen_designs,
    design,
    founded_as,
    full_name,
    joined_as,
)
from meshwright.overlays.growth import GROWTHS
from meshwright.overlays.key_geometries import KEY_GEOMETRIES
from meshwright.pipeline.replays.parameters import (
    InterestParameters,
    OverlayParameters,
    ReplayParameters,
)
from meshwright.pipeline.replays.wishes import replayed_designs
from meshwright.planning.arrangement.methods import METHODS
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.changes.network import PlanWish, plan_network
from meshwright.planning.designs import build_overlay
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
        *("mesh", "star"),
    }
    for wrong in ("tree,chrod", "chrod"):
        with pytest.raises(ProblemError, match="no design 'chrod'; choose one of chord, dynatops"):
            chosen_designs(wrong)
    with pytest.raises(ProblemError, match="is empty; name one"):
        chosen_designs(" , ")


@pytest.mark.parametrize("name", DESIGNS)
def test_every_parameter_of_a_design_has_a_meaning_and_a_value_to_write(name: str) -> None:
    for param in DESIGNS[name].params:
        asked = f"{name}:{param}={example(param)}"
        assert PARAMETERS[param].meaning
        assert full_name(asked) == asked
        assert param in design(asked).given


def test_arrangements_that_may_be_asked_for_are_those_that_there_are() -> None:
    assert PARAMETERS["arrangement"].choices == tuple(METHODS)


def test_a_name_with_parameters_is_a_variant_of_its_design() -> None:
    name = "tapestry:base=4"
    row = design(name)
    assert (row.base, row.given, joined_as(name)) == ("tapestry", {"base": 4}, "tapestry")
    overlay = founding_overlay(name, BROKERS)
    assert (overlay.design, overlay.params["base"]) == ("tapestry", 4)
    arranged = design("dynatops:delay_weight=2.5")
    assert (arranged.base, arranged.placement) == ("chord", "similarity")
    assert arranged.given == {"arrangement": "best", "delay_weight": 2.5}
    assert design("ocbr:fanout=3").given["adapted"] is True


def test_variants_of_one_design_are_chosen_together_and_each_once() -> None:
    wished = (
        "tree:degree_max=3:fanout=2, tapestry:base=4, tapestry:base=16,tree:fanout=2:degree_max=3"
    )
    assert chosen_designs(wished) == (
        "tapestry:base=4", "tapestry:base=16", "tree:fanout=2:degree_max=3"
    )  # fmt: skip


def test_a_replay_tells_designs_that_know_of_cells_how_large_they_are() -> None:
    def replayed(cell_degrees: float) -> tuple[str, ...]:
        return replayed_designs(
            ReplayParameters(
                overlay=OverlayParameters(designs=("chord", "quadtree")),
                interests=InterestParameters(cell_degrees=cell_degrees),
            )
        )

    assert replayed(1.0) == ("chord", "quadtree", "mesh", "star")
    assert replayed(0.5) == ("chord", "quadtree:cell_degrees=0.5", "mesh", "star")
    assert asking("quadtree:cell_degrees=2", "cell_degrees", 0.5) == "quadtree:cell_degrees=2"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tapestry:bsae=4", r"The design tapestry has no parameter 'bsae'; did you mean 'base'\?"),
        ("cycle:base=4", "The design cycle has no parameter 'base'; it takes none"),
        ("tapestry:base=5", "base cannot be '5'; it is one of 2, 4, 16, 256"),
        ("gm:tie=degre", r"tie cannot be 'degre'; did you mean degree\?"),
        ("tapestry:base", "write each once, as in tapestry:base=256"),
        ("tapestry:base=4:base=4", "write each once"),
        ("hypercube:low_bit_count=0", "low_bit_count cannot be '0'; it is a whole number from 1"),
        ("chord:delay_weight=nan", "delay_weight cannot be 'nan'; it is a number from 0"),
        ("tree:adapted=yes", "adapted cannot be 'yes'; it is true or false"),
        ("tapestyr:base=4", "There is no design 'tapestyr'; choose one of chord"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_with_what_can(name: str, said: str) -> None:
    with pytest.raises(ProblemError, match=said):
        design(name)


@pytest.mark.parametrize("name", ["tapestry:base=4", "pastry:base=4:leaf_count=4"])
def test_a_parameter_asked_for_is_kept_wherever_an_overlay_is_made(name: str) -> None:
    snapshot = generate_snapshot(24, 12, 4, "unif", seed=3)
    base = design(name).given.items()
    built = build_overlay(name, snapshot, rng=np.random.default_rng(0))
    assert base <= built.params.items()
    assert (
        built.links != build_overlay(joined_as(name), snapshot, rng=np.random.default_rng(0)).links
    )
    assert base <= arrange(snapshot, name, "best", net=False).target.params.items()
    wish = PlanWish(name, objective="cost")
    assert base <= plan_network(snapshot, wish).target.params.items()
    other = build_overlay(joined_as(name), snapshot, rng=np.random.default_rng(0))
    assert base <= plan_network(snapshot, wish, source=other).target.params.items()


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


def test_the_documents_name_every_parameter_with_its_values_and_designs() -> None:
    documents = (ROOT / "docs" / "FILES.md").read_text(encoding="utf-8")
    part = documents.partition("### Parameters of designs")[2].partition("\n### ")[0]
    told = part.replace("\n  ", " ")
    rows = re.findall(r"^- `(\w+)` \((.*?)\), of (.*?): (.*?)$", told, re.MULTILINE)
    assert [row[0] for row in rows] == list(PARAMETERS)
    for param, values, designs, meaning in rows:
        row = PARAMETERS[param]
        choices = ["true", "false"] if row.kind is bool else list(map(str, row.choices))
        takers = {joined_as(name) for name, one in DESIGNS.items() if param in one.params}
        assert (re.findall(r"`([^`]+)`", values), meaning) == (choices, row.meaning)
        assert set(re.findall(r"`([^`]+)`", designs)) == takers


def test_the_documents_name_every_design() -> None:
    table = (ROOT / "docs" / "designs.md").read_text(encoding="utf-8")
    first_cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    assert {name for cell in first_cells for name in re.findall(r"`([\w-]+)`", cell)} == set(
        DESIGNS
    )
    settings = (ROOT / "docs" / "broker.toml").read_text(encoding="utf-8")
    said = settings.partition("\ndesign =")[2].partition("\ndurability")[0]
    assert set(DESIGNS) <= set(re.findall(r"[\w-]+", said))
