"""What a network should look like: build, evaluate, compare, plan and draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from meshwright.lab.figures.overlay_picture import draw_overlay
from meshwright.lab.figures.saving import refuse_undrawable
from meshwright.model.arguments import Count, Seed, Weight
from meshwright.model.designs import NOW, compared_designs
from meshwright.model.evaluation import Evaluation
from meshwright.model.identifiers import BrokerName
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.price import PriceWeights
from meshwright.model.snapshot import Snapshot
from meshwright.planning.changes.network import Objective, PlanWish
from meshwright.planning.changes.proposal import Circumstances, propose
from meshwright.planning.designs import build_overlay
from meshwright.planning.evaluation.evaluate import evaluate as evaluated
from meshwright.planning.recommendation import Wish, candidate, in_order, judge, judged

DEFAULT_WEIGHTS = PriceWeights()


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """What compare finds.

    table: a row for each design, the best first, with its price, the parts of it, and why.
    recommended, overlay: the best design's name and overlay, None if none fits. reason: a sentence.
    """

    table: pd.DataFrame
    recommended: str | None
    reason: str
    overlay: Overlay | None


def build(design: str, network: Snapshot, *, k: int | None = None, seed: Seed = 0) -> Overlay:
    """The overlay of a design for a network, as `meshwright overlay build` makes it."""
    return build_overlay(design, network, k=k, rng=np.random.default_rng(seed))


def evaluate(overlay: Overlay, network: Snapshot, *, delay_weight: Weight = 1.0) -> Evaluation:
    """The metrics of an overlay in a network, as `meshwright overlay evaluate` counts them."""
    return evaluated(overlay, network, delay_weight=delay_weight)


def compare(
    network: Snapshot,
    designs: Sequence[str] | None = None,
    *,
    today: Overlay | None = None,
    k: int = 1,
    degree_max: Count | None = None,
    weights: PriceWeights = DEFAULT_WEIGHTS,
    seed: Seed = 0,
) -> Comparison:
    """Every design by the price of a publication, as `meshwright overlay compare` does for a seed.

    designs: their names, or all candidates; a full mesh and a star are beside them. today: the
    overlay that stands, a row of the table too; the change from it counts. degree_max: the links
    that a broker may have.
    """
    wish = Wish(k=k, weights=weights, degree_limit=degree_max)
    names = compared_designs(designs, len(network.brokers))
    found = [candidate(name, network, wish, seed=seed, today=today) for name in names]
    if today is not None:
        found.insert(0, judged(NOW, today, network, wish, today=today))
    judgement = judge(found, network, wish)
    best = judgement.best()
    rows = [
        {
            "design": each.name,
            "fits": each.told,
            "price": each.price,
            **each.parts.parts(),
            "degree_mean": found[at].evaluation.degree_mean,
            "degree_max": found[at].evaluation.degree_max,
            "why": each.sentence,
        }
        for at in in_order(judgement.verdicts)
        for each in [judgement.verdicts[at]]
    ]
    overlay = None if best is None else best.overlay
    return Comparison(pd.DataFrame(rows), judgement.chosen, judgement.reason, overlay)


def plan(
    network: Snapshot,
    design: str,
    *,
    today: Overlay | None = None,
    objective: Objective = "net",
    k: int | None = None,
    weights: PriceWeights = DEFAULT_WEIGHTS,
    seed: Seed = 0,
) -> Plan:
    """What to change to get from today's overlay to a better one of a design, step by step.

    today: left out, where the design begins. objective: "net" changes only what saves more than it
    takes, by the price of a publication; "cost" lowers the design's own cost whatever that takes.
    The plan's summary, price and steps say what it does and why; `told_worth` says whether it pays.
    """
    wish = PlanWish(design, objective, delay_weight=weights.delay, k=k, weights=weights)
    return propose(network, wish, Circumstances(source=today, seed=seed))


def draw(
    overlay: Overlay, file: str | Path, network: Snapshot | None = None, *, seed: Seed = 0
) -> Path:
    """A picture of an overlay, .svg or .png; a network colours its brokers by their topics."""
    path = Path(file)
    refuse_undrawable(path)
    counts = None
    if network is not None:
        topics = dict(zip(network.brokers, network.interests.counts().tolist(), strict=True))
        counts = np.array([topics.get(BrokerName(name), 0) for name in overlay.brokers], float)
    draw_overlay(overlay, path, topic_counts=counts, seed=seed)
    return path
