"""Who came and who went, from look to look, as a manager sees it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from meshwright.manager.deciding.churning import LOOKS_MAX, Churn, Churning
from meshwright.manager.deciding.wanted import snapshot_of, wanted_of
from meshwright.model.overlay import Overlay
from meshwright.overlays.growth import with_broker
from meshwright.planning.founding import founding_overlay
from meshwright.protocol.inspection import BrokerView, InterestView, SessionView
from meshwright.protocol.reconfiguration.topic_watch import TopicCohesion

NAMES = tuple(f"b{number}" for number in range(6))
TODAY = founding_overlay("gm2", NAMES)
LOST_US = 1_000


def view(name: str, overlay: Overlay, *filters: str, alive: tuple[str, ...] = ()) -> BrokerView:
    return BrokerView(
        broker=name, epoch=1, overlay=overlay, alive=alive or overlay.brokers, removed=(),
        neighbours=(), sessions=(), interests=tuple(InterestView(one, 1) for one in filters),
        queues=(), plan=None, star=None, is_emptying=False, retained=0, kept=0,
    )  # fmt: skip


def views(overlay: Overlay, *wanted: str, without: str = "") -> list[BrokerView]:
    """All of an overlay, of whom the last wants this; one may be gone."""
    alive = tuple(name for name in overlay.brokers if name != without)
    last = overlay.brokers[-1]
    return [view(one, overlay, "t", *(wanted if one == last else ()), alive=alive) for one in alive]


def test_a_newcomer_is_placed_once_it_wants_the_same_at_two_looks(tmp_path: Path) -> None:
    churning = Churning(tmp_path)
    grown = with_broker(TODAY, "new")
    assert churning.seen(views(TODAY), 1, LOST_US) is None
    assert churning.seen(views(grown), 2, LOST_US) is None
    assert churning.seen(views(grown, "u"), 3, LOST_US) is None
    found = churning.seen(views(grown, "u"), 4, LOST_US)
    assert found == Churn(came=("new",))
    assert found.why == "new joined"
    churning.planned(found)
    assert churning.seen(views(grown, "u"), 5, LOST_US) is None
    placed = msgspec.structs.replace(grown, links=grown.links[:-1])
    assert churning.seen(views(placed, "u"), 6, LOST_US) is None


def test_what_a_newcomer_wants_later_gets_its_links_once_it_is_weak_at_two_looks(
    tmp_path: Path,
) -> None:
    churning = Churning(tmp_path)
    churning.seen(views(TODAY), 1, LOST_US)
    grown = with_broker(TODAY, "new")
    churning.seen(views(grown, "u"), 2, LOST_US)
    churning.planned(Churn(came=("new",)))
    placed = msgspec.structs.replace(grown, links=grown.links[:-1])

    def look(now_us: int, *weak: str, without: str = "") -> Churn | None:
        told = tuple(TopicCohesion(topic=one, held=1, k=2, receivers=3) for one in weak)
        seen = views(placed, "u", "later", without=without)
        first = msgspec.structs.replace(seen[0], weak_topics=told)
        return churning.seen([first, *seen[1:]], now_us, LOST_US)

    assert look(3, "later", "nobody's") is None
    assert look(4, without="b3") is None
    assert look(5, "later", without="b3") is None
    assert look(6, "later", "nobody's") is None
    found = look(7, "later", "nobody's")
    assert found == Churn(weak=("later",))
    assert found.why == "later is joined by fewer than k ways"
    churning.planned(found)
    assert look(8, "later") is None


def test_a_newcomer_that_keeps_changing_is_placed_all_the_same(tmp_path: Path) -> None:
    churning = Churning(tmp_path)
    churning.seen(views(TODAY), 0, LOST_US)
    grown = with_broker(TODAY, "new")
    for look in range(1, LOOKS_MAX):
        assert churning.seen(views(grown, f"t{look}"), look, LOST_US) is None
    assert churning.seen(views(grown, "at last"), 9, LOST_US) == Churn(came=("new",))


def test_who_comes_while_no_manager_looks_is_seen_by_the_next(tmp_path: Path) -> None:
    Churning(tmp_path).seen(views(TODAY), 1, LOST_US)
    grown = with_broker(TODAY, "new")
    later = Churning(tmp_path)
    later.seen(views(grown), 2, LOST_US)
    assert later.seen(views(grown), 3, LOST_US) == Churn(came=("new",))


def test_a_plan_that_another_newcomer_made_stale_is_made_anew_for_both(tmp_path: Path) -> None:
    churning = Churning(tmp_path)
    churning.seen(views(TODAY), 1, LOST_US)
    one = with_broker(TODAY, "new")
    churning.seen(views(one), 2, LOST_US)
    churning.planned(Churn(came=("new",)))
    both = with_broker(one, "newer")
    churning.seen(views(both), 3, LOST_US)
    assert churning.seen(views(both), 4, LOST_US) == Churn(came=("new", "newer"))


def test_a_lost_broker_is_done_without_after_a_while_and_a_drained_one_at_once(
    tmp_path: Path,
) -> None:
    churning = Churning(tmp_path)
    assert churning.seen(views(TODAY, without="b2"), 5, LOST_US) is None
    assert churning.seen(views(TODAY, without="b2"), 5 + LOST_US, LOST_US) == Churn(left=("b2",))
    churning.planned(Churn(left=("b2",)))
    assert churning.seen(views(TODAY, without="b2"), 6 + LOST_US, LOST_US) is None

    churning = Churning(tmp_path)
    draining = views(TODAY)
    session = SessionView(
        client="c", is_connected=True, expiry_s=0, subscriptions=(), queued=0, in_flight=0
    )
    full = msgspec.structs.replace(draining[2], is_emptying=True, sessions=(session,))
    assert churning.seen([*draining[:2], full, *draining[3:]], 1, LOST_US) is None
    empty = msgspec.structs.replace(full, sessions=())
    found = churning.seen([*draining[:2], empty, *draining[3:]], 2, LOST_US)
    assert found == Churn(drained=("b2",))
    assert found.why == "b2 was drained"
    churning.planned(found)
    assert churning.seen([*draining[:2], empty, *draining[3:]], 3, LOST_US) is None
    assert churning.seen(views(TODAY, without="b2"), 4, LOST_US) == Churn(left=("b2",))


@pytest.mark.parametrize("design", ["chord", "tree"])
def test_other_designs_are_left_alone(design: str, tmp_path: Path) -> None:
    churning, ring = Churning(tmp_path), founding_overlay(design, NAMES)
    churning.seen(views(ring), 1, LOST_US)
    for look in (2, 3, 4):
        assert churning.seen(views(with_broker(ring, "new")), look, LOST_US) is None
        assert churning.seen(views(ring, without="b1"), look + LOST_US, LOST_US) is None


def test_wildcards_stand_for_the_topics_that_somebody_wants_by_name() -> None:
    wanted = wanted_of(
        [
            view("b0", TODAY, "a/b", "$share/g/c"),
            view("b1", TODAY, "a/+", "$where/n>1/d"),
            view("b2", TODAY, "#"),
        ]
    )
    assert wanted == {"b0": ("a/b", "c"), "b1": ("a/b", "d"), "b2": ("a/b", "c", "d")}
    snapshot = snapshot_of(wanted, NAMES)
    assert snapshot.topics == ("a/b", "c", "d")
    assert snapshot.interests.of(2).tolist() == [0, 1, 2]
    assert snapshot.interests.of(5).tolist() == []
