"""What all pages share: what they read, and who may give orders."""

from __future__ import annotations

import asyncio
import hmac
from pathlib import Path

from meshwright.dashboard.watch import Watch
from meshwright.errors import OperatorError
from meshwright.live.operating.control_client import PlanBegun
from meshwright.manager.orders.execution import Action
from meshwright.manager.orders.saved_plans import SavedPlan
from meshwright.manager.rest.rest_client import RestDesk

# Browsers that may give orders at a time; the first of more must show the token again.
ALLOWED_MAX = 100
READ_ONLY = "This page only looks; allow orders first, with the manager's token."


class House:
    """url, token: of the manager, whose token is in the file.

    Visits are the numbers by which the door knows browsers.
    """

    def __init__(self, url: str, token: bytes, key: bytes, token_file: Path) -> None:
        self.token_file = token_file
        self.watch = Watch(url, key.decode())
        self._url = url
        self._token = token
        self._allowed: dict[str, RestDesk] = {}

    def allow(self, visit: str, token: str) -> bool:
        """Have a browser give orders if the token is right."""
        if not hmac.compare_digest(token.strip().encode("utf-8", "replace"), self._token):
            return False
        self._allowed[visit] = RestDesk(self._url, None, token=token.strip())
        while len(self._allowed) > ALLOWED_MAX:
            del self._allowed[next(iter(self._allowed))]
        return True

    def forbid(self, visit: str) -> None:
        """Have a browser only look."""
        self._allowed.pop(visit, None)

    def may_order(self, visit: str) -> bool:
        return visit in self._allowed

    async def begin(self, visit: str, action: Action, plan: str) -> SavedPlan:
        """Begin to apply or undo a plan."""
        return await asyncio.to_thread(self._desk(visit).begin, action, plan)

    async def abort(self, visit: str) -> PlanBegun:
        """End the plan under way."""
        return await asyncio.to_thread(self._desk(visit).abort)

    def _desk(self, visit: str) -> RestDesk:
        if visit not in self._allowed:
            raise OperatorError(READ_ONLY)
        return self._allowed[visit]
