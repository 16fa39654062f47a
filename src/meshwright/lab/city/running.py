"""Simulates the people of a city under a mobility policy, and counts what brokers send.

The brokers are those that run live; the network never fails here. [mobility, 4.4, 4.5]
"""

from __future__ import annotations

from collections import Counter
from functools import partial

import msgspec
import numpy as np

from meshwright.lab.city.counts import WINDOW_US, CityCounts
from meshwright.lab.city.journeys import MINUTE_US, SCENARIOS, Journey, Travel
from meshwright.lab.city.streets import BROKERS, FANOUT, LEAVES, central, city_overlay
from meshwright.lab.city.travellers import CATALOGUE, TOPICS, Publisher, Traveller
from meshwright.lab.city.unicast import Tally
from meshwright.model.times import SECOND_US
from meshwright.protocol.broker import Broker
from meshwright.protocol.directory.directory import DirectorySettings
from meshwright.protocol.mobility.policies import MobilitySettings, parse_policies
from meshwright.protocol.peers.conversations import ConversationSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.streams.incoming import IncomingSettings
from meshwright.protocol.streams.outgoing import OutgoingSettings
from meshwright.sim.physics.chance import Streams, streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.runs.collector import rare_collections
from meshwright.sim.world import World

WARM_UP_US = 5 * MINUTE_US
# Publishers begin before anything is counted, so that all that is advertised is known by then.
PUBLISH_FROM_US = WARM_UP_US - MINUTE_US
SETTLE_US = 2 * MINUTE_US


class CityParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Who travels how, and how their sessions follow them.

    scenario: one of SCENARIOS. design: how brokers are joined and route; covering, advertisements:
    how filters spread. foresees: prefetching is told where clients go; otherwise its predictor has
    to find out. log_max: events that a broker remembers. watchers_max: brokers that watch for a
    client that is away, if the policy has that. locality: this share of subscribers wants
    one and the same event type, the others any other; None: as the scenario has it. speeds_km_h,
    gap_s, habit: see Travel. mobile_share: of the subscribers; the others stay where they are.
    """

    scenario: str = "commute"
    policy: str = "standard"
    design: str = "hierarchy"
    covering: bool = True
    advertisements: bool = False
    foresees: bool = True
    subscribers: int = 800
    publishers: int = 100
    duration_s: int = 4 * 3600 + 1800
    log_max: int = 1_000
    watchers_max: int = 3
    locality: float | None = None
    speeds_km_h: tuple[float, ...] = (5.0, 50.0, 100.0)
    gap_s: float = 10.0
    habit: float = 0.9
    mobile_share: float = 1.0
    seed: int = 0

    @property
    def travel(self) -> Travel:
        """How people travel."""
        return Travel(
            duration_us=self.duration_s * SECOND_US,
            speeds_km_h=self.speeds_km_h,
            gap_s=self.gap_s,
            habit=self.habit,
        )


class Plans(msgspec.Struct, frozen=True):
    """What people will do: the journey and the filter of each subscriber, each publisher's type."""

    journeys: tuple[Journey, ...]
    wanted: tuple[str, ...]
    kinds: tuple[int, ...]
    places: tuple[int, ...]


def draw_plans(parameters: CityParameters, chances: Streams) -> Plans:
    """What the people of a run will do; the same for each policy and design."""
    scenario = SCENARIOS[parameters.scenario]
    drawn = (scenario(chances.moves, parameters.travel) for _ in range(parameters.subscribers))
    mobile = round(parameters.mobile_share * parameters.subscribers)
    journeys = tuple(
        journey if number < mobile else Journey(journey.start, ())
        for number, journey in enumerate(drawn)
    )
    around = central(10) if parameters.scenario == "commute" else range(len(LEAVES))
    count, rng = parameters.publishers, chances.arrivals
    return Plans(
        journeys,
        _draw_wanted(parameters, chances.topics),
        tuple(rng.integers(len(TOPICS), size=count).tolist()),
        tuple(rng.choice(around, size=count).tolist()),
    )


def run_city(parameters: CityParameters) -> CityCounts:
    """Simulate one run and count."""
    chances = streams(parameters.seed)
    plans = draw_plans(parameters, chances)
    overlay = city_overlay(
        parameters.design,
        covering=parameters.covering,
        advertisements=parameters.advertisements,
    )
    expected: dict[str, str] = {}
    mobility = MobilitySettings(
        policies=parse_policies(parameters.policy),
        log_max=parameters.log_max,
        watchers_max=parameters.watchers_max,
        expected=expected,
    )
    settings = _settings(mobility)
    tally = Tally(BROKERS, FANOUT, WARM_UP_US, WINDOW_US)
    world = World(
        overlay,
        lambda name: Broker(name, settings, overlay),
        NetworkSettings(),
        chances,
        watch=tally.sent,
    )
    travellers = [
        Traveller(f"s{number:03d}", wanted, world, tally, stays=mobility.has("home"))
        for number, wanted in enumerate(plans.wanted)
    ]
    for traveller, journey in zip(travellers, plans.journeys, strict=True):
        _send_off(world, traveller, journey, expected if parameters.foresees else {})
    end_us = WARM_UP_US + parameters.duration_s * SECOND_US
    publishers = _add_publishers(world, plans, chances.arrivals, end_us)
    world.start()
    with rare_collections():
        world.run_until(end_us + SETTLE_US)
    published = sum((one.published for one in publishers), Counter())
    owed = sum(published[kind] for one in travellers for kind in CATALOGUE[one.wanted])
    window_count = -(-parameters.duration_s * SECOND_US // WINDOW_US)
    windows = tuple(tally.window(number) for number in range(window_count))
    return CityCounts(windows, owed, sum(one.received_count for one in travellers))


def _draw_wanted(parameters: CityParameters, rng: np.random.Generator) -> tuple[str, ...]:
    """A filter for each subscriber: of the catalogue in the commute, else of a single type."""
    count = parameters.subscribers
    if parameters.locality is not None:
        alike = round(parameters.locality * count)
        others = rng.integers(1, len(TOPICS), size=count - alike).tolist()
        return (*(TOPICS[0],) * alike, *(TOPICS[kind] for kind in others))
    choices = tuple(CATALOGUE) if parameters.scenario == "commute" else TOPICS
    return tuple(choices[kind] for kind in rng.integers(len(choices), size=count).tolist())


def _send_off(
    world: World, traveller: Traveller, journey: Journey, expected: dict[str, str]
) -> None:
    """Have a subscriber make its journey; expected: where each goes next, kept up to date."""
    number = int(traveller.name[1:])
    start = LEAVES[journey.start]
    world.at(SECOND_US + number * 100_000, partial(traveller.connect, start))
    for move in journey.moves:
        target = LEAVES[move.leaf]
        leave = partial(_leave, traveller, target, expected)
        world.at(WARM_UP_US + move.leaves_us, leave)
        world.at(WARM_UP_US + move.arrives_us, partial(traveller.connect, target))


def _leave(traveller: Traveller, target: str, expected: dict[str, str]) -> None:
    expected[traveller.name] = target
    traveller.leave()


def _add_publishers(
    world: World, plans: Plans, rng: np.random.Generator, end_us: int
) -> list[Publisher]:
    found = []
    for number, (kind, place) in enumerate(zip(plans.kinds, plans.places, strict=True)):
        client = Publisher(f"p{number:03d}", kind, world, end_us)
        world.at(PUBLISH_FROM_US - 30 * SECOND_US, partial(client.connect, LEAVES[place]))
        world.at(PUBLISH_FROM_US + int(rng.integers(MINUTE_US)), client.publish)
        found.append(client)
    return found


def _settings(mobility: MobilitySettings) -> BrokerSettings:
    """Brokers that are in no hurry: nothing fails here, and everything lasts for hours."""
    return BrokerSettings(
        conversations=ConversationSettings(heartbeat_us=10 * MINUTE_US, suspect_us=60 * MINUTE_US),
        directory=DirectorySettings(reader_memory_us=24 * 60 * MINUTE_US),
        outgoing=OutgoingSettings(
            repair_after_us=10 * MINUTE_US,
            check_every_us=5 * MINUTE_US,
            trust_us=12 * 60 * MINUTE_US,
        ),
        incoming=IncomingSettings(acknowledge_after_us=2 * MINUTE_US),
        mobility=mobility,
    )
