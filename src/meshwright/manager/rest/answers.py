"""What the manager answers, as OpenAPI describes it: the schemas of our own values."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI

from meshwright.live.operating.control_client import PlanBegun
from meshwright.manager.circle.status import Adaptation, Status
from meshwright.manager.orders.saved_plans import PlanEntry, SavedPlan
from meshwright.manager.views.figures import Figures
from meshwright.manager.views.network_state import NetworkState, TopicPage
from meshwright.manager.views.paths import PathView
from meshwright.manager.views.reports import ReportEntry
from meshwright.manager.views.whereabouts import ClientPage
from meshwright.planning.changes.differences import PlanDifference

KINDS = (
    Adaptation, ClientPage, Figures, NetworkState, PathView, PlanBegun, PlanDifference, PlanEntry,
    ReportEntry, SavedPlan, Status, TopicPage,
)  # fmt: skip
PLACE = "#/components/schemas/{name}"


def answers(kind: type, *, status: int = 200, is_list: bool = False) -> dict[str, Any]:
    """How a question is described that is answered with this kind of value, or many of them."""
    assert kind in KINDS
    one = {"$ref": PLACE.format(name=kind.__name__)}
    schema = {"type": "array", "items": one} if is_list else one
    content = {"application/json": {"schema": schema}}
    return {"responses": {status: {"description": "The answer.", "content": content}}}


class DescribedService(FastAPI):
    """An application whose OpenAPI document tells the fields of every answer."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            found = super().openapi()
            _, components = msgspec.json.schema_components(KINDS, ref_template=PLACE)
            found.setdefault("components", {}).setdefault("schemas", {}).update(components)
        assert self.openapi_schema is not None
        return self.openapi_schema
