"""plan.json: from one overlay to another, with reasons and what it is worth."""

from __future__ import annotations

from pathlib import Path

from meshwright.files.documents import Document, Place, document_bytes
from meshwright.files.overlays import blamed, check_overlay, check_standing, checked_overlay
from meshwright.files.writing import write_whole
from meshwright.model.overlay import OVERLAY_VERSION, Overlay
from meshwright.model.plan import PLAN_VERSION, Plan

VERSIONS: dict[Place, int] = {
    (): PLAN_VERSION,
    ("from",): OVERLAY_VERSION,
    ("to",): OVERLAY_VERSION,
}


def read_plan(path: str | Path) -> Plan:
    """The plan of a file, checked: both overlays hold, and join the same brokers but for steps."""
    return _checked_plan(Document(Path(path)))


def read_overlay_or_target(path: Path) -> Overlay:
    """The overlay of a file, or the one that the plan in the file leads to; a tree is one."""
    document = Document(path)
    is_plan = isinstance(document.raw, dict) and "to" in document.raw
    if not is_plan:
        return checked_overlay(document)
    found = _checked_plan(document).target
    with blamed(document, ("to",)):
        check_standing(found)
    return found


def write_plan(plan: Plan, path: str | Path) -> None:
    """The plan as a file, whole or not at all."""
    write_whole({Path(path): document_bytes(plan)})


def _checked_plan(document: Document) -> Plan:
    plan = document.decoded(Plan, VERSIONS)
    for side, overlay in (("from", plan.source), ("to", plan.target)):
        with blamed(document, (side,)):
            check_overlay(overlay)
    strangers = plan.strangers()
    if strangers:
        raise document.fault(
            ("to", "brokers"),
            f"broker {strangers[0]!r} is in only one of the plan's two overlays",
            "plan again from the overlay of all brokers",
        )
    _check_steps(document, plan)
    return plan


def _check_steps(document: Document, plan: Plan) -> None:
    """Brokers that steps name are known; who moves in a client's move may be a client."""
    known = {*plan.source.brokers, *plan.target.brokers}
    for index, step in enumerate(plan.steps):
        strangers = [name for name in step.brokers if name not in known]
        if strangers and step.action != "move_client":
            raise document.fault(
                ("steps", index, "brokers"),
                f"the step names an unknown broker {strangers[0]!r}",
                "name brokers of the plan's overlays",
            )
