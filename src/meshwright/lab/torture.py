"""A live network under load whose brokers are killed: what its clients saw, and what was broken.

Brokers are processes of this machine, clients are real. Which broker is killed when, who wants
what, who publishes what and how the overlay is to change follow from the seed; how far a message or
a change has come at that moment does not, as the clock is the world's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import msgspec
import numpy as np

from meshwright.errors import OperatorError
from meshwright.history.history import History, Subscribed
from meshwright.history.judgement import totals, violations
from meshwright.history.lost import lost
from meshwright.history.violation import Violation, seconds
from meshwright.lab.witness import Stopwatch, Witness
from meshwright.live.operating.control_client import Finder
from meshwright.live.processes.local_network import LocalNetwork, free_ports
from meshwright.live.settings import read_live_settings
from meshwright.live.telemetry.plan_log import PlanProgress
from meshwright.model.designs import DEFAULT_DESIGN
from meshwright.planning.founding import founding_overlay, founding_snapshot
from meshwright.sim.scenario.plans import drawn_plan, with_moves

LOOK_EVERY_S = 0.1
QUIET_S = 0.5
WINDOW = 10
QUALITIES = (0, 1, 1, 2)
SHARED = "$share/crew/t/1/+"
# Long enough now and then to be taken for dead.
FROZEN_TIMES = 5
# A change of a few brokers that is ordered so long before a strike is under way when it falls.
BEFORE_STRIKE_S = 0.15


class TortureParameters(msgspec.Struct, frozen=True, kw_only=True):
    """One run; kills fall on the time of load, moves and changes on every client now and then.

    frozen_share: of the kills, how many only let a broker stand still for a while. blackout_share:
    how many strike all brokers at once. plans: how often the overlay is to change, each time just
    before a kill as long as there are kills.
    """

    design: str = DEFAULT_DESIGN
    brokers: int = 5
    clients: int = 12
    topics: int = 6
    duration_s: float = 10.0
    kills: int = 10
    plans: int = 5
    frozen_share: float = 0.2
    blackout_share: float = 0.1
    down_max_s: float = 1.0
    publications_per_s: float = 20.0
    moves_per_s: float = 0.1
    changes_per_s: float = 0.1
    retained_share: float = 0.1
    sharing_share: float = 0.3
    settle_max_s: float = 60.0


class TortureResult(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run: what is counted in it, what must not be, and all evidence."""

    counts: dict[str, int]
    violations: tuple[Violation, ...]
    history: History


def torture(
    parameters: TortureParameters, seed: int, folder: Path, *, settings: Path | None = None
) -> TortureResult:
    """Run a network, load it, kill and restart its brokers, and judge what clients saw.

    settings: a file of what all brokers have in common.
    """
    names = tuple(f"broker{number}" for number in range(1, parameters.brokers + 1))
    overlay = founding_overlay(parameters.design, names, seed=seed)
    port = free_ports(2 * len(names))
    network = LocalNetwork(
        overlay, folder, port=port, peer_port=port + len(names), settings=settings
    )
    network.start()
    try:
        trial = _Trial(parameters, seed, network)
        if settings is not None:
            trial.history.ordered = read_live_settings(settings).order.across_topics
        asyncio.run(trial.run())
    finally:
        network.stop()
    found = [*violations(trial.history), *_unanswered(trial.history), *trial.disagreements]
    return TortureResult(
        counts={
            **totals(trial.history, found),
            "kills": trial.kill_count,
            "stalls": trial.freeze_count,
            "plans": trial.plan_count,
            "moves": trial.move_count,
            "connects": sum(map(len, trial.history.connections.values())),
        },
        violations=tuple(found),
        history=trial.history,
    )


def _unanswered(history: History) -> list[Violation]:
    """Publications that somebody still waits for an answer to, though all brokers run."""
    return [
        Violation(
            checker="unanswered",
            sentence=(
                f"{one.publisher}:{one.sequence} on {one.topic} (QoS {one.qos}), sent at "
                f"{seconds(one.attempted_us)} to {one.broker}, was never answered"
            ),
            time_us=one.attempted_us,
            event=(one.publisher, one.sequence),
            topic=one.topic,
        )
        for one in history.publications.values()
        if one.qos and one.acknowledged_us is None and one.refused is None
    ]


class _Trial:
    """One run on its event loop; every client and the killer have a chance of their own."""

    def __init__(self, parameters: TortureParameters, seed: int, network: LocalNetwork) -> None:
        self.history = History()
        self.kill_count = 0
        self.freeze_count = 0
        self.move_count = 0
        self.plan_count = 0
        self.disagreements: list[Violation] = []
        self._parameters = parameters
        self._network = network
        self._clients: list[Witness] = []
        self._stopwatch = Stopwatch()
        self._brokers = {str(one.clients): one.name for one in network.brokers}
        self._running = list(self._brokers.values())
        killer, planner, *own = np.random.SeedSequence(seed).spawn(parameters.clients + 2)
        self._killer_rng = np.random.default_rng(killer)
        self._planner_rng = np.random.default_rng(planner)
        self._rngs = [np.random.default_rng(one) for one in own]
        self._topics = [f"t/{number % 2}/{number}" for number in range(parameters.topics)]
        self._is_loading = True

    async def run(self) -> None:
        """From the first client to the moment when nothing is owed any more."""
        async with AsyncExitStack() as stack:
            self._clients = clients = [
                await stack.enter_async_context(self._new_client(number))
                for number in range(self._parameters.clients)
            ]
            wanted = [
                await self._first_subscriptions(*pair)
                for pair in zip(clients, self._rngs, strict=True)
            ]
            loads = [
                asyncio.create_task(self._load(*three))
                for three in zip(clients, wanted, self._rngs, strict=True)
            ]
            await self._strike_and_change()
            self._is_loading = False
            await self._settle(loads)
        self._refuse_ended()

    def _new_client(self, number: int) -> Witness:
        addresses = list(self._brokers)
        home = addresses[number % len(addresses)]
        return Witness(
            f"c{number}", self._brokers, home, history=self.history, stopwatch=self._stopwatch
        )

    async def _first_subscriptions(
        self, client: Witness, rng: np.random.Generator
    ) -> list[Subscribed]:
        chosen = rng.choice(len(self._topics), size=2, replace=False)
        filters = [self._topics[place] for place in chosen]
        if rng.random() < 0.5:
            filters[0] = f"t/{rng.integers(2)}/+"
        wanted = [await client.subscribe(text, int(rng.integers(1, 3))) for text in filters]
        if rng.random() < self._parameters.sharing_share:
            await client.subscribe(SHARED, int(rng.integers(1, 3)))
        return wanted

    async def _load(
        self, client: Witness, wanted: list[Subscribed], rng: np.random.Generator
    ) -> None:
        """Publish, now and then move, now and then ask for something else."""
        parameters = self._parameters
        rates = np.array(
            [parameters.publications_per_s, parameters.moves_per_s, parameters.changes_per_s]
        )
        publishing: set[asyncio.Task[object]] = set()
        while self._is_loading:
            await asyncio.sleep(rng.exponential(1.0 / rates.sum()))
            action = rng.choice(3, p=rates / rates.sum())
            if action == 0:
                if len(publishing) >= WINDOW:
                    await asyncio.wait(publishing, return_when=asyncio.FIRST_COMPLETED)
                topic = self._topics[rng.integers(len(self._topics))]
                qos = QUALITIES[rng.integers(len(QUALITIES))]
                retain = bool(rng.random() < parameters.retained_share)
                task = asyncio.create_task(client.publish(topic, qos, retain=retain))
                publishing.add(task)
                task.add_done_callback(publishing.discard)
            elif action == 1:
                await client.move_to(list(self._brokers)[rng.integers(len(self._brokers))])
                self.move_count += 1
            else:
                await client.unsubscribe(wanted.pop(0))
                topic = self._topics[rng.integers(len(self._topics))]
                if topic in (one.filter_text for one in wanted):
                    continue
                wanted.append(await client.subscribe(topic, int(rng.integers(1, 3))))
        if publishing:
            await asyncio.wait(publishing)

    async def _strike_and_change(self) -> None:
        """Kill brokers and have plans applied at moments of the load, as long as that lasts."""
        parameters, rng = self._parameters, self._planner_rng
        strikes_s = parameters.duration_s * np.sort(
            self._killer_rng.uniform(0.05, 0.9, parameters.kills)
        )
        struck_s = rng.permutation(strikes_s)[: parameters.plans]
        struck_s -= rng.uniform(0.0, BEFORE_STRIKE_S, len(struck_s))
        others_s = rng.uniform(0.0, 0.9 * parameters.duration_s, parameters.plans - len(struck_s))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(asyncio.sleep(parameters.duration_s))
            tasks.create_task(self._kill_brokers(strikes_s.tolist()))
            for moment_s in np.sort([*struck_s, *others_s]):
                tasks.create_task(self._change_overlay(moment_s))

    async def _change_overlay(self, moment_s: float) -> None:
        """Give a plan to a broker; one that does not run, or changes already, will not take it."""
        await asyncio.sleep(max(0.0, moment_s))
        await self._some_run()
        rng = self._planner_rng
        control = self._network.control_of(self._running[rng.integers(len(self._running))])
        homes = {client.name: client.broker for client in self._clients}
        with suppress(OSError, OperatorError):
            overlay = (await asyncio.to_thread(control.get, "/plan", PlanProgress)).overlay
            k = overlay.params.get("k")
            snapshot = founding_snapshot(overlay.brokers)
            plan = drawn_plan(overlay, snapshot, rng, k=k if isinstance(k, int) else None)
            await asyncio.to_thread(control.decide, "apply", with_moves(plan, homes, rng))
            self.plan_count += 1

    async def _kill_brokers(self, moments_s: Sequence[float]) -> None:
        """Kill brokers at moments of the load, and start each again a little later."""
        parameters, rng = self._parameters, self._killer_rng
        start_s = time.monotonic()
        async with asyncio.TaskGroup() as restarts:
            for moment_s in moments_s:
                await asyncio.sleep(max(0.0, start_s + moment_s - time.monotonic()))
                struck = [self._running[rng.integers(len(self._running))]]
                if rng.random() < parameters.blackout_share:
                    struck = list(self._running)
                down_s = rng.uniform(0.0, parameters.down_max_s)
                is_frozen = rng.random() < parameters.frozen_share
                strike = self._freeze if is_frozen else self._kill
                for name in struck:
                    restarts.create_task(strike(name, down_s))
                await self._some_run()

    async def _kill(self, name: str, down_s: float) -> None:
        self._running.remove(name)
        self._refuse_ended()
        self._network.kill(name)
        self.kill_count += 1
        await asyncio.sleep(down_s)
        await asyncio.to_thread(self._network.restart, name)
        self._running.append(name)

    async def _freeze(self, name: str, down_s: float) -> None:
        self._running.remove(name)
        self._network.freeze(name)
        self.freeze_count += 1
        await asyncio.sleep(FROZEN_TIMES * down_s)
        self._network.thaw(name)
        self._running.append(name)

    async def _some_run(self) -> None:
        """Somebody must be left to kill."""
        await asyncio.sleep(0)
        while not self._running:
            await asyncio.sleep(LOOK_EVERY_S)

    async def _settle(self, loads: list[asyncio.Task[None]]) -> None:
        """Wait until everything was answered and came, or patience ends."""
        deadline_s = time.monotonic() + self._parameters.settle_max_s
        seen = -1
        while time.monotonic() < deadline_s:
            await asyncio.sleep(QUIET_S)
            is_quiet = seen == len(self.history.deliveries) and all(one.done() for one in loads)
            seen = len(self.history.deliveries)
            if is_quiet and not lost(self.history) and not await self._look_for_disagreement():
                break
        for load in loads:
            load.cancel()
        outcomes = await asyncio.gather(*loads, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome

    async def _look_for_disagreement(self) -> list[Violation]:
        """Brokers that are silent, still change, or have another overlay than the first."""
        controls = [self._network.control_of(name) for name in self._brokers.values()]
        found = await asyncio.to_thread(Finder().answering, controls)
        views = [view for _, view in found.values()]
        sentences = [
            f"{name} does not answer, though nobody was killed any more"
            for name in self._brokers.values()
            if name not in found
        ]
        for view in views:
            if view.plan is not None:
                sentences.append(f"{view.broker} still changes to epoch {view.plan.epoch}")
            elif (view.epoch, view.overlay) != (views[0].epoch, views[0].overlay):
                sentences.append(
                    f"{view.broker} has another overlay in force in epoch {view.epoch} than "
                    f"{views[0].broker} in epoch {views[0].epoch}"
                )
        now_us = self._stopwatch.now_us()
        self.disagreements = [
            Violation(checker="disagreed", sentence=sentence, time_us=now_us)
            for sentence in sentences
        ]
        return self.disagreements

    def _refuse_ended(self) -> None:
        """No broker may end by itself."""
        ended = self._network.ended()
        if ended is not None:
            log = self._network.log_of(ended.name)
            raise OperatorError(f"{ended.name} has ended by itself; see {log}.")
