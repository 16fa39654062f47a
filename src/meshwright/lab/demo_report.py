"""The page of a demonstration: before, predicted and measured, the overlays, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from meshwright.files.page_style import PAGE
from meshwright.lab.demo import Act, Prediction
from meshwright.lab.figures.before_after import Pair, Panel, pair_svg
from meshwright.lab.live_measures import Measures
from meshwright.manager.collecting.measuring import Traffic
from meshwright.model.designs import founded_as
from meshwright.model.overlay import Overlay
from meshwright.model.plan import Plan
from meshwright.model.snapshot import Float64Array
from meshwright.model.wording import counted

STEPS_SHOWN = 40
# Traffic that differs by no more is the same.
SAME_SHARE = 0.1
COST_IN_WORDS = (
    "What the planner weighs, and calls cost: messages to brokers that only relay, and the hops to "
    "those that want them, in an hour. Messages to brokers that want them are needed and are no "
    "part of it, so it may fall by more than all messages do."
)
STYLE = PAGE + (
    "body{max-width:70rem}th,td{padding:.3rem .8rem;text-align:right}"
    "th:first-child,td:first-child{text-align:left}.picture{max-width:66rem}li{margin:.2rem 0}"
)


@dataclass(frozen=True, slots=True)
class Story:
    """All that a demonstration found: the acts before and after, the plan and what it promised."""

    before: Act
    plan: Plan
    predicted: Prediction
    after: Act

    def rows(self) -> list[tuple[str, str, str, str]]:
        """What was, what was predicted and what came of it, in the same units."""
        acts = (self.before, self.after)
        delays = [
            (f"delay, {name}, ms", f"{self.before.delays_ms.get(name, 0):.1f}", "-",
             f"{self.after.delays_ms.get(name, 0):.1f}")
            for name in self.before.delays_ms
        ]  # fmt: skip
        parts = (self.before, self.predicted, self.after)
        changes = [f"{part.changes_per_minute:.0f}" for part in parts]
        relays_per_s = [act.measures.relayed / act.window.seconds for act in acts]
        deliveries_per_s = [act.measures.deliveries / act.window.seconds for act in acts]
        published_per_s = [act.publications_per_s for act in acts]
        fullest = [str(part.fullest) for part in parts]
        return [
            ("messages between brokers for a delivery", *self._means("messages_per_delivery")),
            ("relays for a delivery", *self._means("relays_per_delivery")),
            _by_second("publications", published_per_s),
            _by_second("deliveries", deliveries_per_s),
            _by_second("relays", relays_per_s),
            ("hops to a broker that wants it", *self._means("hops_mean")),
            *delays,
            ("clients at the fullest broker", fullest[0], fullest[1], fullest[2]),
            ("broker subscription changes a minute", changes[0], changes[1], changes[2]),
        ]

    def promise(self) -> str:
        """What the plan changes, and what the closed form expects of it, step by step."""
        return promise(self.plan, self.predicted)

    def outcome(self) -> str:
        """Whether it came so, in the same unit."""
        before, expected, after = (
            part.measures.messages_per_delivery
            for part in (self.before, self.predicted, self.after)
        )
        return (
            f"Measured: from {before:.3f} to {after:.3f} messages for a delivery, "
            f"{_share(before, after)}; {expected:.3f} was predicted."
        )

    def _means(self, name: str) -> tuple[str, str, str]:
        parts: tuple[Measures, ...] = (
            self.before.measures,
            self.predicted.measures,
            self.after.measures,
        )
        before, predicted, after = (f"{getattr(one, name):.3f}" for one in parts)
        return before, predicted, after


def _by_second(what: str, values: Sequence[float]) -> tuple[str, str, str, str]:
    return f"{what} a second", f"{values[0]:.1f}", "-", f"{values[1]:.1f}"


def other_traffic(act: Act, later: Act) -> list[str]:
    """That the traffic of two acts was not the same, if so."""
    before, after = act.publications_per_s, later.publications_per_s
    if abs(after - before) <= SAME_SHARE * before:
        return []
    told = (
        f"Clients published {before:.0f} times a second before and {after:.0f} after, as this "
        "machine was too busy for their pace. Compare what is counted for a delivery; delays, and "
        "what is counted by time, are not of the same traffic."
    )
    return [told]


def promise(plan: Plan, predicted: Prediction) -> str:
    """What a plan is to do to the messages that brokers send each other for a delivery.

    All of it in closed form of the same publications, so that nothing else is in the difference.
    """
    costs = [
        one.messages_per_delivery
        for one in (predicted.today, predicted.unmoved, predicted.measures)
    ]
    changed = f"{counted(plan.moved, 'broker')} get other places or links"
    moves = len(plan.client_moves())
    moved = f"{counted(moves, 'client')} to brokers where others want the same"
    return (
        f"The plan: {changed}, which is to take messages between brokers for a delivery from "
        f"{costs[0]:.3f} to {costs[1]:.3f}; and {moved}, which is to take them to {costs[2]:.3f}, "
        f"{_share(costs[0], costs[2])}."
    )


def _share(before: float, after: float) -> str:
    change = (after - before) / max(before, 1e-9)
    return f"{abs(change):.0%} {'fewer' if change <= 0 else 'more'}"


def demo_page(story: Story, title: str, told: Sequence[str], totals: Mapping[str, int]) -> bytes:
    """A page that needs nothing else: no script, no font, no picture from elsewhere."""
    plan = story.plan
    shown = plan.steps[:STEPS_SHOWN]
    more = len(plan.steps) - len(shown)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        *(f"<p>{escape(line)}</p>" for line in told),
        "<h2>Before, predicted, measured</h2>",
        _table(("", "before", "predicted", "measured"), story.rows()),
        "<h2>What clients saw</h2>",
        _table(tuple(totals), [tuple(f"{count:,}" for count in totals.values())]),
        "<h2>The overlay before and after</h2>",
        f"<div class='picture'>{pair_svg(_pair(story))}</div>",
        f"<h2>The plan</h2><p>{escape(COST_IN_WORDS)}</p><p>{escape(plan.summary)}</p><ol>",
        *(f"<li>{escape(step.why)}</li>" for step in shown),
        "</ol>",
        f"<p>and {counted(more, 'more step')}.</p>" if more > 0 else "",
        "</body></html>",
    ]
    return "\n".join(parts).encode("utf-8")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in headings)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"


def _pair(story: Story) -> Pair:
    return Pair(
        "messages a second that a broker got and did not want, as it counted them",
        _panel("Before", story.plan.source, story.before),
        _panel("After", story.plan.target, story.after),
    )


def _panel(title: str, overlay: Overlay, act: Act) -> Panel:
    cost = act.measures.messages_per_delivery
    caption = f"{founded_as(overlay)}; {cost:.2f} messages for a delivery"
    return Panel(title, caption, overlay, _relays(overlay, act.traffic, act.window.seconds))


def _relays(overlay: Overlay, traffic: Traffic, seconds: float) -> Float64Array:
    """Relayed messages a second: (broker,)."""
    counts = [traffic[name].relayed if name in traffic else 0 for name in overlay.brokers]
    return np.array(counts, dtype=np.float64) / seconds
