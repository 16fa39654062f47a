from __future__ import annotations

from typing import NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from meshwright.filters.filter import matches, parse_filter
from meshwright.model.adaptation import AdaptationOptions, BrokerCost, LinkCost, StatedCosts
from meshwright.model.neighbourhood import NeighbourhoodView, Redrawn
from meshwright.model.overlay import Overlay
from meshwright.model.publication import Publication
from meshwright.planning.adaptation.chosen import costs_chosen
from meshwright.planning.adaptation.cost import tree_cost
from meshwright.planning.adaptation.naming import traffic_from_names, tree_from_names, vertex_names
from meshwright.planning.adaptation.redraw import redraw_by
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.protocol.adaptation.own_clients import OwnClients
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
ANYTHING = AdaptationRules(gain_share_min=0.0, messages_per_neighbour=0, messages_per_client=0)


def published(topic: str, value: str = "9", client: str = "") -> Publication:
    return Publication(f"{client}@1", 1, topic, properties=(("value", value),))


class Guests(OwnClients):
    """Clients of a broker by the filter of each; of some names nobody can be sent away."""

    def __init__(self, wishes: dict[str, str], staying: str) -> None:
        self._wishes, self._staying = wishes, staying
        self.sent: list[tuple[str, str]] = []

    def want(self, publication: Publication) -> bool:
        return bool(self.wanting(publication))

    def wanting(self, publication: Publication) -> tuple[str, ...]:
        return tuple(
            client
            for client, text in self._wishes.items()
            if matches(parse_filter(text), publication.topic, publication.properties)
        )

    def may_be_sent(self, client: str) -> bool:
        return client != self._staying

    def send(self, turn: Turn, client: str, target: str) -> None:
        del turn
        self.sent.append((client, target))


class Master:
    """Broker a among its neighbours, with a search that always finds the same."""

    def __init__(
        self,
        links: tuple[tuple[str, str], ...] = CHAIN,
        moves: tuple[tuple[str, str], ...] = (),
        *,
        wishes: dict[str, str] | None = None,
        moves_clients: bool = False,
    ) -> None:
        self.epoch, self.overlay = 0, STAR
        self.alive = STAR.brokers
        self.clients = Guests(wishes or {"low": "$where/value<5/here", "rock": "here"}, "rock")
        self.is_free = True
        self.views: list[NeighbourhoodView] = []
        self.proposals: list[tuple[Links, Links]] = []
        self.records: list[AdaptationRecord] = []
        self._journal = Journal()
        self._answer = Redrawn(links, 10, 8, moves)
        self.around = AdaptationAround(
            in_force=lambda: (self.epoch, self.overlay),
            alive=lambda: self.alive,
            is_free=lambda: self.is_free,
            clients=self.clients,
            propose=self._propose,
        )
        settings = AdaptationSettings(redraw=self._redraw, moves_clients=moves_clients)
        self.machine = SelfAdaptation("a", settings, self.around)
        self.machine.started(Turn(0))
        self.look()

    def carry(self, topic: str, *links: str, epoch: int = 0, value: str = "9") -> None:
        carried = self.machine.counter(epoch)
        assert carried is not None
        carried(published(topic, value), links[0], links[1:])

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


def test_a_client_counts_by_what_it_asks_of_the_content() -> None:
    master = Master(wishes={"low": "$where/value<5/here"})
    master.carry("here", "b", "c", value="9")
    master.carry("here", "b", "c", value="1")
    master.look()
    assert master.views[-1].classes == ((("a", "b", "c"), 1), (("b", "c"), 1))


def test_clients_that_may_move_count_each_and_the_others_as_their_broker() -> None:
    master = Master(moves_clients=True)
    master.carry("here", "b", "c", value="1")
    master.carry("here", "b", value="9")
    master.machine.entered(published("here", "1", "some"), ())
    master.machine.entered(published("there", "1", "some"), ("d",))
    # What entered here was counted then.
    master.carry("there", "a", "d")
    master.look()
    view = master.views[-1]
    assert view.clients == ("/low", "/some")
    assert view.classes == (
        (("/low", "/some", "a"), 1),
        (("/low", "a", "b", "c"), 1),
        (("/some", "d"), 1),
        (("a", "b"), 1),
    )


def test_clients_are_sent_when_the_links_have_changed_and_not_if_that_was_given_up() -> None:
    master = Master(moves=(("low", "b"),), moves_clients=True)
    for is_applied in (False, True):
        for _ in range(4):
            master.carry("there", "b", "c")
            master.look()
        assert master.clients.sent == []
        master.end(is_applied=is_applied)
    assert master.clients.sent == [("low", "b")]


def test_where_only_clients_move_nobody_is_locked() -> None:
    master = Master((("a", "b"), ("a", "c"), ("a", "d")), (("low", "b"),), moves_clients=True)
    master.carry("there", "b", "c")
    master.look()
    assert master.proposals == []
    assert master.steps() == ["applied"]
    assert master.clients.sent == [("low", "b")]


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


Row = tuple[int, list[str]]


class Case(NamedTuple):
    """A tree with clients, the messages between them, and what these pay."""

    overlay: Overlay
    homes: dict[str, str]
    rows: list[Row]
    options: AdaptationOptions
    stated: StatedCosts

    def cost(self, overlay: Overlay, homes: dict[str, str]) -> int:
        """What all messages pay on a tree."""
        demand = traffic_from_names(vertex_names(overlay, homes), self.rows)
        costs = costs_chosen(self.options, self.stated, overlay.brokers, tuple(homes))
        return tree_cost(tree_from_names(overlay, homes), demand, costs)


@st.composite
def cases(draw: st.DrawFn, *, clients_max: int) -> Case:
    names = "abcdefgh"[: draw(st.integers(3, 7))]
    links = [(names[draw(st.integers(0, low - 1))], names[low]) for low in range(1, len(names))]
    hosts = draw(st.lists(st.sampled_from(names), min_size=2, max_size=clients_max))
    homes = {f"c{number}": broker for number, broker in enumerate(hosts)}
    members = st.lists(st.sampled_from(sorted(homes)), min_size=2, max_size=5, unique=True)
    rows = draw(st.lists(st.tuples(st.integers(1, 9), members), min_size=1, max_size=6))
    few = st.integers(0, 5)
    options = AdaptationOptions(
        link_weight=draw(few),
        broker_weight=draw(few),
        iterations=9,
        moves_max=draw(st.integers(1, 9)),
    )
    everyone = (*names, *homes)
    stated = StatedCosts(
        links=tuple(
            LinkCost(one, other, draw(few))
            for one in names
            for other in everyone
            if one < other and draw(st.booleans())
        ),
        brokers=tuple(BrokerCost(name, draw(few)) for name in names if draw(st.booleans())),
    )
    return Case(
        Overlay(design="tree", brokers=tuple(names), links=tuple(links)),
        homes,
        rows,
        options,
        stated,
    )


@settings(max_examples=150)
@given(cases(clients_max=9), st.booleans(), st.data())
def test_a_star_redrawn_saves_globally_what_it_saves_locally(
    case: Case, moves_clients: bool, data: st.DataObject
) -> None:
    overlay, homes = case.overlay, case.homes
    me = data.draw(st.sampled_from(overlay.brokers))
    proposals: list[Overlay] = []
    moved = dict(homes)

    def propose(_turn: Turn, removed: Links, added: Links, _ended: Ended) -> str:
        proposals.append(with_links_replaced(overlay, removed, added))
        return ""

    # The properties of a message say who gets it.
    mine = [client for client, home in homes.items() if home == me]
    around = AdaptationAround(
        in_force=lambda: (0, overlay),
        alive=lambda: overlay.brokers,
        is_free=lambda: True,
        clients=Guests({client: f"$where/value={client}/t" for client in mine}, "c1"),
        propose=propose,
    )
    options = msgspec.structs.replace(case.options, move_clients=moves_clients)
    redraw = redraw_by(ANYTHING, messages_per_broker=0, options=options, stated=case.stated)
    machine = SelfAdaptation(
        me, AdaptationSettings(redraw=redraw, moves_clients=moves_clients, clients_max=4), around
    )
    machine.look(Turn(0))
    for count, members in case.rows:
        for _ in range(count):
            observe(machine, case, me, members)
    turn = Turn(0)
    machine.look(turn)
    for effect in turn.effects:
        record = effect.record if isinstance(effect, Report) else None
        if isinstance(record, AdaptationRecord):
            moved.update(record.moves)
            target = proposals[0] if proposals else overlay
            saved = case.cost(overlay, homes) - case.cost(target, moved)
            assert saved == record.cost_before - record.cost_after > 0
            assert moves_clients or not record.moves
            assert all(homes[client] == me for client, _ in record.moves)


def observe(machine: SelfAdaptation, case: Case, me: str, members: list[str]) -> None:
    """Show a machine one message of the first member to the others."""
    sides = [side_of(case.overlay, me, case.homes[member]) for member in members]
    links = tuple(dict.fromkeys(side for side in sides[1:] if side not in (me, sides[0])))
    properties = tuple(("value", member) for member in members[1:])
    message = Publication(f"{members[0]}@1", 1, "t", properties=properties)
    carried = machine.counter(0)
    assert carried is not None
    if sides[0] == me and machine.counts_clients:
        machine.entered(message, links)
    carried(message, sides[0], links)


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
