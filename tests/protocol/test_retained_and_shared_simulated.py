"""Whole runs with faults in which messages are retained, or subscriptions shared."""

from __future__ import annotations

import pytest

from meshwright.history.history import Delivered, History, Published
from meshwright.history.wanted import Wanted
from meshwright.sim.clients.client import ClientSettings
from meshwright.sim.runs.run import Run, run
from meshwright.sim.runs.simulation import builder_of, judge
from meshwright.sim.scenario.parameters import SimulationParameters

FAULTS = ("crash", "partition", "disconnect")
SECOND_US = 1_000_000


def finished(parameters: SimulationParameters, seed: int) -> Run:
    """A run in which no checker found anything."""
    done = run(parameters, seed, builder_of(parameters))
    assert judge(done) == {}
    return done


def looked_up(done: Run, broker: str) -> list[Delivered]:
    """What a new client of a broker gets that subscribes to everything after the end."""
    name = f"late at {broker}"
    client = done.world.add_client(name, ClientSettings())
    client.subscribe("#", 2)
    client.connect(broker)
    done.world.run_until(done.world.agenda.now_us + 10 * SECOND_US)
    return [one for one in done.world.history.deliveries if one.client == name]


def is_overtaken(history: History, found: Published) -> bool:
    """True if a later message was acknowledged, and sent only after this one was."""
    if found.acknowledged_us is None:
        return False
    return any(
        other.topic == found.topic
        and other.acknowledged_us is not None
        and other.attempted_us > found.acknowledged_us
        for other in history.publications.values()
    )


@pytest.mark.parametrize("design", ["chord", "hypercube", "gm2", "tree"])
@pytest.mark.parametrize("seed", range(3))
def test_a_late_subscriber_gets_the_last_message_of_every_topic(design: str, seed: int) -> None:
    parameters = SimulationParameters(
        design=design, faults=FAULTS, retained_share=1.0, qos_weights=(0.0, 0.5, 0.5)
    )
    done = finished(parameters, seed)
    history = done.world.history
    published = {
        one.topic for one in history.publications.values() if one.acknowledged_us is not None
    }
    for broker in ("b0", "b5"):
        deliveries = looked_up(done, broker)
        assert all(one.is_retained for one in deliveries)
        assert len(deliveries) == len({one.topic for one in deliveries})
        assert {one.topic for one in deliveries} >= published
        for one in deliveries:
            found = history.publications[one.publisher, one.sequence]
            assert not is_overtaken(history, found)


def takers(history: History, text: str) -> dict[tuple[str, int], set[str]]:
    """By message, who of a group got it; in these runs nobody has another subscription."""
    members = [one for one in history.subscriptions if one.filter_text == text]
    wanted = Wanted(members[:1])
    found: dict[tuple[str, int], set[str]] = {}
    for one in history.deliveries:
        event = (one.publisher, one.sequence)
        published = history.publications[event]
        if wanted.by(published.topic, published.properties):
            found.setdefault(event, set()).update(
                {one.client} & {member.client for member in members}
            )
    return found


def sharing(
    design: str,
    *,
    qos_weights: tuple[float, float, float],
    faults: tuple[str, ...] = (),
    mobility: str | None = None,
) -> SimulationParameters:
    """Every client is in one group and wants nothing else."""
    return SimulationParameters(
        design=design,
        faults=faults,
        mobility=mobility,
        qos_weights=qos_weights,
        shared_share=1.0,
        wildcard_share=0.3,
        filters_per_client=1,
        changes_per_s=0.0,
        persistent_share=1.0,
    )


@pytest.mark.parametrize("seed", range(2))
def test_a_group_without_faults_gets_each_message_once(seed: int) -> None:
    history = finished(sharing("chord", qos_weights=(0.0, 0.5, 0.5)), seed).world.history
    for text in {one.filter_text for one in history.subscriptions}:
        assert all(len(clients) == 1 for clients in takers(history, text).values())


@pytest.mark.parametrize("design", ["chord", "hypercube", "gm2", "tree"])
@pytest.mark.parametrize("mobility", [None, "standard"])
def test_a_message_of_qos_2_goes_to_one_member_whatever_fails(
    design: str, mobility: str | None
) -> None:
    parameters = sharing(design, qos_weights=(0.0, 0.0, 1.0), faults=FAULTS, mobility=mobility)
    for seed in range(2):
        history = finished(parameters, seed).world.history
        for text in {one.filter_text for one in history.subscriptions}:
            assert all(len(clients) == 1 for clients in takers(history, text).values())


@pytest.mark.parametrize("design", ["chord", "tree"])
@pytest.mark.parametrize("qos_weights", [(0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_a_group_loses_nothing_but_what_only_a_broker_had_that_never_returned(
    design: str, qos_weights: tuple[float, float, float]
) -> None:
    faults = (*FAULTS, "never_returns")
    parameters = sharing(design, qos_weights=qos_weights, faults=faults, mobility="standard")
    for seed in range(2):
        history = finished(parameters, seed).world.history
        if qos_weights[2]:
            for text in {one.filter_text for one in history.subscriptions}:
                assert all(len(clients) <= 1 for clients in takers(history, text).values())
