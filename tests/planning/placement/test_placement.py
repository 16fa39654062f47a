from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_selection import cap_of, plain_similarity

from meshwright.errors import CallerError, ProblemError
from meshwright.model.interests import interests_from_sets
from meshwright.planning.placement.clients import (
    NO_BROKER,
    Clients,
    PlacementProblem,
    view_of,
)
from meshwright.planning.placement.clusters import one_cluster
from meshwright.planning.placement.outcome import compare, place, subscription_changes
from meshwright.planning.placement.strategies import (
    DEFAULT_PLACEMENT,
    PLACEMENTS,
    PlacementRules,
)

TOPIC_COUNT = 6


@st.composite
def problems(draw: st.DrawFn, *, newcomers: bool = False, local: bool = True) -> PlacementProblem:
    broker_count = draw(st.integers(1, 5))
    client_count = draw(st.integers(1, 12))
    wants = st.sets(st.integers(0, TOPIC_COUNT - 1), max_size=4)
    rows = st.lists(wants, min_size=client_count, max_size=client_count)
    hosts = st.lists(
        st.integers(NO_BROKER if newcomers else 0, broker_count - 1),
        min_size=client_count,
        max_size=client_count,
    )
    places = draw(st.none() | hosts) if local and not newcomers else None
    before = _clients(draw(rows), draw(hosts), None)
    after = _clients(draw(rows), before.brokers.tolist(), places)
    changed = draw(st.booleans())
    asks = st.lists(st.booleans(), min_size=client_count, max_size=client_count)
    asking = draw(st.none() | asks)
    clusters = draw(st.lists(st.integers(0, 2), min_size=broker_count, max_size=broker_count))
    return PlacementProblem(
        clients=after if changed else replace(before, local_brokers=after.local_brokers),
        view=view_of(before, broker_count),
        clusters=np.array(clusters, dtype=np.int32),
        viewed=before if changed else None,
        asking=None if asking is None else np.array(asking, dtype=np.bool_),
    )


rules_drawn = st.builds(
    PlacementRules,
    load_weight=st.sampled_from([0.0, 0.5, 1.0, 40.0]),
    gain_min=st.sampled_from([0.0, 0.2, 0.5]),
    load_slack=st.sampled_from([0.0, 0.1, 1.0]),
)


@settings(max_examples=150)
@given(problems(), rules_drawn, st.booleans())
def test_the_kernel_chooses_as_plain_loops_do(
    problem: PlacementProblem, rules: PlacementRules, bounded: bool
) -> None:
    method = "similarity-bounded" if bounded else "similarity"
    chosen = PLACEMENTS[method](problem, rules, np.random.default_rng(0))
    assert chosen.tolist() == plain_similarity(problem, rules, _homes(problem), bounded=bounded)


@settings(max_examples=100)
@given(problems(), rules_drawn)
def test_no_broker_exceeds_the_cap_when_everybody_asks(
    problem: PlacementProblem, rules: PlacementRules
) -> None:
    problem = replace(problem, asking=None)
    homes = _homes(problem)
    chosen = PLACEMENTS["similarity-bounded"](problem, rules, np.random.default_rng(0)).tolist()
    for broker, cluster in enumerate(problem.clusters.tolist()):
        assert chosen.count(broker) <= cap_of(problem, rules, homes, cluster)


@settings(max_examples=100)
@given(
    problems(newcomers=True), rules_drawn, st.sampled_from(sorted(set(PLACEMENTS) - {"location"}))
)
def test_every_newcomer_gets_a_broker_and_who_does_not_ask_stays(
    problem: PlacementProblem, rules: PlacementRules, method: str
) -> None:
    current = problem.clients.brokers
    chosen = PLACEMENTS[method](problem, rules, np.random.default_rng(3))
    assert bool(np.all((chosen >= 0) & (chosen < problem.view.broker_count)))
    if problem.asking is not None:
        stays = ~problem.asking & (current != NO_BROKER)
        assert chosen[stays].tolist() == current[stays].tolist()


@settings(max_examples=60)
@given(problems(local=False), st.sampled_from(["similarity", "similarity-bounded"]))
def test_a_client_stays_in_its_cluster(problem: PlacementProblem, method: str) -> None:
    chosen = PLACEMENTS[method](problem, PlacementRules(), np.random.default_rng(0))
    before = problem.clusters[problem.clients.brokers]
    assert problem.clusters[chosen].tolist() == before.tolist()


@settings(max_examples=60)
@given(problems(newcomers=True), problems(newcomers=True))
def test_static_hosting_does_not_look_at_interests(
    problem: PlacementProblem, other: PlacementProblem
) -> None:
    rows = [
        other.clients.interests.of(row % other.clients.count).tolist()
        for row in range(problem.clients.count)
    ]
    changed = replace(
        problem, clients=_clients(rows, problem.clients.brokers.tolist(), None), viewed=None
    )
    chosen = [
        PLACEMENTS["static"](each, PlacementRules(), np.random.default_rng(5)).tolist()
        for each in (problem, changed)
    ]
    assert chosen[0] == chosen[1]
    settled = problem.clients.brokers != NO_BROKER
    assert np.array(chosen[0])[settled].tolist() == problem.clients.brokers[settled].tolist()


def test_a_gain_of_one_topic_of_five_is_worth_a_hand_over_and_less_is_not() -> None:
    wanted = [0, 1, 2, 3, 4]
    rows = [wanted, [0, 1], [0, 1, 2]]
    problem = _problem(rows, [0, 0, 1], broker_count=2)
    rules = PlacementRules(load_weight=0.0, load_slack=1.0)
    move = PLACEMENTS["similarity-bounded"](problem, rules, np.random.default_rng(0))
    assert move.tolist()[0] == 1
    stricter = replace(rules, gain_min=0.21)
    stay = PLACEMENTS["similarity-bounded"](problem, stricter, np.random.default_rng(0))
    assert stay.tolist()[0] == 0


def test_a_clients_own_wants_do_not_hold_it_where_it_is() -> None:
    problem = _problem([[0, 1], [0, 1]], [0, 1], broker_count=2)
    chosen = PLACEMENTS["similarity"](problem, PlacementRules(), np.random.default_rng(0))
    assert chosen.tolist() == [1, 0]


def test_a_full_broker_sends_clients_on_to_the_next_best() -> None:
    rows = [[0, 1], [0, 1], [0, 1], [0]]
    problem = _problem(rows, [2, 2, 0, 1], broker_count=3)
    rules = PlacementRules(load_weight=0.0, load_slack=0.0)
    chosen = PLACEMENTS["similarity-bounded"](problem, rules, np.random.default_rng(0))
    # Broker 2 has both topics of client 2 but its two places are taken; broker 1 has one of them.
    assert chosen.tolist() == [2, 2, 1, 0]


def test_location_hands_over_exactly_those_who_changed_cell() -> None:
    clients = _clients([[0], [1], [2]], [0, 1, 1], [0, 0, 1])
    problem = PlacementProblem(clients, view_of(clients, 2), one_cluster(2))
    placement = place(problem, "location", np.random.default_rng(0))
    assert placement.brokers.tolist() == [0, 0, 1]
    assert placement.hand_overs == 1


def test_location_without_places_is_refused() -> None:
    problem = _problem([[0]], [0], broker_count=1)
    with pytest.raises(ProblemError, match="coordinates"):
        place(problem, "location", np.random.default_rng(0))


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ProblemError, match="similarity-bounded"):
        place(_problem([[0]], [0], broker_count=1), "nearest", np.random.default_rng(0))


def test_the_default_is_in_the_table() -> None:
    assert DEFAULT_PLACEMENT in PLACEMENTS


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf")])
def test_rules_must_be_finite_and_not_negative(value: float) -> None:
    with pytest.raises(ProblemError, match="load_weight"):
        PlacementRules(load_weight=value)


def test_values_that_do_not_fit_each_other_are_refused() -> None:
    clients = _clients([[0], [1]], [0, 1], None)
    with pytest.raises(CallerError, match="number"):
        Clients(clients.interests, np.zeros(3, dtype=np.int32))
    with pytest.raises(CallerError, match="does not have"):
        PlacementProblem(clients, view_of(clients.moved_to(_array([0, 0])), 1), one_cluster(1))
    with pytest.raises(CallerError, match="clusters"):
        PlacementProblem(clients, view_of(clients, 2), one_cluster(3))


@settings(max_examples=60)
@given(problems(newcomers=True))
def test_outcomes_count_what_sets_count(problem: PlacementProblem) -> None:
    broker_count = problem.view.broker_count
    after = problem.clients.moved_to(
        PLACEMENTS["static"](problem, PlacementRules(), np.random.default_rng(1))
    )
    before = problem.clients if problem.viewed is None else problem.viewed
    outcome = compare(before, after, broker_count)
    assert outcome.subscription_changes == len(_wants(before) ^ _wants(after))
    loads = [0] * broker_count
    for client, broker in enumerate(after.brokers.tolist()):
        loads[broker] += len(after.interests.of(client))
    assert outcome.load_deviation == pytest.approx(float(np.std(loads)))
    assert outcome.hand_overs == 0
    assert subscription_changes(view_of(after, broker_count), view_of(after, broker_count)) == 0


def _wants(clients: Clients) -> set[tuple[int, int]]:
    return {
        (broker, topic)
        for client, broker in enumerate(clients.brokers.tolist())
        if broker != NO_BROKER
        for topic in clients.interests.of(client).tolist()
    }


def _homes(problem: PlacementProblem) -> list[int]:
    clients = problem.clients
    homes = clients.brokers.tolist()
    if clients.local_brokers is not None:
        asking = [True] * clients.count if problem.asking is None else problem.asking.tolist()
        homes = [
            int(local) if asks else broker
            for local, broker, asks in zip(clients.local_brokers, homes, asking, strict=True)
        ]
    return [int(problem.clusters[broker]) for broker in homes]


def _clients(rows: list[set[int]] | list[list[int]], hosts: list[int], places: list[int] | None):
    interests = interests_from_sets(rows, TOPIC_COUNT)
    return Clients(interests, _array(hosts), None if places is None else _array(places))


def _array(values: list[int]):
    return np.array(values, dtype=np.int32)


def _problem(rows: list[list[int]], hosts: list[int], *, broker_count: int) -> PlacementProblem:
    clients = _clients(rows, hosts, None)
    return PlacementProblem(clients, view_of(clients, broker_count), one_cluster(broker_count))
