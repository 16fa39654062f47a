from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.model.neighbourhood import NeighbourhoodView, Redrawn
from meshwright.model.overlay import Overlay
from meshwright.planning.adaptation.cost import tree_cost
from meshwright.planning.adaptation.naming import traffic_from_names, tree_from_names
from meshwright.planning.adaptation.redraw import redraw_by
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.protocol.adaptation.self_adaptation import (
    IS_HELD,
    AdaptationAround,
    AdaptationRecord,
    AdaptationSettings,
    SelfAdaptation,
)
from meshwright.protocol.adaptation.star_master import Ended
from meshwright.protocol.foundation.effects import Report
from meshwright.protocol.foundation.events import HoldingGiven
from meshwright.protocol.foundation.turn import Journal, Turn
from meshwright.protocol.reconfiguration.tree_rows import Link, with_links_replaced

STAR = Overlay(
    design="tree",
    brokers=("a", "b", "c", "d", "e"),
    links=(("a", "b"), ("a", "c"), ("a", "d"), ("d", "e")),
)
CHAIN = (("a", "b"), ("b", "c"), ("a", "d"))
Links = tuple[Link, ...]
ANYTHING = AdaptationRules(gain_share_min=0.0, messages_per_neighbour=0)


class Master:
    """Broker a among its neighbours, with a search that always finds the same."""

    def __init__(self, links: tuple[tuple[str, str], ...] = CHAIN) -> None:
        self.epoch, self.overlay = 0, STAR
        self.alive = STAR.brokers
        self.is_free = True
        self.views: list[NeighbourhoodView] = []
        self.proposals: list[tuple[Links, Links]] = []
        self.records: list[AdaptationRecord] = []
        self._journal = Journal()
        self._answer = Redrawn(links, 10, 8)
        self.around = AdaptationAround(
            in_force=lambda: (self.epoch, self.overlay),
            alive=lambda: self.alive,
            is_free=lambda: self.is_free,
            wants=lambda topic: topic == "here",
            propose=self._propose,
        )
        self.machine = SelfAdaptation("a", AdaptationSettings(redraw=self._redraw), self.around)
        self.machine.started(Turn(0))
        self.look()

    def carry(self, topic: str, *links: str, epoch: int = 0) -> None:
        carried = self.machine.counter(epoch)
        assert carried is not None
        carried(topic, links[0], links[1:])

    def look(self) -> None:
        turn = Turn(0)
        self.machine.look(turn)
        self._close(turn)

    def switch(self, overlay: Overlay) -> None:
        self.epoch, self.overlay = self.epoch + 1, overlay
        self.machine.switched()

    def end(self, *, is_applied: bool) -> None:
        turn = Turn(0)
        self._ended(turn, is_applied)
        self._close(turn)

    def steps(self) -> list[str]:
        return [record.step for record in self.records]

    def _redraw(self, view: NeighbourhoodView) -> Redrawn:
        self.views.append(view)
        return self._answer

    def _propose(self, _turn: Turn, removed: Links, added: Links, ended: Ended) -> str:
        self.proposals.append((removed, added))
        self._ended = ended
        return f"a.{len(self.proposals)}"

    def _close(self, turn: Turn) -> None:
        for effect in self._journal.close(turn):
            if isinstance(effect, Report) and isinstance(effect.record, AdaptationRecord):
                self.records.append(effect.record)


def test_a_master_asks_with_what_it_counted_over_a_period() -> None:
    master = Master()
    master.carry("there", "b", "c")
    master.carry("there", "c", "b")
    master.carry("here", "b", "c")
    master.carry("here", "d")
    master.carry("there", "d")
    master.look()
    assert master.views == [
        NeighbourhoodView(
            broker_count=5,
            round_number=2,
            master="a",
            neighbours=("b", "c", "d"),
            outer_degrees=(0, 0, 1),
            classes=((("a", "b", "c"), 1), (("a", "d"), 1), (("b", "c"), 2)),
        )
    ]


def test_the_proposal_names_the_links_that_change_and_its_end_is_reported() -> None:
    master = Master()
    master.carry("there", "b", "c")
    master.look()
    assert master.proposals == [((("a", "c"),), (("b", "c"),))]
    master.end(is_applied=True)
    assert master.steps() == ["proposed", "applied"]
    assert {record.change for record in master.records} == {"a.1"}


def test_a_master_that_is_held_counts_and_proposes_nothing_until_it_is_released() -> None:
    master = Master()
    turn = Turn(0)
    master.machine.given(turn, HoldingGiven(is_held=True))
    assert turn.changes == {IS_HELD: True}
    assert master.machine.state == "held"
    master.carry("there", "b", "c")
    master.look()
    assert master.views == []
    again = SelfAdaptation("a", AdaptationSettings(redraw=redraw_by()), master.around)
    again.restore({IS_HELD: True})
    assert again.state == "held"
    master.machine.given(turn, HoldingGiven(is_held=False))
    assert turn.changes == {IS_HELD: None}
    master.carry("there", "b", "c")
    master.look()
    assert len(master.proposals) == 1


def test_what_was_counted_on_other_links_is_forgotten() -> None:
    master = Master()
    master.carry("there", "b", "c")
    master.machine.redrawn()
    master.look()
    assert master.views == []


def test_what_was_counted_on_another_overlay_is_forgotten() -> None:
    master = Master()
    master.carry("there", "b", "c")
    master.switch(STAR)
    master.carry("there", "b", "c", epoch=0)
    master.carry("there", "b", "d", epoch=1)
    master.look()
    assert master.views == []
    master.carry("there", "b", "d", epoch=1)
    master.look()
    assert [view.classes for view in master.views] == [((("b", "d"), 1),)]


def test_nothing_is_proposed_while_a_plan_is_under_way_or_a_neighbour_is_missing() -> None:
    master = Master()
    master.is_free = False
    master.carry("there", "b", "c")
    master.look()
    master.is_free, master.alive = True, ("a", "b", "c", "e")
    master.carry("there", "b", "c")
    master.look()
    master.alive = STAR.brokers
    master.carry("there", "b", "e")
    master.look()
    assert master.views == []


def test_who_was_denied_lets_some_rounds_pass() -> None:
    master = Master()
    for _ in range(9):
        master.carry("there", "b", "c")
        master.look()
        if len(master.proposals) > len(master.records) // 2:
            master.end(is_applied=False)
    assert [view.round_number for view in master.views] == [2, 5, 7]
    assert master.steps() == ["proposed", "given up"] * 3


def test_a_broker_without_settings_neither_counts_nor_looks() -> None:
    machine, turn = SelfAdaptation("a", None, Master().around), Turn(0)
    machine.started(turn)
    machine.look(turn)
    assert machine.counter(0) is None
    assert turn.effects == []


@st.composite
def trees_and_classes(
    draw: st.DrawFn,
) -> tuple[Overlay, list[tuple[int, list[str]]]]:
    names = "abcdefgh"[: draw(st.integers(3, 8))]
    links = [(names[draw(st.integers(0, low - 1))], names[low]) for low in range(1, len(names))]
    members = st.lists(st.sampled_from(names), min_size=1, unique=True)
    rows = draw(st.lists(st.tuples(st.integers(1, 9), members), min_size=1, max_size=6))
    return Overlay(design="tree", brokers=tuple(names), links=tuple(links)), rows


@settings(max_examples=60)
@given(trees_and_classes(), st.data())
def test_a_star_redrawn_saves_globally_what_it_saves_locally(
    case: tuple[Overlay, list[tuple[int, list[str]]]], data: st.DataObject
) -> None:
    overlay, rows = case
    me = data.draw(st.sampled_from(overlay.brokers))
    proposals: list[Overlay] = []

    def propose(_turn: Turn, removed: Links, added: Links, _ended: Ended) -> str:
        proposals.append(with_links_replaced(overlay, removed, added))
        return ""

    around = AdaptationAround(
        in_force=lambda: (0, overlay),
        alive=lambda: overlay.brokers,
        is_free=lambda: True,
        wants=lambda _topic: False,
        propose=propose,
    )
    machine = SelfAdaptation(
        me, AdaptationSettings(redraw=redraw_by(ANYTHING, messages_per_broker=0)), around
    )
    machine.look(Turn(0))
    carried = machine.counter(0)
    assert carried is not None
    for count, members in rows:
        sides = [side_of(overlay, me, member) for member in members]
        for _ in range(count):
            carried("", sides[0], tuple(sides[1:]))
    turn = Turn(0)
    machine.look(turn)
    demand = traffic_from_names(overlay.brokers, rows)
    before = tree_cost(tree_from_names(overlay), demand)
    for target, effect in zip(
        proposals, (one for one in turn.effects if isinstance(one, Report)), strict=True
    ):
        record = effect.record
        assert isinstance(record, AdaptationRecord)
        after = tree_cost(tree_from_names(target), demand)
        assert before - after == record.cost_before - record.cost_after > 0


def side_of(overlay: Overlay, me: str, member: str) -> str:
    """The neighbour that leads to a member, or the broker itself."""
    ups = {member: member}
    reached = [member]
    for here in reached:
        for link in overlay.links:
            if here in link:
                other = link[0] if link[1] == here else link[1]
                if other not in ups:
                    ups[other] = here
                    reached.append(other)
    return ups[me]
