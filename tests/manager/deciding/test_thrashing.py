"""A workload built to be followed to and fro, and a manager that does not follow it."""

from __future__ import annotations

import time
from dataclasses import replace
from math import log2
from pathlib import Path

from background_brokers import background_brokers

from meshwright.history.judgement import violations
from meshwright.lab.scripted import Deed, Script, playing
from meshwright.manager.circle.managing import Manager
from meshwright.manager.deciding.planner import Made, NetworkView, PlanRequest
from meshwright.manager.deciding.wanted import snapshot_of, wanted_of
from meshwright.manager.network.running import RunningNetwork
from meshwright.manager.orders.saved_plans import Cost, PlanState
from meshwright.manager.settings import (
    BrokerAccess,
    ManagerSettings,
    PolicySettings,
    WindowSettings,
)
from meshwright.planning.arrangement.plan import arrange

BROKERS = 8
PHASE_S = 1.0
RINGS = 8
WAIT_S = 60.0
# Of each topic in a period, as the planner believes, so that changes seem to pay.
PUBLICATIONS = 100.0
# Of the first phase, those two brokers want a topic that are so far apart; of the second, so far.
APART = (1, 4)


class FollowingPlanner:
    """Arranges the ring for what is wanted at this very moment."""

    def __init__(self, network: RunningNetwork) -> None:
        self.rings: list[object] = []
        self._network = network

    def make(self, view: NetworkView, request: PlanRequest) -> Made:
        del request
        wanted = wanted_of(found for _, found in self._network.views().values())
        wished = snapshot_of(wanted, view.source.brokers)
        snapshot = replace(wished, publications=PUBLICATIONS * wished.publications)
        plan = arrange(snapshot, "chord", "best", source=view.source, net=False, seed=0)
        if plan.target.positions not in self.rings[-1:]:
            self.rings.append(plan.target.positions)
        cost = plan.cost
        return Made(plan=plan, predicted=Cost(before=cost.before, after=cost.after))

    def stop(self) -> None:
        """Nothing goes on."""


def alternating() -> Script:
    """Everybody wants a topic with one other broker, and after a second with another."""
    deeds: list[Deed] = []
    for number in range(BROKERS):
        first, second = (f"t{apart}/{number // apart % 2}/{number % apart}" for apart in APART)
        client = f"c{number}"
        deeds += [Deed(0.0, client, "want", first), Deed(PHASE_S, client, "unwant", first)]
        deeds += [Deed(PHASE_S, client, "want", second)]
        deeds += [
            Deed(tenth / 10, client, "publish", topic)
            for tenth in range(1, round(20 * PHASE_S), 2)
            for topic in (first, second)
        ]
    deeds.sort(key=lambda deed: deed.at_s)
    homes = {f"c{number}": f"b{number}" for number in range(BROKERS)}
    return Script(homes, tuple(deeds), 2 * PHASE_S)


def test_a_live_network_is_not_changed_to_and_fro_and_loses_nothing(tmp_path: Path) -> None:
    with background_brokers("chord", tmp_path / "network", BROKERS) as brokers:
        planner = FollowingPlanner(RunningNetwork(brokers.folder))
        settings = ManagerSettings(
            folder=tmp_path / "manager",
            measure_s=0.5,
            brokers=BrokerAccess(data=brokers.folder),
            windows=WindowSettings(length_s=0.5, needed=1, collect_every_s=0.1),
            policy=PolicySettings(
                mode="automatic", every_s=0.1, benefit_min=0.0, confirmations=2, cool_down_s=1.0
            ),
        )
        manager = Manager(settings, planner=planner, say=print)
        with playing(alternating(), brokers.addresses) as play:
            play.wait_begun()
            manager.open()
            begun_s = time.monotonic()
            while len(planner.rings) < RINGS:
                assert time.monotonic() < begun_s + WAIT_S
                time.sleep(0.1)
            states = [one.state for one in manager.entries()]
            elapsed_s = time.monotonic() - begun_s
            manager.close()
            history = play.end()
    assert violations(history) == []
    # Who follows what is wanted now has changed so often; between changes are rests of 1, 2, 4 s.
    applied = states.count(PlanState.APPLIED)
    assert 1 <= applied <= 1 + log2(elapsed_s + 1) < RINGS
