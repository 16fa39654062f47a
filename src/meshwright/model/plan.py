"""A plan: from one overlay to another, in ordered steps that each say why."""

from __future__ import annotations

from typing import Literal

import msgspec

from meshwright.model.objections import Objections
from meshwright.model.overlay import Overlay
from meshwright.model.price import PARTS, TOLD, Price
from meshwright.model.wording import amount

PLAN_VERSION = 1


class Step(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change and its reason: `metric` went from `before` to `after` by `algorithm`.

    brokers names who is involved: the two that swap positions, the ends of the link, who comes or
    goes; where a client moves, the client, its broker and its next one.
    """

    action: Literal[
        "swap_positions", "add_link", "remove_link", "move_client", "add_broker", "remove_broker"
    ]
    brokers: tuple[str, ...]
    why: str
    algorithm: str
    metric: str
    before: float
    after: float


class ClientMove(msgspec.Struct, frozen=True, gc=False):
    """A client goes from one broker to another."""

    client: str
    source: str
    target: str

    def back(self) -> ClientMove:
        """The move that undoes this one."""
        return ClientMove(self.client, self.target, self.source)


class PlanCost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Predicted cost over the horizon; cost = external overhead + delay weight * delay.

    Where publishers have places and the method knows them, it has ways in to topics' roots besides.
    delay: in hops; where delays are known, a hop counts as its delay over that of the mean hop, and
    delay_ms is the mean of a delivery from publisher's to interested broker.
    missed: deliveries that the overlay does not make. newly_made: the part of `after` that comes
    with deliveries which are missed before, and so is no loss.
    """

    before: float
    after: float
    overhead_external_before: float
    overhead_external_after: float
    delay_before: float
    delay_after: float
    missed_before: float = 0.0
    missed_after: float = 0.0
    newly_made: float = 0.0
    delay_ms_before: float | None = None
    delay_ms_after: float | None = None


class PlanPrice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a publication costs before a plan and after it, the change included.

    publications: those of the horizon, which the change has to pay. newly_made: messages of the
    horizon that come with deliveries which are missed before, and so are no loss.
    """

    before: Price
    after: Price
    publications: float
    newly_made: float = 0.0

    @property
    def saved(self) -> float:
        """Messages that the plan saves in the horizon, less what the change takes."""
        return (self.before.total - self.after.total) * self.publications + self.newly_made

    @property
    def change(self) -> float:
        """What the change takes of that, by its weight."""
        return self.after.reconfiguration * self.publications


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What to change and what it is worth; "nothing better than now" is a plan with no steps.

    moved counts the brokers whose position or links change. against: what speaks against the plan,
    and price: what a publication costs before and after, if that was asked. net_benefit: what the
    plan saves by its price; without one, by the cost that its algorithm lowers.
    """

    source: Overlay = msgspec.field(name="from")
    target: Overlay = msgspec.field(name="to")
    steps: tuple[Step, ...]
    cost: PlanCost
    reconfiguration_cost: float
    net_benefit: float
    moved: int
    summary: str
    against: Objections | None = None
    price: PlanPrice | None = None
    version: int = PLAN_VERSION

    @property
    def is_at_a_loss(self) -> bool:
        """Whether the plan takes more than it saves, and makes no delivery that is missed today."""
        mends = self.cost.missed_after < self.cost.missed_before
        return bool(self.steps) and not mends and self.price is not None and self.price.saved < 0.0

    @property
    def is_first(self) -> bool:
        """Whether no link stands before it, so that there is nothing to compare with."""
        return not self.source.links and bool(self.target.links)

    def strangers(self) -> tuple[str, ...]:
        """Brokers of only one of the two overlays, unless a step says that they come or go."""
        told = {
            step.brokers[0]
            for step in self.steps
            if step.action in {"add_broker", "remove_broker"} and step.brokers
        }
        differing = set(self.source.brokers) ^ set(self.target.brokers)
        return tuple(sorted(differing - told))

    def client_moves(self) -> tuple[ClientMove, ...]:
        """Where clients go in the end, in the order in which they first move."""
        moves: dict[str, ClientMove] = {}
        for step in self.steps:
            if step.action == "move_client":
                client, source, target = step.brokers
                first = moves.get(client)
                moves[client] = ClientMove(client, first.source if first else source, target)
        return tuple(move for move in moves.values() if move.source != move.target)


def told_worth(plan: Plan) -> str:
    """In one sentence what a plan does to the price, or to its algorithm's cost if it has none."""
    price = plan.price
    if price is None:
        return (
            f"The change costs {amount(plan.reconfiguration_cost)} messages; the net benefit is "
            f"{amount(plan.net_benefit)}."
        )
    before, after = price.before.shown()["price"], price.after.shown()["price"]
    if plan.is_first:
        return f"Once it is built a publication costs {after}, what building takes included."
    if not plan.steps:
        return f"Nothing changes: a publication costs {before}."
    change = (
        f"The price of a publication goes from {before} to {after}, the change included; over "
        f"{amount(price.publications)} publications"
    )
    mends = plan.cost.missed_after < plan.cost.missed_before
    made = ", and deliveries that are missed today are made" if mends else ""
    others = " for the others" if mends else ""
    if plan.net_benefit > 0.0:
        return f"{change} that saves {amount(plan.net_benefit)} messages{others}{made}."
    if plan.net_benefit == 0.0:
        return f"{change} that saves nothing{others}{made}."
    loses = f"{change} that loses {amount(-plan.net_benefit)} messages{others}"
    if mends:
        return f"{loses}{made}."
    old, new = price.before.parts(), price.after.parts()
    dearest = max(PARTS, key=lambda part: new[part] - old[part])
    return f"{loses}, mostly for {TOLD[dearest]}: the plan is at a loss."
