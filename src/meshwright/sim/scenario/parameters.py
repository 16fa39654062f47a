"""What is simulated: one struct that a seed turns into one run."""

from __future__ import annotations

import msgspec

from meshwright.errors import ProblemError
from meshwright.model.adaptation import AdaptationOptions, StatedCosts
from meshwright.model.designs import check_adaptable, design
from meshwright.protocol.mobility.policies import parse_policies
from meshwright.sim.scenario.faults import FAULTS


class SimulationParameters(msgspec.Struct, frozen=True, kw_only=True):
    """A network, its traffic and what goes wrong.

    publications_per_s, changes_per_s (subscribe or unsubscribe), moves_per_s and doubles_per_s (a
    client connects elsewhere while its line still stands) are of the whole network. qos_weights: of
    QoS 0, 1 and 2, for publications and subscriptions alike. Shares are of the filters,
    persistent_share of the clients. mobility names how a moving client's session follows it,
    policies joined by '+'; None if clients do not move. roams: whether a client whose broker stays
    down goes to another one. adapts: whether brokers fit their tree to the traffic by themselves.
    adaptation, costs: how they do it, and what links and brokers cost.
    gathers: whether they send clients to where others want the same. tight: whether brokers have
    room for so little that bounds are met. forgets: whether they forget within seconds what is not
    used any more. will_share: of the clients that have a will, and die now and then. ordered:
    whether topics of the first areas have one order, and clients publish several messages in a row.
    settle_max_s: how long a run may take to come to rest; what is kept for a broker that is gone
    may keep clients of MQTT 3 from publishing until it is removed and a minute has passed.
    """

    design: str
    brokers: int = 8
    clients: int = 24
    duration_s: float = 10.0
    faults: tuple[str, ...] = ()
    reconfigure: bool = False
    adapts: bool = False
    adaptation: AdaptationOptions = AdaptationOptions()
    costs: StatedCosts = StatedCosts()
    gathers: bool = False
    mobility: str | None = None
    k: int | None = None
    topics: int = 12
    filters_per_client: int = 3
    publications_per_s: float = 20.0
    changes_per_s: float = 1.0
    moves_per_s: float = 1.0
    doubles_per_s: float = 0.0
    qos_weights: tuple[float, float, float] = (0.2, 0.4, 0.4)
    wildcard_share: float = 0.15
    content_share: float = 0.1
    shared_share: float = 0.0
    retained_share: float = 0.0
    persistent_share: float = 0.75
    roams: bool = True
    tight: bool = False
    forgets: bool = False
    settle_max_s: float = 180.0
    will_share: float = 0.0
    ordered: bool = False

    @property
    def is_adapting(self) -> bool:
        """Whether brokers redraw their tree, as asked for here or as their design does."""
        return self.adapts or design(self.design).adaptation != "none"

    @property
    def is_gathering(self) -> bool:
        """Whether brokers place their clients, as asked for here or as their design does."""
        return self.gathers or design(self.design).placement != "none"

    @property
    def is_still(self) -> bool:
        """Whether nothing changes while publications flow, and brokers want topics by name."""
        changes = (
            self.faults, self.reconfigure, self.is_adapting, self.is_gathering, self.mobility,
            self.changes_per_s, self.doubles_per_s, self.will_share,
        )  # fmt: skip
        filters = (self.wildcard_share, self.content_share, self.shared_share)
        return not any((*changes, *filters))

    def __post_init__(self) -> None:
        design(self.design)
        if self.adapts:
            check_adaptable(self.design)
        counts = {"brokers": self.brokers, "clients": self.clients, "topics": self.topics}
        for name, count in counts.items():
            if count < 1:
                raise ProblemError(
                    f"A simulation of {count} {name} has no answer; ask for 1 or more."
                )
        self._check_numbers()
        if not 0 < self.duration_s < float("inf"):
            raise ProblemError(
                f"A run of {self.duration_s} s has no answer; ask for more than 0 s."
            )
        for fault in self.faults:
            if fault not in FAULTS:
                raise ProblemError(f"There is no fault {fault!r}; choose from {', '.join(FAULTS)}.")
        if self.mobility is not None:
            parse_policies(self.mobility)

    def _check_numbers(self) -> None:
        """Refuse rates and shares that mean nothing."""
        for name in (
            "publications_per_s", "changes_per_s", "moves_per_s", "doubles_per_s", "settle_max_s"
        ):  # fmt: skip
            if not 0 <= getattr(self, name) < float("inf"):
                raise ProblemError(f"{name} = {getattr(self, name)} has no answer; take 0 or more.")
        for name in (
            "wildcard_share", "content_share", "shared_share", "retained_share", "persistent_share",
            "will_share",
        ):  # fmt: skip
            if not 0 <= getattr(self, name) <= 1:
                raise ProblemError(f"{name} = {getattr(self, name)} is no share; take 0 to 1.")
        weights = self.qos_weights
        if not (all(0 <= one < float("inf") for one in weights) and sum(weights) > 0):
            raise ProblemError(f"qos_weights = {weights} cannot be drawn from; take some above 0.")
        if self.filters_per_client < 0:
            raise ProblemError("A client cannot have fewer than 0 filters; take 0 or more.")
