"""What the demonstration shows: what clients saw, live beside closed form, and every design."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meshwright.cli.console.screen import PlainTable, plain_table
from meshwright.history.judgement import totals
from meshwright.lab.live_measures import delays_ms

if TYPE_CHECKING:
    from rich.console import RenderableType

    from meshwright.lab.demo import DemoParameters, Lived
    from meshwright.lab.live_measures import Measures
    from meshwright.planning.replay_judgement import ReplayedCandidate, ReplayRecommendation

EXPLANATION = (
    "The brokers' telemetry replayed against every design, with clients where they were and with "
    "similar clients together:\nmessages for a publication, hops of delay, and the price of both, "
    "of management and of changes."
)
BESIDE = (
    "Hops are to other brokers that want a message; a live one takes what passes by on its way in, "
    "the closed form what comes down.\n"
)
PLACES = {"recorded": "as it was", "similarity-bounded": "together"}
PERCENTILES = {"p50": 50, "p99": 99}


def demo_document(
    parameters: DemoParameters,
    lived: Lived,
    candidates: list[ReplayedCandidate],
    recommendation: ReplayRecommendation,
    elapsed_s: float,
) -> dict[str, Any]:
    """All of it for a script."""
    return {
        "command": "demo",
        "seed": parameters.seed,
        "design": parameters.design,
        "brokers": parameters.brokers,
        "placement": parameters.placement,
        "clients": len(lived.history.connections),
        "hand_overs": lived.hand_overs,
        **totals(lived.history, lived.violations),
        "measured": {**_means(lived.measured), **_delays(lived)},
        "closed_form": _means(lived.due),
        "comparison": [
            {"placement": each.placement, "design": each.design, "price": verdict.price}
            for each, verdict in zip(candidates, recommendation.verdicts, strict=True)
        ],
        "recommended": {
            "placement": recommendation.placement,
            "design": recommendation.design,
            "reason": recommendation.reason,
        },
        "seconds": round(elapsed_s, 1),
    }


def demo_shown(
    parameters: DemoParameters,
    lived: Lived,
    candidates: list[ReplayedCandidate],
    recommendation: ReplayRecommendation,
) -> list[RenderableType]:
    """All of it on one screen."""
    counts = totals(lived.history, lived.violations)
    told = (
        f"{parameters.brokers} live brokers joined as {parameters.design}, "
        f"{len(lived.history.connections)} MQTT clients, {parameters.seconds:g} s of traffic"
    )
    if parameters.placement != "none":
        told += f", {lived.hand_overs} clients sent to where others want the same"
    return [
        told,
        plain_table(dict.fromkeys(counts, True), [[f"{count:,}" for count in counts.values()]]),
        _beside(lived),
        BESIDE,
        EXPLANATION,
        _designs(candidates, recommendation),
        f"Recommended: {recommendation.reason}",
    ]


def _means(measures: Measures) -> dict[str, float]:
    return {
        "messages_per_delivery": measures.messages_per_delivery,
        "relays_per_delivery": measures.relays_per_delivery,
        "delay_hops": measures.hops_mean,
    }


def _delays(lived: Lived) -> dict[str, float]:
    waits = delays_ms(lived.history)
    if not len(waits):
        return {}
    return {f"delay_ms_{name}": float(np.percentile(waits, q)) for name, q in PERCENTILES.items()}


def _beside(lived: Lived) -> PlainTable:
    """Measured live, and the closed form."""
    live, closed = lived.measured, lived.due
    delays = _delays(lived)
    rows = [
        ["deliveries to clients", f"{live.deliveries:,}", f"{closed.deliveries:,}"],
        ["messages between brokers", f"{live.messages:,}", f"{closed.messages:,}"],
        *(
            [name.replace("_", " "), f"{value:.3f}", f"{_means(closed)[name]:.3f}"]
            for name, value in _means(live).items()
        ),
        *([name.replace("_", " "), f"{value:.1f}", "-"] for name, value in delays.items()),
    ]
    return plain_table({"": False, "measured live": True, "closed form": True}, rows)


def _designs(
    candidates: list[ReplayedCandidate], recommendation: ReplayRecommendation
) -> PlainTable:
    """One line a design: with clients where they were, and where similar ones are."""
    lines: dict[str, list[str]] = {}
    for each, verdict in zip(candidates, recommendation.verdicts, strict=True):
        is_best = (each.placement, each.design) == (
            recommendation.placement,
            recommendation.design,
        )
        lines.setdefault(each.design, [each.design]).extend(
            (
                f"{each.notification_overhead:,.2f}",
                f"{each.delay_hops:.2f}",
                f"{verdict.price:,.1f}",
                "best" if is_best else "yes" if verdict.fits else "no",
            )
        )
    headings = {"\ndesign": False}
    for blank, place in enumerate(dict.fromkeys(PLACES[each.placement] for each in candidates)):
        # Headings must differ, also by what nobody sees.
        unseen = " " * (blank + 1)
        headings |= {
            f"{place}\nmessages": True,
            f"{unseen}\nhops": True,
            f"{unseen}\nprice": True,
            f"{unseen}\nfits": False,
        }
    return plain_table(headings, lines.values())
