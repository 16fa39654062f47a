"""Plans that are kept: under an id, with what became of them, one whole file for each."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from changing_networks import plan_of
from live_network import small_overlay

from meshwright.errors import InputFileError, OperatorError
from meshwright.manager.circle.desk import FolderDesk, only_one
from meshwright.manager.orders import saved_plans
from meshwright.manager.orders.saved_plans import Cost, PlanState, PlanStore
from meshwright.model.plan import Plan


def a_plan() -> Plan:
    return plan_of(small_overlay("chord"), small_overlay("tree"))


def proposed(store: PlanStore) -> str:
    saved = store.add(5, "running")
    return store.write(saved.become(PlanState.PROPOSED, plan=a_plan())).id


def test_a_plan_is_saved_under_an_id_and_read_again(tmp_path: Path) -> None:
    store, cost = PlanStore(tmp_path), Cost(before=3.0, after=2.0)
    saved = store.add(5, "running")
    assert (saved.id, store.plan("p1").state) == ("p1", PlanState.MAKING)
    ready = store.write(saved.become(PlanState.PROPOSED, plan=a_plan(), predicted=cost))
    assert PlanStore(tmp_path).plan("p1") == ready
    (entry,) = store.entries()
    assert (entry.id, entry.state, entry.predicted) == ("p1", PlanState.PROPOSED, cost)
    assert store.add(6, "trace").id == "p2"


def test_a_plan_without_steps_is_the_answer_that_nothing_is_better(tmp_path: Path) -> None:
    source = small_overlay("chord")
    saved = FolderDesk(tmp_path).save(plan_of(source, source), None)
    assert saved.state is PlanState.NOTHING_BETTER


def test_what_is_over_makes_room_and_ids_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_plans, "KEPT_MAX", 6)
    store = PlanStore(tmp_path)
    kept = proposed(store)
    store.write(store.plan(kept).become(PlanState.APPLYING))
    for _ in range(10):
        store.write(store.add(5, "trace").become(PlanState.FAILED, "no"))
    names = [entry.id for entry in store.entries()]
    assert len(names) == 6
    assert names[0] == kept  # of an order that is not at its end
    assert names[-1] == "p11"


@pytest.mark.parametrize("name", ["p9", "../p1", "p1/../p1", ""])
def test_an_id_that_there_is_not_is_refused_with_the_newest(tmp_path: Path, name: str) -> None:
    store = PlanStore(tmp_path / "plans")
    proposed(store)
    proposed(PlanStore(tmp_path))  # of another folder, which is not asked
    with pytest.raises(OperatorError, match="the newest is p1"):
        store.plan(name)


def test_a_plan_of_another_version_or_that_is_damaged_is_refused_in_a_sentence(
    tmp_path: Path,
) -> None:
    store = PlanStore(tmp_path)
    path = tmp_path / f"{proposed(store)}.json"
    whole = path.read_text()
    path.write_text(whole.replace('"version": 1', '"version": 7'))
    with pytest.raises(InputFileError, match="has version 7"):
        store.plan("p1")
    path.write_text(whole[: len(whole) // 2])
    with pytest.raises(InputFileError, match="this is not JSON"):
        store.entries()


def test_a_state_that_cannot_follow_is_our_own_mistake(tmp_path: Path) -> None:
    saved = PlanStore(tmp_path).add(5, "trace")
    with pytest.raises(AssertionError, match="must not become"):
        saved.become(PlanState.UNDONE)


def test_who_works_on_a_folder_works_alone(tmp_path: Path) -> None:
    with (
        only_one(tmp_path / "manager"),
        pytest.raises(OperatorError, match="works on the plans here"),
    ):
        FolderDesk(tmp_path).save(a_plan(), None)
    assert FolderDesk(tmp_path).save(a_plan(), None).id == "p1"


def test_a_saved_plan_is_plain_json(tmp_path: Path) -> None:
    store = PlanStore(tmp_path)
    proposed(store)
    document = msgspec.json.decode((tmp_path / "p1.json").read_bytes())
    assert (document["id"], document["state"], document["origin"]) == ("p1", "proposed", "running")
    assert document["plan"]["from"]["design"] == "chord"


def test_a_plan_that_makes_room_while_plans_are_listed_is_not_missed(tmp_path: Path) -> None:
    class Hasty(PlanStore):
        def _numbers(self) -> list[int]:
            return [*super()._numbers(), 9]

    store = Hasty(tmp_path)
    store.write(PlanStore(tmp_path).add(5, "trace"))
    assert [entry.id for entry in store.entries()] == ["p1"]
