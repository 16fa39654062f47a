"""A manager as commands see it: the other end of its HTTP service."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.decoding import decoded
from meshwright.files.tokens import read_token
from meshwright.live.operating.control_client import PlanBegun
from meshwright.manager.circle.status import Status
from meshwright.manager.deciding.planner import PlanRequest
from meshwright.manager.orders.execution import Action, Tell
from meshwright.manager.orders.saved_plans import UNDER_WAY, PlanEntry, PlanState, SavedPlan
from meshwright.manager.views.figures import Figures
from meshwright.manager.views.network_state import NetworkState, TopicPage
from meshwright.manager.views.paths import PathView
from meshwright.manager.views.reports import ReportEntry
from meshwright.manager.views.whereabouts import ClientPage
from meshwright.planning.changes.differences import PlanDifference

TIMEOUT_S = 30.0
LOOK_EVERY_S = 0.3

T = TypeVar("T")


class RestDesk:
    """Asks the manager at an address; raises OperatorError with its own sentence if it refuses."""

    def __init__(self, url: str, token_file: Path | None, *, token: str = "") -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise OperatorError(f"{url!r} is no manager; write http://127.0.0.1:8090.")
        self._url = url
        self._host, self._port = parts.hostname, parts.port or 80
        token = token if token_file is None else read_token(token_file, 1)
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
        }

    def entries(self) -> tuple[PlanEntry, ...]:
        return self._ask("GET", "/plans", tuple[PlanEntry, ...])

    def plan(self, name: str) -> SavedPlan:
        return self._ask("GET", f"/plans/{quote(name, safe='')}", SavedPlan)

    def difference(self, first: str, second: str) -> PlanDifference:
        one, other = (quote(name, safe="") for name in (first, second))
        return self._ask("GET", f"/plans/{one}/diff/{other}", PlanDifference)

    def status(self) -> Status:
        """What the manager does and waits for."""
        return self._ask("GET", "/status", Status)

    def network(self) -> NetworkState:
        """Brokers, and what is in force."""
        return self._ask("GET", "/network", NetworkState)

    def figures(self, since_us: int = 0) -> Figures:
        """The last hour, or what of it is later than a time."""
        return self._ask("GET", _asked("/figures", since_us=since_us), Figures)

    def clients(self, search: str = "", broker: str | None = None, limit: int = 100) -> ClientPage:
        """Clients by a part of their name or of what they want, and by broker."""
        path = _asked("/clients", search=search, broker=broker, limit=limit)
        return self._ask("GET", path, ClientPage)

    def topics(self, search: str = "", broker: str | None = None, limit: int = 100) -> TopicPage:
        """Filters that clients want."""
        path = _asked("/topics", search=search, broker=broker, limit=limit)
        return self._ask("GET", path, TopicPage)

    def path(self, topic: str, source: str, plan: str | None = None) -> PathView:
        """The way of a message, now or with a plan."""
        return self._ask("GET", _asked("/path", topic=topic, source=source, plan=plan), PathView)

    def reports(self) -> tuple[ReportEntry, ...]:
        """Reports in the manager's folder."""
        return self._ask("GET", "/reports", tuple[ReportEntry, ...])

    def report(self, name: str) -> str:
        """One of them, a page in HTML."""
        status, content = self._answered("GET", f"/reports/{quote(name, safe='')}")
        if status >= http.client.BAD_REQUEST:
            raise OperatorError(self._reason(status, content))
        return content.decode()

    def begin(self, action: Action, name: str) -> SavedPlan:
        """Have a plan applied or undone, and do not wait for that."""
        return self._ask("POST", f"/plans/{quote(name, safe='')}/{action}", SavedPlan, {})

    def make(self, request: PlanRequest, say: Callable[[str], None]) -> SavedPlan:
        """Have a plan made, and wait for it."""
        saved = self._ask("POST", "/plans", SavedPlan, request)
        while saved.state is PlanState.MAKING:
            say(saved.detail)
            time.sleep(LOOK_EVERY_S)
            saved = self.plan(saved.id)
        if saved.state is PlanState.FAILED:
            raise OperatorError(saved.detail)
        return saved

    def carry_out(self, action: Action, name: str, *, leader: str | None, tell: Tell) -> SavedPlan:
        path = f"/plans/{quote(name, safe='')}/{action}"
        saved = self._ask("POST", path, SavedPlan, {"leader": leader})
        while saved.state in UNDER_WAY:
            under_way = self.status().under_way
            if under_way is not None and under_way.sight is not None:
                tell(under_way.sight)
            time.sleep(LOOK_EVERY_S)
            saved = self.plan(name)
        if saved.outcome is None or saved.state is PlanState.REFUSED:
            raise OperatorError(saved.detail)
        return saved

    def abort(self) -> PlanBegun:
        return self._ask("POST", "/abort", PlanBegun)

    def _ask(self, method: str, path: str, kind: type[T], body: object = None) -> T:
        status, answer = self._answered(method, path, body)
        if status >= http.client.BAD_REQUEST:
            raise OperatorError(self._reason(status, answer))
        try:
            return decoded(answer, kind)
        except msgspec.MsgspecError:
            raise OperatorError(self._strange(status)) from None

    def _answered(self, method: str, path: str, body: object = None) -> tuple[int, bytes]:
        content = None if body is None else msgspec.json.encode(body)
        connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, content, self._headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise OperatorError(
                f"No manager answers at {self._url} ({error}); start one with meshwright manager."
            ) from error
        finally:
            connection.close()

    def _reason(self, status: int, answer: bytes) -> str:
        try:
            return decoded(answer, dict[str, str])["reason"]
        except (msgspec.MsgspecError, KeyError):
            return self._strange(status)

    def _strange(self, status: int) -> str:
        return f"{self._url} answers {status}, and not as a manager does; check the address."


def _asked(path: str, **options: str | int | None) -> str:
    return f"{path}?{urlencode({key: one for key, one in options.items() if one is not None})}"
