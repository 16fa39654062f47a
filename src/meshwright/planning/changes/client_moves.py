"""Why clients move: each by its own move makes a metric better that is named, or it stays.

Moves are judged in the network as it is when all have moved: with this one, and without it. Where
companions go as well they are no reason to stay, and where they do not come none to go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from meshwright.model.interests import Int32Array, Int64Array
from meshwright.model.plan import Step
from meshwright.model.wording import counted
from meshwright.planning.placement.clients import NO_BROKER, Clients, PlacementProblem, view_of
from meshwright.planning.placement.strategies import ROUNDING, PlacementRules, client_caps

# What clients of one taste gain by meeting is the matter of these; others have other reasons.
BY_SIMILARITY = ("similarity", "similarity-bounded")


class Gain(NamedTuple):
    """A metric that a move makes better: without it, and with it; why: a sentence with names.

    The sentence has {client}, {source} and {target} where their names are to be.
    """

    metric: str
    before: int
    after: int
    why: str


class SettledClients:
    """Clients where a placement has sent them; who gains nothing by that may be sent back.

    came_from: the broker of each before, NO_BROKER if it had none that is still there, (client,).
    """

    def __init__(
        self,
        came_from: Int32Array,
        clients: Clients,
        clusters: Int32Array,
        placement: str,
        rules: PlacementRules | None = None,
    ) -> None:
        self._rules = rules or PlacementRules()
        self._placement = placement
        self._came_from = came_from
        self._brokers = clients.brokers.copy()
        self._clients = clients
        self._clusters = clusters
        view = view_of(clients, len(clusters))
        self._counts, self._loads = view.reference_counts.copy(), view.loads.copy()
        hosted = self._brokers[self._brokers != NO_BROKER]
        self._hosted: Int64Array = np.bincount(hosted, minlength=len(clusters))
        self._caps = (
            client_caps(PlacementProblem(clients, view, clusters), self._rules)
            if placement == "similarity-bounded"
            else np.full(len(clusters), clients.count, dtype=np.int64)
        )

    @property
    def clients(self) -> Clients:
        """Where everybody is by now."""
        return self._clients.moved_to(self._brokers.copy())

    def send_idle_back(self) -> None:
        """Leave those where they came from who have no gain, until everybody has one."""
        if self._placement not in BY_SIMILARITY:
            return
        idle = True
        while idle:
            idle = False
            for client in self.moved():
                if self.gain(client) is None:
                    self._send_back(client)
                    idle = True

    def moved(self) -> Iterator[int]:
        """Those that have left a broker which is still there."""
        moved = (self._came_from != NO_BROKER) & (self._came_from != self._brokers)
        yield from np.flatnonzero(moved & (self._brokers != NO_BROKER)).tolist()

    def gain(self, client: int) -> Gain | None:
        """What gets better by the move of a client; None if nothing does."""
        source, target = int(self._came_from[client]), int(self._brokers[client])
        if source == NO_BROKER:
            shared = self._shared(client, target)
            return Gain(
                "clients_unserved", 1, 0,
                f"{{source}} leaves the network, and {{target}} wants {shared} of the topics of "
                "{client} for other clients too.",
            )  # fmt: skip
        if self._placement not in BY_SIMILARITY:
            why = (
                "{target} is the broker that is nearest to where {client} was seen last."
                if self._placement == "location"
                else f"{{target}} is the broker of {{client}} by {self._placement} placement."
            )
            return Gain("clients_elsewhere", 1, 0, why)
        if self._is_out_of_cluster(client, source):
            return Gain(
                "clients_elsewhere", 1, 0,
                "{target} is one of the brokers near {client}, and {source} is none.",
            )  # fmt: skip
        return self._gain_at(client, source, target)

    def _gain_at(self, client: int, source: int, target: int) -> Gain | None:
        stay, go = self._shared(client, source), self._shared(client, target)
        if go > stay:
            return Gain(
                "topics_shared", stay, go,
                f"{{target}} wants {go} of the topics of {{client}} for other clients too, "
                f"{{source}} {stay} when others have moved.",
            )  # fmt: skip
        would_have = int(self._hosted[source]) + 1
        if would_have > self._caps[source]:
            has = int(self._hosted[target])
            return Gain(
                "clients", would_have, has,
                f"{{source}} would have {counted(would_have, 'client')} with {{client}}, where "
                f"{self._caps[source]} are a fair share; {{target}} has {has}.",
            )  # fmt: skip
        return self._gain_of_load(client, source, target, go - stay)

    def _gain_of_load(self, client: int, source: int, target: int, topics: int) -> Gain | None:
        """What a broker with fewer subscriptions is worth by the rule, where topics do not tell."""
        own = len(self._clients.interests.of(client))
        would_carry, carries = int(self._loads[source]) + own, int(self._loads[target])
        price = self._rules.load_weight / max(int(self._loads.sum()), 1)
        gain = topics / max(own, 1) + price * (would_carry - carries)
        is_bounded = self._placement == "similarity-bounded"
        least = self._rules.gain_min - ROUNDING if is_bounded else 0.0
        if gain <= 0.0 or gain < least:
            return None
        return Gain(
            "subscriptions", would_carry, carries,
            f"Clients of {{source}} would have {counted(would_carry, 'subscription')} with "
            f"{{client}}, those of {{target}} have {carries}.",
        )  # fmt: skip

    def _is_out_of_cluster(self, client: int, broker: int) -> bool:
        local = self._clients.local_brokers
        return local is not None and self._clusters[local[client]] != self._clusters[broker]

    def _shared(self, client: int, broker: int) -> int:
        """Topics of a client that a broker wants for another one."""
        own = int(self._brokers[client] == broker)
        wanted = self._counts[broker, self._clients.interests.of(client)]
        return int(np.count_nonzero(wanted > own))

    def _send_back(self, client: int) -> None:
        source, target = int(self._came_from[client]), int(self._brokers[client])
        topics = self._clients.interests.of(client)
        for broker, step in ((target, -1), (source, 1)):
            self._counts[broker, topics] += step
            self._loads[broker] += step * len(topics)
            self._hosted[broker] += step
        self._brokers[client] = source


def move_step(involved: tuple[str, str, str], gain: Gain, placement: str) -> Step:
    """The step of a client's move. involved: client, source and target, by name."""
    client, source, target = involved
    return Step(
        action="move_client",
        brokers=involved,
        why=gain.why.format(client=client, source=source, target=target),
        algorithm=placement,
        metric=gain.metric,
        before=float(gain.before),
        after=float(gain.after),
    )
