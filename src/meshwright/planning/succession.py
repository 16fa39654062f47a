"""How the overlay of a design follows what brokers want, epoch by epoch [DYNATOPS, Alg. 3].

Designs that arrange brokers do so cost-driven: if the present cost is worth it, a plan is made, and
only a plan that pays is carried out. Topic-connected designs are linked anew or where interests
changed, an adapted tree goes on from the last one, and the others stay as they are. A plan is
judged by the paper's bound (eq. 11); what is charged is what the change really sends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from inspect import signature
from pkgutil import resolve_name

import msgspec
import numpy as np

from meshwright.model.designs import NOW, OCBR_DEGREE_MAX, design, joined_as
from meshwright.model.evaluation import Evaluation
from meshwright.model.interests import Int32Array
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Snapshot
from meshwright.planning.adaptation.plan import adapt
from meshwright.planning.adaptation.rounds import AdaptationRules
from meshwright.planning.adaptation.search import SearchRules
from meshwright.planning.adaptation.values import Traffic
from meshwright.planning.arrangement.break_even import break_even
from meshwright.planning.arrangement.change_messages import change_messages
from meshwright.planning.arrangement.methods import counts_ways_in
from meshwright.planning.arrangement.plan import arrange
from meshwright.planning.arrangement.reconfiguration import RECONFIGURABILITY_BETA
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate
from meshwright.planning.pricing import link_changes
from meshwright.planning.topic_connected.relinking import changed_brokers


class EpochRules(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of every epoch's overlay; beta is the share of the reconfigurability test.

    today: the overlay that stands before the first epoch, from which every design begins.
    """

    k: int = 1
    delay_weight: float = 1.0
    beta: float = RECONFIGURABILITY_BETA
    today: Overlay | None = None


@dataclass(frozen=True, slots=True)
class Successor:
    """The overlay of an epoch, the messages of the change to it, why, and what it is like.

    plan is None where a design does not plan. number: of the overlay in its chain, from 0.
    pays_from: publications of a topic, on average, from which on a move would have paid; None where
    one did, or none ever does.
    """

    overlay: Overlay
    reconfiguration_messages: float
    moved: int
    reason: str
    evaluation: Evaluation
    snapshot: Snapshot = field(compare=False)
    number: int = 0
    plan: Plan | None = None
    pays_from: float | None = None


def follow(
    name: str, former: Successor | None, snapshot: Snapshot, rules: EpochRules, *, seed: int
) -> Successor:
    """The overlay that comes after the former one, or the first of all.

    seed: of the whole chain. Searches draw anew for each overlay, links by chance are drawn once.
    The name NOW stands for what stands today, which stays.
    """
    today = rules.today
    if name == NOW and today is not None:
        return _successor(today, former, snapshot, rules, "What stands today stays.")
    is_begun = former is None and today is not None and today.design == joined_as(name)
    is_arranged = "arrangement" in design(name).given
    begin = today if is_begun and is_arranged else None
    found = _followed(name, former, begin, snapshot, rules, seed=seed)
    if former is not None or begin is not None:
        return found
    changes = link_changes(today, found.overlay)
    return replace(found, reconfiguration_messages=found.reconfiguration_messages + changes)


def plans_ways_in(name: str) -> bool:
    """Whether a design's plans look at where publications enter."""
    return name != NOW and counts_ways_in(str(design(name).given.get("arrangement", "")))


def _followed(
    name: str,
    former: Successor | None,
    begin: Overlay | None,
    snapshot: Snapshot,
    rules: EpochRules,
    *,
    seed: int,
) -> Successor:
    row = design(name)
    number = 0 if former is None else former.number + 1
    before = begin if former is None else former.overlay
    if "arrangement" in row.given:
        plan = _arranged(name, before, snapshot, rules, seed + number)
        sent = change_messages(plan.source, plan.target, snapshot).total
        found = _planned(plan, snapshot, rules, number, float(sent))
        if plan.moved or not snapshot.publications.any():
            return found
        pays_from = break_even(
            plan.target,
            snapshot,
            delay_weight=rules.delay_weight,
            beta=rules.beta,
            with_ways_in=plans_ways_in(name),
        )
        return replace(found, pays_from=pays_from)
    if row.adaptation != "none":
        plan = _adapted(name, before, snapshot, seed + number)
        return _planned(plan, snapshot, rules, number, plan.reconfiguration_cost)
    if before is None or row.forwarding == "topic_connected":
        overlay, reason = _linked(name, former, snapshot, rules, seed)
    else:
        overlay, reason = before, "This design never changes."
    return _successor(overlay, former, snapshot, rules, reason)


def _linked(
    name: str, former: Successor | None, snapshot: Snapshot, rules: EpochRules, seed: int
) -> tuple[Overlay, str]:
    """The overlay for the interests of an epoch, and why it is so."""
    row = design(name)
    if former is None or row.relink is None:
        k = rules.k if row.can_be_asked(rules.k) else None
        overlay = build_overlay(name, snapshot, k=k, rng=np.random.default_rng(seed))
        return overlay, "Linked for the interests of this epoch."
    relink: Callable[..., Int32Array] = resolve_name(row.relink)
    names = snapshot.brokers
    numbers: dict[str, int] = {broker: number for number, broker in enumerate(names)}
    links = np.array(
        [[numbers[one], numbers[other]] for one, other in former.overlay.links], dtype=np.int32
    ).reshape(-1, 2)
    changed = changed_brokers(former.snapshot, snapshot)
    taken = signature(relink).parameters
    params = {name: value for name, value in former.overlay.params.items() if name in taken}
    found = relink(links, snapshot.interests, changed, **params)
    if found is links:
        return former.overlay, "Every topic still holds together."
    linked = tuple((names[one], names[other]) for one, other in found.tolist())
    overlay = msgspec.structs.replace(former.overlay, links=linked)
    return overlay, f"Linked anew where interests changed, at {len(changed)} brokers."


def _arranged(
    name: str, former: Overlay | None, snapshot: Snapshot, rules: EpochRules, seed: int
) -> Plan:
    """The plan of a method if it pays, else one in which everybody stays."""
    return arrange(
        snapshot,
        name,
        str(design(name).given["arrangement"]),
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


def _planned(
    plan: Plan, snapshot: Snapshot, rules: EpochRules, number: int, messages: float
) -> Successor:
    return Successor(
        plan.target,
        messages,
        plan.moved,
        plan.summary,
        evaluate(plan.target, snapshot, delay_weight=rules.delay_weight),
        snapshot,
        number,
        plan,
    )


def _successor(
    overlay: Overlay, former: Successor | None, snapshot: Snapshot, rules: EpochRules, reason: str
) -> Successor:
    """A change of links costs a message for each that is made or cut [DYNATOPS, 1.7]."""
    changed = set() if former is None else set(overlay.links) ^ set(former.overlay.links)
    return Successor(
        overlay,
        float(len(changed)),
        len({name for link in changed for name in link}),
        reason,
        evaluate(overlay, snapshot, delay_weight=rules.delay_weight),
        snapshot,
        0 if former is None else former.number + 1,
    )
