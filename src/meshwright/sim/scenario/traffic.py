"""What clients do in a run: connect, publish, change their minds, move."""

from __future__ import annotations

from functools import partial

import numpy as np

from meshwright.model.times import SECOND_US
from meshwright.protocol.mqtt.packets import MQTT_3_1_1, MQTT_5
from meshwright.sim.clients.client import Client, ClientSettings
from meshwright.sim.scenario.parameters import SimulationParameters
from meshwright.sim.scenario.population import VALUE_MAX, Population, draw_filter
from meshwright.sim.world import World

CONNECT_FROM_US = 500_000
CONNECT_WITHIN_US = 1_000_000
AWAY_MEAN_S = 1.0
# Clients with wills die as often, and stay away as long on average.
DEATHS_PER_S = 0.15
DEAD_MEAN_S = 2.5
ROAMS_AFTER = 3
# About as long as brokers need to agree who has a client.
DOUBLE_WITHIN_US = 20_000
DOUBLES_AT_FIRST_SHARE = 0.3
AGAIN_SHARE = 0.3
# Of publications that follow another one of their client at once, where topics have an order.
ROW_SHARE = 0.6
ROW_PAUSE_MAX_US = 3_000


class Arrivals:
    """Publications between two times, drawn at once and handed out one by one."""

    def __init__(
        self,
        world: World,
        population: Population,
        parameters: SimulationParameters,
        rng: np.random.Generator,
        *,
        start_us: int,
        end_us: int,
    ) -> None:
        self._agenda = world.agenda
        self._clients = list(world.clients.values())
        self._topics = population.topics
        count = _count(parameters.publications_per_s, start_us, end_us, rng)
        weights = np.array(parameters.qos_weights, dtype=np.float64)
        self._times_us = np.sort(rng.integers(start_us, end_us, size=count)).tolist()
        self._publishers = rng.integers(len(self._clients), size=count).tolist()
        self._drawn_topics = rng.integers(len(self._topics), size=count).tolist()
        self._qos = rng.choice(3, size=count, p=weights / weights.sum()).tolist()
        self._values = rng.integers(VALUE_MAX, size=count).tolist()
        self._retained = (rng.random(count) < parameters.retained_share).tolist()
        if parameters.ordered:
            self._draw_rows(rng)
        if count:
            self._agenda.at(self._times_us[0], self._arrive, 0)

    def _draw_rows(self, rng: np.random.Generator) -> None:
        """Let clients publish several messages in a row, with little time between them."""
        pauses_us = rng.integers(ROW_PAUSE_MAX_US, size=len(self._times_us)).tolist()
        is_next = (rng.random(len(self._times_us)) < ROW_SHARE).tolist()
        for number in range(1, len(self._times_us)):
            if is_next[number]:
                self._publishers[number] = self._publishers[number - 1]
                soon_us = self._times_us[number - 1] + pauses_us[number]
                self._times_us[number] = min(self._times_us[number], soon_us)

    def _arrive(self, number: int, _: None) -> None:
        client = self._clients[self._publishers[number]]
        client.publish(
            self._topics[self._drawn_topics[number]],
            self._qos[number],
            (("value", str(self._values[number])),),
            retain=self._retained[number],
        )
        if number + 1 < len(self._times_us):
            self._agenda.at(self._times_us[number + 1], self._arrive, number + 1)


def add_clients(
    world: World,
    population: Population,
    parameters: SimulationParameters,
    rng: np.random.Generator,
) -> None:
    """Add all clients; they connect early in the run, each with its filters."""
    mobility = parameters.mobility
    for number, inhabitant in enumerate(population.clients):
        # Where there is little room, half of the clients have to wait for it.
        waits = parameters.tight and number % 2 == 1
        settings = ClientSettings(
            session_expiry_s=inhabitant.session_expiry_s,
            roams_after=ROAMS_AFTER if parameters.roams else None,
            names_previous_broker=mobility is not None,
            carries_subscriptions=mobility is not None and "device" in mobility,
            will=inhabitant.will,
            version=MQTT_3_1_1 if waits else MQTT_5,
        )
        client = world.add_client(inhabitant.name, settings)
        for text, qos in inhabitant.filters:
            client.subscribe(text, qos)
        at_us = CONNECT_FROM_US + int(rng.integers(CONNECT_WITHIN_US))
        world.at(at_us, partial(client.connect, inhabitant.broker))


def schedule_changes(
    world: World,
    population: Population,
    parameters: SimulationParameters,
    rng: np.random.Generator,
    *,
    start_us: int,
    end_us: int,
) -> None:
    """Clients that subscribe to more, or unsubscribe, at random times."""
    count = _count(parameters.changes_per_s, start_us, end_us, rng)
    clients = list(world.clients.values())
    for at_us in np.sort(rng.integers(start_us, end_us, size=count)).tolist():
        client = clients[int(rng.integers(len(clients)))]
        text, qos = draw_filter(parameters, population.topics, rng)
        place = float(rng.random())
        if rng.random() < 0.5:
            world.at(at_us, partial(client.subscribe, text, qos))
        else:
            world.at(at_us, partial(_unsubscribe_one, client, place))


def schedule_moves(
    world: World,
    parameters: SimulationParameters,
    rng: np.random.Generator,
    *,
    start_us: int,
    end_us: int,
) -> None:
    """Clients that leave, with or without a word, and come back at some broker before the end."""
    count = _count(parameters.moves_per_s, start_us, end_us, rng)
    clients, brokers = list(world.clients.values()), list(world.hosts)
    for at_us in np.sort(rng.integers(start_us, end_us, size=count)).tolist():
        client = clients[int(rng.integers(len(clients)))]
        broker = brokers[int(rng.integers(len(brokers)))]
        back_us = min(at_us + int(rng.exponential(AWAY_MEAN_S) * SECOND_US), end_us)
        world.at(at_us, client.leave if rng.random() < 0.5 else client.vanish)
        world.at(back_us, partial(client.connect, broker))


def schedule_deaths(
    world: World,
    population: Population,
    rng: np.random.Generator,
    *,
    start_us: int,
    end_us: int,
) -> None:
    """Clients with wills that end their connections in every way, and come back before the end."""
    brokers = list(world.hosts)
    for inhabitant in population.clients:
        if inhabitant.will is None:
            continue
        client = world.clients[inhabitant.name]
        count = _count(DEATHS_PER_S, start_us, end_us, rng)
        for at_us in np.sort(rng.integers(start_us, end_us, size=count)).tolist():
            elsewhere = brokers[int(rng.integers(len(brokers)))]
            broker = elsewhere if rng.random() < 0.5 else inhabitant.broker
            back_us = min(at_us + int(rng.exponential(DEAD_MEAN_S) * SECOND_US), end_us)
            kind = rng.random()
            if kind < 0.25:
                world.at(at_us, partial(client.switch, broker))
                continue
            ends = client.vanish if kind < 0.7 else client.leave
            world.at(at_us, client.leave_with_will if kind < 0.4 else ends)
            world.at(back_us, partial(client.connect, broker))


def schedule_doubles(
    world: World,
    parameters: SimulationParameters,
    rng: np.random.Generator,
    *,
    start_us: int,
    end_us: int,
) -> None:
    """Clients that connect at a broker while they are at another: some when they first come."""
    if not parameters.doubles_per_s:
        return
    clients, brokers = list(world.clients.values()), list(world.hosts)
    for client in clients:
        broker, after_us = brokers[int(rng.integers(len(brokers)))], rng.integers(DOUBLE_WITHIN_US)
        if rng.random() < DOUBLES_AT_FIRST_SHARE:
            client.doubles_at_first(broker, int(after_us))
    count = _count(parameters.doubles_per_s, start_us, end_us, rng)
    for at_us in np.sort(rng.integers(start_us, end_us, size=count)).tolist():
        client = clients[int(rng.integers(len(clients)))]
        first, second = (brokers[int(number)] for number in rng.integers(len(brokers), size=2))
        again_us = at_us + int(rng.integers(DOUBLE_WITHIN_US))
        world.at(at_us, partial(client.double, first))
        if rng.random() < AGAIN_SHARE:
            world.at(again_us, partial(client.double, second))


def _unsubscribe_one(client: Client, place: float) -> None:
    filters = client.filters
    if filters:
        client.unsubscribe(filters[int(place * len(filters))])


def _count(per_s: float, start_us: int, end_us: int, rng: np.random.Generator) -> int:
    return int(rng.poisson(per_s * (end_us - start_us) / SECOND_US))
