"""What the demonstration shows: the plan and its reasons; before, predicted and measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright.cli.console.screen import PlainTable, plain_table
from meshwright.lab.demo_report import COST_IN_WORDS, Story
from meshwright.model.wording import counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from meshwright.lab.demo import DemoParameters
    from meshwright.manager.orders.execution import Outcome
    from meshwright.model.plan import Plan

REASONS_SHOWN = 6


def reasons(plan: Plan) -> list[str]:
    """The first of each kind of step with its reason, and how many more there are of it."""
    kinds: dict[str, list[str]] = {}
    for step in plan.steps:
        kinds.setdefault(step.action.replace("_", " "), []).append(step.why)
    each = max(1, REASONS_SHOWN // max(len(kinds), 1))
    lines = [f"  {COST_IN_WORDS}"] if any(step.metric == "cost" for step in plan.steps) else []
    for kind, whys in kinds.items():
        lines += [f"  {kind}: {why}" for why in whys[:each]]
        if len(whys) > each:
            lines.append(f"  ... and {counted(len(whys) - each, 'more step')} of this kind")
    return lines


def story_document(
    parameters: DemoParameters,
    story: Story,
    outcome: Outcome,
    totals: dict[str, int],
    blocked_ms: tuple[float, float],
) -> dict[str, Any]:
    """All of it for a script. blocked_ms: the longest wait before the change, and during it."""
    return {
        "command": "demo",
        "seed": parameters.seed,
        "design": parameters.design,
        "brokers": parameters.brokers,
        "clients": parameters.clients,
        **totals,
        "cost_before": story.before.measures.messages_per_delivery,
        "cost_predicted": story.predicted.measures.messages_per_delivery,
        "cost_measured": story.after.measures.messages_per_delivery,
        "blocked_ms_before": blocked_ms[0],
        "blocked_ms": blocked_ms[1],
        "rows": [
            dict(zip(("what", "before", "predicted", "measured"), row, strict=True))
            for row in story.rows()
        ],
        "steps": len(story.plan.steps),
        "moved_clients": outcome.moved,
        "staying_clients": outcome.staying,
        "switch_s": outcome.elapsed_s,
    }


def story_shown(
    parameters: DemoParameters,
    story: Story,
    told: list[str],
    totals: dict[str, int],
) -> list[RenderableType]:
    """All of it on one screen."""
    who = f"{parameters.brokers} live brokers joined as {parameters.design}"
    return [
        f"{who}, {parameters.clients} MQTT clients",
        *told,
        beside(story),
        plain_table(dict.fromkeys(totals, True), [[f"{count:,}" for count in totals.values()]]),
    ]


def beside(story: Story) -> PlainTable:
    """What was, what was predicted, and what came of it."""
    columns = {"": False, "before": True, "predicted": True, "measured": True}
    return plain_table(columns, story.rows())
