from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.errors import InputFileError
from meshwright.files.documents import document_bytes
from meshwright.files.overlays import read_overlay, read_tree, write_overlay
from meshwright.files.plans import read_overlay_or_target, read_plan, write_plan
from meshwright.files.reading import name_fault
from meshwright.model.designs import DESIGNS, design
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan, PlanCost, Step

NAMES = st.text(min_size=1, max_size=6).filter(lambda name: name_fault(name) is None)
AMOUNTS = st.floats(0, 1e12)
JOINED = [name for name, row in DESIGNS.items() if row.base is None]
PARAMETERS = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | AMOUNTS | NAMES


@st.composite
def overlays(draw: st.DrawFn, brokers: tuple[str, ...] | None = None) -> Overlay:
    if brokers is None:
        brokers = tuple(draw(st.lists(NAMES, min_size=2, max_size=6, unique=True)))
    pairs = [(one, other) for at, one in enumerate(brokers) for other in brokers[at + 1 :]]
    identifiers = st.lists(
        st.integers(0, 2**63 - 1), min_size=len(brokers), max_size=len(brokers), unique=True
    )
    positions = identifiers.map(lambda found: dict(zip(brokers, found, strict=True)))
    joined = draw(st.sampled_from(JOINED))
    drawn = st.lists(st.sampled_from(pairs), unique=True, max_size=8)
    chains = st.permutations(brokers).map(lambda order: list(pairwise(order)))
    return Overlay(
        design=joined,
        params=draw(st.dictionaries(NAMES, PARAMETERS, max_size=3)),
        brokers=brokers,
        links=tuple(draw(chains if design(joined).geometry == "tree" else drawn)),
        positions=draw(st.none() | positions),
    )


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    source = draw(overlays())
    steps = st.builds(
        Step,
        action=st.sampled_from(["swap_positions", "add_link", "remove_link"]),
        brokers=st.just(source.brokers[:2]),
        why=st.text(st.characters(exclude_categories=["Cs"])),
        algorithm=NAMES,
        metric=NAMES,
        before=AMOUNTS,
        after=AMOUNTS,
    )
    return Plan(
        source=source,
        target=draw(overlays(source.brokers)),
        steps=tuple(draw(st.lists(steps, max_size=3))),
        cost=draw(st.builds(PlanCost, **dict.fromkeys(PlanCost.__struct_fields__, AMOUNTS))),
        reconfiguration_cost=draw(AMOUNTS),
        net_benefit=draw(st.floats(-1e12, 1e12)),
        moved=draw(st.integers(0, 9)),
        summary=draw(st.text(st.characters(exclude_categories=["Cs"]))),
    )


@settings(max_examples=60)
@given(overlays())
def test_an_overlay_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, overlay: Overlay
) -> None:
    path = tmp_path_factory.mktemp("o") / "overlay.json"
    write_overlay(overlay, path)
    assert read_overlay(path) == overlay
    assert read_overlay_or_target(path) == overlay


@settings(max_examples=60)
@given(plans())
def test_a_plan_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, plan: Plan
) -> None:
    path = tmp_path_factory.mktemp("p") / "plan.json"
    write_plan(plan, path)
    assert read_plan(path) == plan
    assert read_overlay_or_target(path) == plan.target


@given(overlays())
def test_documents_are_plain_json(overlay: Overlay) -> None:
    assert json.loads(document_bytes(overlay)) == json.loads(msgspec.json.encode(overlay))


OVERLAY = {
    "design": "chord",
    "params": {},
    "brokers": ["a", "b", "c"],
    "links": [["a", "b"], ["b", "c"]],
    "positions": {"a": 1, "b": 2, "c": 3},
    "version": 1,
}

OVERLAY_FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"version": 2}, "this overlay has version 2; this program reads version 1"),
    ({"version": "1"}, 'this overlay has version "1"; this program reads version 1'),
    ({"version": True}, "this overlay has version true; this program reads version 1"),
    ({"colour": "red"}, "this is not an overlay (object contains unknown field `colour`)"),
    ({"links": [["a", "b"], ["a"]]}, "expected `array` of length 2, got 1 at links[1]"),
    ({"links": [["a", "d"]]}, "the link names an unknown broker 'd'"),
    ({"links": [["a", "a"]]}, "'a' is linked to itself"),
    ({"links": [["a", "b"], ["b", "a"]]}, "'b' and 'a' are linked twice"),
    ({"brokers": ["a", "b", "c", "a"]}, "broker 'a' is named twice"),
    ({"brokers": ["a", "b", "c", ""]}, "the broker name '' is empty"),
    ({"brokers": ["a"], "links": []}, "the overlay has only one broker"),
    ({"brokers": [], "links": []}, "the overlay has no brokers"),
    ({"positions": {"a": 1, "b": 2}}, "broker 'c' has no position"),
    ({"positions": {"a": 1, "b": 2, "c": 2}}, "'b' and 'c' share position 2"),
    ({"positions": {"a": 1, "b": 2, "c": 3, "d": 4}}, "position is given to an unknown broker 'd'"),
    ({"positions": {"a": 1, "b": 2, "c": -3}}, "position -3 of 'c' is not an identifier"),
    ({"positions": {"a": 1, "b": 2, "c": 2**64}}, "is not an identifier"),
    ({"positions": {"a": 1, "b": 2, "c": "x"}}, "expected `int`, got `str`"),
]


@pytest.mark.parametrize(("change", "fault"), OVERLAY_FAULTS)
def test_an_overlay_that_contradicts_itself_is_refused_in_one_sentence(
    change: dict[str, Any], fault: str, tmp_path: Path
) -> None:
    path = tmp_path / "overlay.json"
    path.write_text(json.dumps(OVERLAY | change))
    with pytest.raises(InputFileError) as caught:
        read_overlay(path)
    assert fault in str(caught.value)
    assert str(caught.value).startswith(f"{path}, line 1: ")


@pytest.mark.parametrize("missing", ["design", "brokers", "links"])
def test_a_missing_field_is_named(missing: str, tmp_path: Path) -> None:
    path = tmp_path / "overlay.json"
    path.write_text(json.dumps({key: OVERLAY[key] for key in OVERLAY if key != missing}))
    with pytest.raises(InputFileError, match=f"missing required field `{missing}`"):
        read_overlay(path)


def test_a_missing_version_is_the_first(tmp_path: Path) -> None:
    path = tmp_path / "overlay.json"
    path.write_text(json.dumps({key: OVERLAY[key] for key in OVERLAY if key != "version"}))
    assert read_overlay(path).version == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "line 1: the file is empty"),
        ("\n \n", "line 1: the file is empty"),
        ('{"design": "gm",\n"links": [\n}', "line 3: this is not JSON"),
        ('{\n"design": "gm"', "line 2: this is not JSON"),
        ("[1]", "line 1: this is not an overlay"),
        ("null", "line 1: this is not an overlay"),
        ("[" * 100_000, "line 1: this is not JSON"),
        ('{"design": NaN}', "line 1: this is not JSON"),
    ],
)
def test_what_is_not_an_overlay_is_refused(text: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "overlay.json"
    path.write_text(text)
    with pytest.raises(InputFileError) as caught:
        read_overlay(path)
    assert str(caught.value).startswith(f"{path}, {fault}")


def test_faults_point_at_their_line(tmp_path: Path) -> None:
    path = tmp_path / "overlay.json"
    for change, line in (
        ({"version": 3}, 14),
        ({"links": [["a", "b"], ["c", "c"]]}, 7),
        ({"links": [["a", "b"], ["c"]]}, 7),
        ({"positions": {"a": 1, "b": 1, "c": 3}}, 11),
        ({"colour": "red"}, 15),
    ):
        path.write_bytes(document_bytes_of(OVERLAY | change))
        with pytest.raises(InputFileError) as caught:
            read_overlay(path)
        assert caught.value.line == line, str(caught.value)


def test_only_trees_are_read_as_trees(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    path.write_bytes(document_bytes_of(OVERLAY))
    assert read_tree(path) == read_overlay(path)
    path.write_bytes(document_bytes_of(OVERLAY | {"links": [["a", "b"], ["b", "c"], ["a", "c"]]}))
    with pytest.raises(InputFileError, match="line 8: the link of 'a' and 'c' closes a cycle"):
        read_tree(path)
    path.write_bytes(document_bytes_of(OVERLAY | {"links": [["a", "b"]]}))
    with pytest.raises(InputFileError, match="no links lead from 'a' to 'c'"):
        read_tree(path)


def test_bridges_that_close_a_cycle_are_refused_where_a_plan_would_begin(tmp_path: Path) -> None:
    path = tmp_path / "bridges.json"
    ring = {"links": [["a", "b"], ["b", "c"], ["a", "c"]], "positions": None}
    path.write_bytes(document_bytes_of(OVERLAY | ring | {"design": "tree", "params": {}}))
    for read in (read_overlay, read_overlay_or_target):
        with pytest.raises(InputFileError, match="line 8: the link of 'a' and 'c' closes a cycle"):
            read(path)


def test_a_plan_of_other_brokers_steps_or_versions_is_refused(tmp_path: Path) -> None:
    cost = dict.fromkeys(PlanCost.__struct_fields__, 0.0)
    step = {
        "action": "add_link", "brokers": ["a", "z"], "why": "", "algorithm": "", "metric": "",
        "before": 1, "after": 0,
    }  # fmt: skip
    plan = {
        "from": OVERLAY, "to": OVERLAY, "steps": [], "cost": cost, "reconfiguration_cost": 0,
        "net_benefit": 0, "moved": 0, "summary": "",
    }  # fmt: skip
    stranger = OVERLAY | {"brokers": ["a", "b", "c", "d"], "positions": None}
    path = tmp_path / "plan.json"
    for change, fault in (
        ({"version": 7}, "this plan has version 7; this program reads version 1"),
        ({"to": OVERLAY | {"version": 2}}, r"this plan \(to\) has version 2"),
        ({"to": OVERLAY | {"links": [["a", "z"]]}}, "unknown broker 'z'"),
        ({"to": stranger}, "broker 'd' is in only one"),
        ({"steps": [step]}, "the step names an unknown broker 'z'"),
        ({"steps": [step | {"action": "dance"}]}, "invalid enum value 'dance'"),
        ({"cost": {}}, "missing required field `before`"),
    ):
        path.write_text(json.dumps(plan | change))
        with pytest.raises(InputFileError, match=fault):
            read_plan(path)
    path.write_text(json.dumps(plan))
    assert read_plan(path).moved == 0


def document_bytes_of(fields: dict[str, Any]) -> bytes:
    """Laid out as the program writes it, also where the fields are wrong."""
    return document_bytes(msgspec.defstruct("Anything", list(fields))(**fields))
