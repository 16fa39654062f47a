"""One seed, one answer: a pure function that may run anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain

import msgspec

from meshwright.history.judgement import TOTALS, totals, violations
from meshwright.history.violation import Violation
from meshwright.model.designs import design
from meshwright.model.identifiers import BrokerName, TopicName
from meshwright.model.overlay import Overlay
from meshwright.protocol.broker import Broker
from meshwright.protocol.mobility.placement import PlacementSettings
from meshwright.protocol.mobility.policies import MobilitySettings, parse_policies
from meshwright.protocol.peers.removals import RemovalSettings
from meshwright.protocol.reconfiguration.draining import LostInChange
from meshwright.protocol.settings import BrokerSettings
from meshwright.protocol.streams.quiet_streams import QuietSettings
from meshwright.sim.brokers.adapting import adapting_settings
from meshwright.sim.checkers.broken import broken
from meshwright.sim.checkers.closed_form import miscounted, publications_due
from meshwright.sim.checkers.connectivity import k_not_held
from meshwright.sim.checkers.doubled import doubled
from meshwright.sim.checkers.epochs import epochs_shared, torn
from meshwright.sim.checkers.loops import loops, restless
from meshwright.sim.checkers.queues import overfull
from meshwright.sim.checkers.unanswered import unanswered
from meshwright.sim.runs.replay import replay_command
from meshwright.sim.runs.run import BuildMachine, Run, run
from meshwright.sim.runs.story import Story
from meshwright.sim.scenario.parameters import SimulationParameters

SENTENCES_MAX = 10
# Longer than nearly every crash and partition that ends, and short enough to see what follows.
IMPATIENT = RemovalSettings(remove_after_us=20_000_000)
# What topics have one order together where some have.
ORDERED = ("area0/#", "area1/#")
GATHERING = PlacementSettings(rule="similarity", every_us=500_000, rest_us=2_000_000, load_slack=1)


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """What one checker found in one seed, the command that runs it again, and what happened."""

    seed: int
    checker: str
    count: int
    sentences: tuple[str, ...]
    command: str
    story: tuple[str, ...]


class SimulationResult(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of clients, messages between brokers by class, and what must not be.

    dropped_in_changes: frames of QoS 0 that came on an overlay which was forgotten. digest is the
    same whenever the same seed was run by the same code.
    """

    totals: dict[str, int]
    messages: dict[str, int]
    failures: tuple[Failure, ...]
    digest: str
    dropped_in_changes: int = 0


def simulate(
    parameters: SimulationParameters, seed: int, build: BuildMachine | None = None
) -> SimulationResult:
    """Run one seed and judge it; failures come with their story."""
    build = build or builder_of(parameters)
    done = run(parameters, seed, build)
    by_checker = judge(done)
    history = done.world.history
    return SimulationResult(
        totals=totals(history, chain.from_iterable(by_checker.values())),
        messages=done.world.counts_by_class(),
        dropped_in_changes=sum(
            isinstance(record, LostInChange) for _, _, record in done.world.records.all
        ),
        failures=tuple(_failure(parameters, seed, build, found) for found in by_checker.values()),
        digest=f"{done.world.records.digest()}{history.digest()}",
    )


def judge(done: Run) -> dict[str, list[Violation]]:
    """What every checker found, by its name; those that found nothing are left out."""
    history, records = done.world.history, done.world.records.all
    history.ordered = ORDERED if done.parameters.ordered else ()
    end_us = done.world.agenda.now_us
    found = [
        *violations(history),
        *unanswered(done.world.clients.values(), end_us),
        *doubled(done.world.lines.standing(), end_us),
        *broken(done.world.breakdowns),
        *loops(records),
        *restless(done.late_messages, end_us),
        *overfull(done.world.queue_peaks.values()),
        *epochs_shared(records),
        *torn(done.observed, end_us),
        *_k_not_held(done),
        *_miscounted(done),
    ]
    by_checker: dict[str, list[Violation]] = {}
    for violation in found:
        by_checker.setdefault(violation.checker, []).append(violation)
    return by_checker


def summed(results: Iterable[SimulationResult]) -> tuple[dict[str, int], dict[str, int]]:
    """Totals and messages of many seeds."""
    counted = Counter(dict.fromkeys(TOTALS, 0))
    messages: Counter[str] = Counter()
    for result in results:
        counted.update(result.totals)
        messages.update(result.messages)
    return dict(counted), dict(sorted(messages.items()))


def build_broker(name: str, overlay: Overlay) -> Broker:
    """The machine that is simulated, with the settings that it has by itself."""
    return Broker(name, BrokerSettings(), overlay)


def tightened(settings: BrokerSettings) -> BrokerSettings:
    """The same brokers with little room, so that whatever has a bound comes to it."""
    replace = msgspec.structs.replace
    return replace(
        settings,
        sessions=replace(settings.sessions, log_max=20, queue_max=20, inflight_max=8),
        shared=replace(settings.shared, queue_max=8),
        conversations=replace(settings.conversations, window=40, spare_max=60),
        incoming=replace(settings.incoming, held_max=4),
        outgoing=replace(settings.outgoing, qos0_max=4),
        retained_store=replace(settings.retained_store, qos0_max=4),
    )


def forgetful(settings: BrokerSettings) -> BrokerSettings:
    """The same brokers in a hurry to forget what is not used any more."""
    replace = msgspec.structs.replace
    quiet = QuietSettings(sweep_every_us=700_000, quiet_us=1_200_000)
    return replace(
        settings,
        outgoing=replace(settings.outgoing, trust_us=1_000_000, quiet=quiet),
        moving=replace(settings.moving, claim_rest_us=1_000_000),
    )


def builder_of(parameters: SimulationParameters) -> BuildMachine:
    """What makes the machines of a simulation, with what its parameters say of brokers."""
    settings = BrokerSettings()
    if parameters.is_adapting:
        settings = adapting_settings(options=parameters.adaptation, stated=parameters.costs)
    if parameters.is_gathering:
        settings = msgspec.structs.replace(settings, placement=GATHERING)
    if "never_returns" in parameters.faults:
        settings = msgspec.structs.replace(settings, removal=IMPATIENT)
    if parameters.tight:
        settings = tightened(settings)
    if parameters.forgets:
        settings = forgetful(settings)
    if parameters.ordered:
        outgoing = msgspec.structs.replace(settings.outgoing, across_topics=ORDERED)
        settings = msgspec.structs.replace(settings, outgoing=outgoing)
    if parameters.mobility is not None:
        mobility = MobilitySettings(policies=parse_policies(parameters.mobility))
        settings = msgspec.structs.replace(settings, mobility=mobility)
    return lambda name, overlay: Broker(name, settings, overlay)


def _k_not_held(done: Run) -> list[Violation]:
    """What k promises, of the overlay at first and of those in force at the end."""
    k = done.parameters.k or design(done.parameters.design).k_least
    found = k_not_held(done.overlay, done.snapshot, k)
    by_epoch = {one.epoch: one.overlay for one in done.observed.values() if one.epoch}
    for overlay in by_epoch.values():
        among = _among(overlay, done.snapshot.brokers)
        found += k_not_held(among, done.snapshot, k, time_us=done.world.agenda.now_us)
    return found


def _among(overlay: Overlay, brokers: tuple[BrokerName, ...]) -> Overlay:
    """The links among those whose interests are known, without who joined later."""
    links = tuple(link for link in overlay.links if set(link).issubset(brokers))
    return msgspec.structs.replace(overlay, brokers=brokers, links=links)


def _miscounted(done: Run) -> list[Violation]:
    """Messages of publications against the closed form, where nothing changed on the way."""
    if not done.parameters.is_still:
        return []
    topics = {name: index for index, name in enumerate(done.snapshot.topics)}
    brokers = {name: index for index, name in enumerate(done.snapshot.brokers)}
    published = [
        (topics[TopicName(one.topic)], brokers[BrokerName(one.broker)])
        for one in done.world.history.publications.values()
    ]
    due = {"publication": publications_due(done.overlay, done.snapshot, published), "repair": 0}
    return miscounted(done.world.counts_by_class(), due)


def _failure(
    parameters: SimulationParameters, seed: int, build: BuildMachine, found: list[Violation]
) -> Failure:
    story = Story(found[0])
    run(parameters, seed, build, witness=story)
    return Failure(
        seed=seed,
        checker=found[0].checker,
        count=len(found),
        sentences=tuple(one.sentence for one in found[:SENTENCES_MAX]),
        command=replay_command(parameters, seed),
        story=story.told(),
    )
