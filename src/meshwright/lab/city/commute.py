"""The mobility paper's commute: subscribers leave the centre of a city and come back at home.

A full 4-ary tree of 85 brokers, of which the 64 leaves lie from west to east; 16:00 to 20:30. What
a policy costs is counted as the paper probably did: hops of unicast messages on the tree, against
hops of multicast ones. [mobility, 4.1, 4.4, 4.5]
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial

import msgspec
import numpy as np

from meshwright.lab.city.commuters import CATALOGUE, Commuter, Publisher
from meshwright.lab.city.unicast import Tally
from meshwright.model.identifiers import BrokerName
from meshwright.model.overlay import Overlay
from meshwright.model.times import SECOND_US
from meshwright.protocol.broker import Broker
from meshwright.protocol.directory.directory import DirectorySettings
from meshwright.protocol.mobility.policies import MobilitySettings, parse_policies
from meshwright.protocol.peers.conversations import ConversationSettings
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.streams.incoming import IncomingSettings
from meshwright.protocol.streams.outgoing import OutgoingSettings
from meshwright.sim.physics.chance import streams
from meshwright.sim.physics.network import NetworkSettings
from meshwright.sim.runs.collector import rare_collections
from meshwright.sim.world import World

MINUTE_US = 60 * SECOND_US
BROKERS = 85
FANOUT = 4
LEAVES = tuple(range(21, 85))
WARM_UP_US = 5 * MINUTE_US
WINDOW_US = 30 * MINUTE_US
SETTLE_US = 2 * MINUTE_US


class CommuteParameters(msgspec.Struct, frozen=True, kw_only=True):
    """Who commutes, and how their sessions follow them."""

    policy: str = "standard"
    subscribers: int = 800
    publishers: int = 100
    duration_s: int = 4 * 3600 + 1800
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Trip:
    """A subscriber's way home: leaf numbers from west to east, and times after 16:00."""

    start: int
    end: int
    leaves_us: int
    away_us: int


@dataclass(frozen=True, slots=True)
class Commute:
    """What was counted, by half-hour window; owed and delivered are of all subscribers."""

    windows: tuple[Counter[str], ...]
    owed: int
    delivered: int

    def ratio(self, *, until_s: int | None = None, with_last_hop: bool = True) -> float:
        """Unicast hops for each multicast hop, up to a time after 16:00."""
        count = len(self.windows) if until_s is None else until_s * SECOND_US // WINDOW_US
        return _ratio(sum(self.windows[:count], Counter()), with_last_hop=with_last_hop)

    def peak(self, *, with_last_hop: bool = True) -> tuple[float, int]:
        """The highest ratio of a window, and which window that is."""
        ratios = [_ratio(one, with_last_hop=with_last_hop) for one in self.windows]
        return max((ratio, number) for number, ratio in enumerate(ratios))

    def share(self, name: str) -> float:
        """The part of one kind of message in all unicast hops."""
        total = sum(self.windows, Counter())
        return total[name] / max(1, _unicast(total, with_last_hop=False))


def commute(parameters: CommuteParameters) -> Commute:
    """Simulate one commute and count."""
    chances = streams(parameters.seed)
    trips = draw_trips(parameters.subscribers, chances.moves)
    names = tuple(BrokerName(f"b{number:02d}") for number in range(BROKERS))
    overlay = Overlay(
        design="tree",
        brokers=names,
        links=tuple((names[(child - 1) // FANOUT], names[child]) for child in range(1, BROKERS)),
    )
    expected: dict[str, str] = {
        f"s{number:03d}": names[LEAVES[trip.end]] for number, trip in enumerate(trips)
    }
    settings = _settings(
        MobilitySettings(policies=parse_policies(parameters.policy), expected=expected)
    )
    tally = Tally(names, FANOUT, WARM_UP_US, WINDOW_US)
    world = World(
        overlay,
        lambda name: Broker(name, settings, overlay),
        NetworkSettings(),
        chances,
        watch=tally.sent,
    )
    subscribers = _add_subscribers(
        world, trips, names, chances.topics, tally, stays=settings.mobility.has("home")
    )
    end_us = WARM_UP_US + parameters.duration_s * SECOND_US
    publishers = _add_publishers(world, parameters, names, chances.arrivals, end_us)
    world.start()
    with rare_collections():
        world.run_until(end_us + SETTLE_US)
    published = sum((one.published for one in publishers), Counter())
    owed = sum(published[kind] for one in subscribers for kind in CATALOGUE[one.wanted])
    windows = tuple(
        tally.window(n) for n in range(-(-parameters.duration_s * SECOND_US // WINDOW_US))
    )
    return Commute(windows, owed, sum(one.received_count for one in subscribers))


def draw_trips(count: int, rng: np.random.Generator) -> list[Trip]:
    """Two in five end near the centre and are away for 15 to 45 minutes, the others 45 to 90."""
    outside = [leaf for leaf in range(64) if leaf not in central(30)]
    trips = []
    for _ in range(count):
        start = int(rng.choice(central(20)))
        leaves_us = int(rng.integers(120 * MINUTE_US))
        if rng.random() < 0.4:
            end, away_us = (
                int(rng.choice(central(30))),
                rng.integers(15 * MINUTE_US, 45 * MINUTE_US),
            )
        else:
            end, away_us = int(rng.choice(outside)), rng.integers(45 * MINUTE_US, 90 * MINUTE_US)
        trips.append(Trip(start, end, leaves_us, int(away_us)))
    return trips


def central(count: int) -> range:
    """The leaves in the middle of the city."""
    return range(32 - count // 2, 32 + count // 2)


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


def _add_subscribers(
    world: World,
    trips: list[Trip],
    names: tuple[BrokerName, ...],
    rng: np.random.Generator,
    tally: Tally,
    *,
    stays: bool,
) -> list[Commuter]:
    wanted = rng.integers(len(CATALOGUE), size=len(trips)).tolist()
    found = []
    for number, trip in enumerate(trips):
        start, end = names[LEAVES[trip.start]], names[LEAVES[trip.end]]
        filter_text = tuple(CATALOGUE)[wanted[number]]
        home = start if stays else None
        client = Commuter(f"s{number:03d}", filter_text, world, tally, home=home)
        leaves_us = WARM_UP_US + trip.leaves_us
        world.at(SECOND_US + number * 100_000, partial(client.connect, start))
        world.at(leaves_us, client.leave)
        world.at(leaves_us + trip.away_us, partial(client.connect, end))
        found.append(client)
    return found


def _add_publishers(
    world: World,
    parameters: CommuteParameters,
    names: tuple[BrokerName, ...],
    rng: np.random.Generator,
    end_us: int,
) -> list[Publisher]:
    found = []
    for number in range(parameters.publishers):
        kind = int(rng.integers(27))
        broker = names[LEAVES[int(rng.choice(central(10)))]]
        client = Publisher(f"p{number:03d}", kind, world, end_us)
        world.at(WARM_UP_US - 30 * SECOND_US, partial(client.connect, broker))
        world.at(WARM_UP_US + int(rng.integers(MINUTE_US)), client.publish)
        found.append(client)
    return found


def _unicast(counts: Counter[str], *, with_last_hop: bool) -> int:
    last = counts["forwarded"] if with_last_hop else 0
    kinds = ("request", "subscriptions", "induced", "stored", "exchange", "home")
    return sum(counts[kind] for kind in kinds) + last


def _ratio(counts: Counter[str], *, with_last_hop: bool) -> float:
    multicast = counts["publication"] + (counts["live"] if with_last_hop else 0)
    return _unicast(counts, with_last_hop=with_last_hop) / max(1, multicast)
