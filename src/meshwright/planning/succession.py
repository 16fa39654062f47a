"""How the overlay of a design follows what brokers want, epoch by epoch [DYNATOPS, Alg. 3].

Designs that arrange brokers do so cost-driven: if the present cost is worth it, a plan is made, and
only a plan that pays is carried out. Topic-connected designs are linked anew, an adapted tree goes
on from the last one, and the others stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np

from meshwright.model.designs import OCBR_DEGREE_MAX, Design, design
from meshwright.model.evaluation import Evaluation
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.planning.adaptation.plan import adapt
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.planning.adaptation.search import SearchRules
from meshwright.planning.adaptation.values import Traffic
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.arrangement.reconfiguration import RECONFIGURABILITY_BETA
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate


class EpochRules(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of every epoch's overlay; beta is the share of the reconfigurability test."""

    k: int = 1
    delay_weight: float = 1.0
    beta: float = RECONFIGURABILITY_BETA


@dataclass(frozen=True, slots=True)
class Successor:
    """The overlay of an epoch, the price of the change to it, why, and what it is like.

    plan is None where a design does not plan.
    """

    overlay: Overlay
    reconfiguration_messages: float
    moved: int
    reason: str
    evaluation: Evaluation
    plan: Plan | None = None


def follow(
    name: str, former: Overlay | None, snapshot: Snapshot, rules: EpochRules, *, seed: int
) -> Successor:
    """The overlay that comes after the former one, or the first of all."""
    row = design(name)
    if "arrangement" in row.given:
        return _planned(_arranged(row, former, snapshot, rules, seed), snapshot, rules)
    if row.adaptation != "none":
        return _planned(_adapted(name, former, snapshot, seed), snapshot, rules)
    if former is not None and row.forwarding != "topic_connected":
        return _successor(former, former, snapshot, rules, "This design never changes.")
    k = rules.k if row.can_be_asked(rules.k) else None
    overlay = build_overlay(name, snapshot, k=k, rng=np.random.default_rng(seed))
    return _successor(overlay, former, snapshot, rules, "Linked for the interests of this epoch.")


def _arranged(
    row: Design, former: Overlay | None, snapshot: Snapshot, rules: EpochRules, seed: int
) -> Plan:
    """The plan of a method if it pays, else one in which everybody stays."""
    return arrange(
        snapshot,
        row.geometry,
        str(row.given["arrangement"]),
        delay_weight=rules.delay_weight,
        source=former,
        seed=seed,
        reconfigurability_beta=rules.beta,
        must_pay=True,
    )


def _adapted(name: str, former: Overlay | None, snapshot: Snapshot, seed: int) -> Plan:
    """The plan of the brokers' own rule, from a tree that nobody has adapted yet."""
    rng = np.random.default_rng(seed)
    if former is None:
        former = build_overlay(name, snapshot, rng=rng, adapted=False)
    messages = np.ceil(snapshot.publications).astype(np.int64)
    rules = AdaptationRules(search=SearchRules(degree_max=OCBR_DEGREE_MAX))
    return adapt(former, Traffic(snapshot.interests.transposed(), messages), rng, rules=rules)


def _planned(plan: Plan, snapshot: Snapshot, rules: EpochRules) -> Successor:
    return Successor(
        plan.target,
        plan.reconfiguration_cost,
        plan.moved,
        plan.summary,
        evaluate(plan.target, snapshot, delay_weight=rules.delay_weight),
        plan,
    )


def _successor(
    overlay: Overlay, former: Overlay | None, snapshot: Snapshot, rules: EpochRules, reason: str
) -> Successor:
    """A change of links costs a message for each that is made or cut [DYNATOPS, 1.7]."""
    changed = set() if former is None else set(overlay.links) ^ set(former.links)
    return Successor(
        overlay,
        float(len(changed)),
        len({name for link in changed for name in link}),
        reason,
        evaluate(overlay, snapshot, delay_weight=rules.delay_weight),
    )
