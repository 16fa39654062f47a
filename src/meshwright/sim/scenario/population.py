"""Who is there: topics, and clients with their brokers, sessions and filters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from meshwright.filters.filter import Filter, matches, parse_filter
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.interests import interests_from_sets
from meshwright.model.snapshot import Snapshot
from meshwright.sim.clients.testament import WillSettings
from meshwright.sim.scenario.parameters import SimulationParameters

SESSION_EXPIRY_S = 3_600
TOPICS_PER_AREA = 4
# How long wills wait, if the sessions of their clients last as long, of which some are short.
WILL_DELAYS_S = (0, 0, 1, 2, 4)
SHORT_EXPIRIES_S = (1, 3)
VALUE_MAX = 100  # publications carry a value below this, on which content filters ask


@dataclass(frozen=True, slots=True)
class Inhabitant:
    """A client as a run begins; filters with their QoS."""

    name: str
    broker: str
    session_expiry_s: int
    filters: tuple[tuple[str, int], ...]
    will: WillSettings | None = None


@dataclass(frozen=True, slots=True)
class Population:
    """Everything that has a name."""

    brokers: tuple[str, ...]
    topics: tuple[str, ...]
    clients: tuple[Inhabitant, ...]


def draw_population(
    parameters: SimulationParameters, topics: np.random.Generator, clients: np.random.Generator
) -> Population:
    """Clients are spread over the brokers; each draws its filters."""
    brokers = numbered("b", parameters.brokers)
    names = tuple(
        f"area{number // TOPICS_PER_AREA}/sensor{number}" for number in range(parameters.topics)
    )
    inhabitants = []
    for number, name in enumerate(numbered("c", parameters.clients)):
        is_persistent = clients.random() < parameters.persistent_share
        filters = [
            draw_filter(parameters, names, topics) for _ in range(parameters.filters_per_client)
        ]
        inhabitants.append(
            Inhabitant(
                name=name,
                broker=brokers[number % len(brokers)],
                session_expiry_s=SESSION_EXPIRY_S if is_persistent else 0,
                filters=tuple(dict(filters).items()),
            )
        )
    return Population(brokers, names, tuple(inhabitants))


def with_wills(
    population: Population, parameters: SimulationParameters, rng: np.random.Generator
) -> Population:
    """The same clients, some of them with a will, and some of these with a short session."""
    if not parameters.will_share:
        return population
    mortals = []
    for client in population.clients:
        topic = population.topics[int(rng.integers(len(population.topics)))]
        will = WillSettings(
            topic=topic,
            qos=draw_qos(parameters, rng),
            retain=bool(rng.random() < 0.3),
            delay_s=int(rng.choice(WILL_DELAYS_S)),
            properties=(("value", str(int(rng.integers(VALUE_MAX)))),),
        )
        expiry_s = client.session_expiry_s
        is_short, short_s = rng.random() < 0.4, int(rng.choice(SHORT_EXPIRIES_S))
        mortal = replace(
            client, will=will, session_expiry_s=short_s if expiry_s and is_short else expiry_s
        )
        mortals.append(mortal if rng.random() < parameters.will_share else client)
    return replace(population, clients=tuple(mortals))


def draw_filter(
    parameters: SimulationParameters, topics: tuple[str, ...], rng: np.random.Generator
) -> tuple[str, int]:
    """A filter on a topic, perhaps with a wildcard, a clause or a group, and its QoS."""
    topic = topics[int(rng.integers(len(topics)))]
    text = topic
    if rng.random() < parameters.wildcard_share:
        area, _, sensor = topic.partition("/")
        text = (f"{area}/+", f"{area}/#", f"+/{sensor}", "#")[int(rng.integers(4))]
    if rng.random() < parameters.content_share:
        text = f"$where/{_clause(int(rng.integers(VALUE_MAX)))}/{text}"
    if rng.random() < parameters.shared_share:
        text = f"$share/group/{text}"
    return text, draw_qos(parameters, rng)


def _clause(value: int) -> str:
    """A clause of each kind for a third of the values."""
    return (f"value>{value}", f"value!={value}", f"value^={str(value)[0]}")[value % 3]


def draw_qos(parameters: SimulationParameters, rng: np.random.Generator) -> int:
    """A quality of service."""
    weights = np.array(parameters.qos_weights, dtype=np.float64)
    return int(rng.choice(3, p=weights / weights.sum()))


def snapshot_of(population: Population, publications: float) -> Snapshot:
    """The interests of the brokers as planning sees them, from the clients they begin with."""
    wanted: dict[str, set[int]] = {name: set() for name in population.brokers}
    for client in population.clients:
        for text, _ in client.filters:
            topic_filter = Filter(parse_filter(text).topic_filter)
            wanted[client.broker].update(
                number
                for number, topic in enumerate(population.topics)
                if matches(topic_filter, topic)
            )
    return Snapshot(
        brokers=tuple(map(BrokerName, population.brokers)),
        topics=tuple(map(TopicName, population.topics)),
        interests=interests_from_sets(wanted.values(), len(population.topics)),
        publications=np.full(len(population.topics), publications, dtype=np.float64),
    )


def numbered(letter: str, count: int) -> tuple[str, ...]:
    """Names that sort by their numbers."""
    width = len(str(count - 1))
    return tuple(f"{letter}{number:0{width}d}" for number in range(count))
