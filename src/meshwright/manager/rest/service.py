"""The manager over HTTP, with a token: plans, orders, the network, and what it waits for."""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import uvicorn
from fastapi import Body, Depends, FastAPI, HTTPException, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.types import ASGIApp

from meshwright import __version__
from meshwright.errors import MeshwrightError, OperatorError
from meshwright.files.decoding import converted
from meshwright.files.reading import is_absent
from meshwright.files.shapes import Misfit, misfit_of, unknown_key
from meshwright.files.tokens import read_token
from meshwright.files.writing import make_folder, write_whole
from meshwright.live.operating.control_client import PlanBegun
from meshwright.live.system.addresses import Address, parse_address
from meshwright.manager.circle.managing import Manager
from meshwright.manager.circle.status import Adaptation, Status
from meshwright.manager.deciding.planner import PlanRequest
from meshwright.manager.orders.execution import Action
from meshwright.manager.orders.saved_plans import PlanEntry, SavedPlan
from meshwright.manager.rest.answers import DescribedService, answers
from meshwright.manager.rest.reference import reference_page
from meshwright.manager.settings import ManagerSettings
from meshwright.manager.views.figures import Figures
from meshwright.manager.views.network_state import NetworkState, TopicPage
from meshwright.manager.views.paths import PathView
from meshwright.manager.views.reports import ReportEntry
from meshwright.manager.views.whereabouts import ClientPage
from meshwright.planning.changes.differences import PlanDifference

SHOWN_NAME = "token"
ACCEPTED, UNAUTHORIZED, UNKNOWN, NO_METHOD = 202, 401, 404, 405
CONFLICT, TOO_LONG, WRONG = 409, 413, 422
# What can be asked is no secret; the rest needs the token.
OPEN_TO_ALL = ("/docs", "/openapi.json")
# A wish for a plan has some hundred bytes, and names of brokers.
BODY_DIGITS_MAX = 6
NOBODY = (
    "The token is wrong or missing; give that of the manager with --token-file, or send "
    "Authorization: Bearer TOKEN."
)

REFUSAL = {
    "type": "object",
    "properties": {"reason": {"type": "string", "description": "One sentence."}},
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"description": said, "content": {"application/json": {"schema": REFUSAL}}}
    for status, said in (
        (UNAUTHORIZED, "The token is wrong or missing."),
        (UNKNOWN, "There is no such plan."),
        (CONFLICT, "The manager or the brokers will not, now."),
        (WRONG, "The body is not understood."),
    )
}

# Takes the service, its address, its token and where that is kept.
Front = Callable[[ASGIApp, str, bytes, Path], ASGIApp]

Leader = Annotated[str | None, Body(embed=True, description="The broker that leads the change.")]
Search = Annotated[str, Query(max_length=200, description="Only what has this text in it.")]
Only = Annotated[str | None, Query(description="Only of this broker.")]
Limit = Annotated[int, Query(ge=1, le=10_000, description="How many at most.")]


class _Led(msgspec.Struct):
    """What an order about a plan may have with it."""

    leader: str | None = None


def service(manager: Manager, token: bytes) -> FastAPI:
    """All questions and orders; orders need the token, and questions that or the looking key."""
    key = looking_key(token)
    app = DescribedService(
        title="Meshwright manager",
        version=__version__,
        description="Watches a network of MQTT brokers, plans better overlays, and applies them.",
        responses=REFUSALS,
        docs_url=None,
        redoc_url=None,
    )

    @app.middleware("http")
    async def admit(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
        """Turn away who is nobody or says too much, before a byte of the body is read."""
        shown = request.headers.get("authorization", "").removeprefix("Bearer ").strip().encode()
        is_known = hmac.compare_digest(shown, token)
        is_looking = request.method == "GET" and hmac.compare_digest(shown, key)
        if not (is_known or is_looking or request.url.path in OPEN_TO_ALL):
            return _answer({"reason": NOBODY}, UNAUTHORIZED)
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or len(length) > BODY_DIGITS_MAX:
            return _answer({"reason": "The body is too long; see /docs."}, TOO_LONG)
        _call_json(request)
        return await go_on(request)

    app.add_route("/docs", _shown_reference)
    app.add_exception_handler(MeshwrightError, _refused)
    app.add_exception_handler(AnyHTTPException, _turned_away)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    _add_plans(app, manager)
    _add_orders(app, manager)
    _add_sights(app, manager)
    _add_reports(app, manager)

    @app.get("/status", **answers(Status))
    def status() -> Response:
        """Telemetry, lease, policy, trust, and the plan under way."""
        return _answer(manager.status())

    return app


def _add_sights(app: FastAPI, manager: Manager) -> None:
    @app.get("/network", **answers(NetworkState))
    def network() -> Response:
        """Brokers with their epochs and loads, the overlay in force, and what its links carry."""
        return _answer(manager.watching.network())

    @app.get("/figures", **answers(Figures))
    def figures(
        since_us: Annotated[int, Query(ge=0, description="Of the last hour, what is later.")] = 0,
    ) -> Response:
        """What went on in the last hour, drops by reason, hand-overs by mode, and weak topics."""
        return _answer(manager.watching.figures(since_us))

    @app.get("/clients", **answers(ClientPage))
    def clients(search: Search = "", broker: Only = None, limit: Limit = 100) -> Response:
        """Where clients are, since when and why, what they want, and where they were before."""
        return _answer(manager.watching.clients(search, broker, limit))

    @app.get("/topics", **answers(TopicPage))
    def topics(search: Search = "", broker: Only = None, limit: Limit = 100) -> Response:
        """Which filters clients want, how many, and at which brokers; the most wanted first."""
        return _answer(manager.watching.topics(search, broker, limit))

    @app.get("/path", **answers(PathView))
    def path(
        topic: Annotated[str, Query(description="A topic name.")],
        source: Annotated[str, Query(description="The broker where a message is published.")],
        plan: Annotated[str | None, Query(description="As it would be with this plan.")] = None,
    ) -> Response:
        """Which brokers a message visits; with the overlay in force, or with that of a plan."""
        unknown = None if plan is None else _known(manager, plan)
        return unknown or _answer(manager.watching.path(topic, source, plan))


def _add_reports(app: FastAPI, manager: Manager) -> None:
    @app.get("/reports", **answers(ReportEntry, is_list=True))
    def reports() -> Response:
        """Reports that compare and lab run left in the manager's folder, the newest first."""
        return _answer(manager.watching.reports())

    @app.get("/reports/{name}")
    def report(name: str) -> Response:
        """One of them, as a page."""
        try:
            return HTMLResponse(manager.watching.report(name))
        except OperatorError as error:
            return _answer({"reason": str(error)}, UNKNOWN)


def _add_plans(app: FastAPI, manager: Manager) -> None:
    @app.get("/plans", **answers(PlanEntry, is_list=True))
    def plans() -> Response:
        """All plans, oldest first, without what they would change."""
        return _answer(manager.entries())

    @app.get("/plans/{name}", **answers(SavedPlan))
    def plan(name: str) -> Response:
        """One plan with its steps and reasons; while it is made, how far that is."""
        return _known(manager, name) or _answer(manager.plan(name))

    @app.get("/plans/{first}/diff/{second}", **answers(PlanDifference))
    def difference(first: str, second: str) -> Response:
        """What one plan has and the other has not."""
        unknown = _known(manager, first) or _known(manager, second)
        return unknown or _answer(manager.difference(first, second))

    strange = Depends(_refuse_misfit(PlanRequest))
    begun = answers(SavedPlan, status=ACCEPTED)

    @app.post("/plans", status_code=ACCEPTED, dependencies=[strange], **begun)
    def make(
        *,
        design: Annotated[str | None, Body(description="How brokers are joined.")] = None,
        objective: Annotated[
            Literal["net", "cost"] | None,
            Body(description="net: change what pays for itself; cost: whatever lowers the cost."),
        ] = None,
        placement: Annotated[str | None, Body(description="Move clients by this rule.")] = None,
        k: Annotated[
            int | None, Body(ge=1, description="Brokers that must die before a topic falls apart.")
        ] = None,
        method: Annotated[
            Literal["churn"] | None,
            Body(description="churn: change links only where brokers come, came and go."),
        ] = None,
        goals: Annotated[
            dict[str, Any] | None,
            Body(
                description="What the plan must keep, in place of the manager's own goals: k_min, "
                "clients_max, messages_per_s_max, degree_max; prefer: a list of what it is chosen "
                "by. A plan that breaks one is refused with the goal's name."
            ),
        ] = None,
        degree_max: Annotated[
            int | None, Body(ge=1, description="Links of one broker: the same as in goals.")
        ] = None,
        add_brokers: Annotated[tuple[str, ...], Body(description="What if these came?")] = (),
        remove_brokers: Annotated[tuple[str, ...], Body(description="What if these went?")] = (),
        early: Annotated[bool, Body(description="Of fewer windows than are needed.")] = False,
    ) -> Response:
        """Begin to make a plan for the network as it runs; ask for it by the id in the answer."""
        asked = {
            "design": design, "objective": objective, "placement": placement, "k": k,
            "method": method, "goals": goals or {}, "degree_max": degree_max, "early": early,
            "add_brokers": add_brokers, "remove_brokers": remove_brokers,
        }  # fmt: skip
        return _answer(manager.make(converted(asked, PlanRequest, strict=False)), ACCEPTED)


def _add_orders(app: FastAPI, manager: Manager) -> None:
    def carry_out(action: Action, name: str, leader: str | None) -> Response:
        unknown = _known(manager, name)
        return unknown or _answer(manager.carry_out(action, name, leader), ACCEPTED)

    strange = Depends(_refuse_misfit(_Led))
    begun = answers(SavedPlan, status=ACCEPTED)

    @app.post("/plans/{name}/apply", status_code=ACCEPTED, dependencies=[strange], **begun)
    def apply(name: str, leader: Leader = None) -> Response:
        """Begin to carry out a plan; ask for it by its id until it is no longer applying."""
        return carry_out("apply", name, leader)

    @app.post("/plans/{name}/undo", status_code=ACCEPTED, dependencies=[strange], **begun)
    def undo(name: str, leader: Leader = None) -> Response:
        """Begin to take back a plan that is in force."""
        return carry_out("undo", name, leader)

    @app.post("/abort", **answers(PlanBegun))
    def abort() -> Response:
        """End the plan under way, unless it is decided: then undo it."""
        return _answer(manager.abort())

    @app.post("/adaptation/hold", **answers(Adaptation))
    def hold() -> Response:
        """Have brokers that redraw their tree by themselves leave it as it is."""
        return _answer(manager.hold(is_held=True))

    @app.post("/adaptation/release", **answers(Adaptation))
    def release() -> Response:
        """Have them go on."""
        return _answer(manager.hold(is_held=False))


def _call_json(request: Request) -> None:
    """Have a body read as JSON, which it always is: curl -d, left to itself, calls it a form."""
    others = [pair for pair in request.scope["headers"] if pair[0] != b"content-type"]
    request.scope["headers"] = [*others, (b"content-type", b"application/json")]


def _refuse_misfit(kind: type[msgspec.Struct]) -> Callable[[Request], Awaitable[None]]:
    """What is not understood is refused, with what was probably meant.

    FastAPI would take no notice of a misspelt key, and what was meant by it would not be done.
    """

    async def refuse(request: Request) -> None:
        try:
            body = msgspec.json.decode(await request.body() or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise HTTPException(WRONG, f"The body is no JSON ({error}); see /docs.") from None
        if not isinstance(body, dict):
            raise HTTPException(
                WRONG, "The body is no JSON object, such as {}, with keys and values; see /docs."
            )
        given = {key: value for key, value in body.items() if value is not None}
        found = unknown_key(given, kind, what="key")
        if found is None:
            try:
                converted(given, kind, strict=False)
            except msgspec.ValidationError as error:
                found = misfit_of(error, kind)
        if found is not None:
            raise HTTPException(WRONG, _told(found))

    return refuse


def _told(found: Misfit) -> str:
    """A refusal in one sentence."""
    if found.remedy.startswith("did you mean"):
        return f"There{found.problem[5:]}; {found.remedy}? See /docs."
    return f"{found.problem}; {found.remedy or 'see /docs'}."


async def _shown_reference(request: Request) -> Response:
    app: FastAPI = request.app
    return HTMLResponse(reference_page(app.openapi(), str(request.base_url).rstrip("/")))


class _Server(uvicorn.Server):
    """Calls began once all that it serves has started.

    Not before: while NiceGUI starts it lists all objects of the process, and a tuple that another
    thread is about to build must not be in a list, or CPython ends that thread with a SystemError.
    """

    began: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.began()


def serve(
    manager: Manager,
    settings: ManagerSettings,
    say: Callable[[str], None],
    front: Front | None = None,
) -> None:
    """Have the manager begin, and answer until somebody stops the process.

    front: what else is to be seen there.
    """
    token = shown_token(settings)
    wanted = parse_address(settings.rest.listen)
    listening = _listening(wanted)
    bound = Address(*listening.getsockname()[:2])
    url, app = f"http://{bound}", service(manager, token)
    server = _Server(
        uvicorn.Config(
            app if front is None else front(app, url, token, token_path(settings)),
            log_config=None,
            access_log=False,
            lifespan="off" if front is None else "on",
        )
    )
    server.began = manager.begin
    say(f"The manager answers at {url}; {url}/docs says what it can be asked.")
    if front is not None:
        say(f"Look at the network: {looking_address(url, token)}")
    server.run(sockets=[listening])


def looking_key(token: bytes) -> bytes:
    """What whoever may look, and order nothing, shows in place of the token."""
    return hmac.new(token, b"meshwright: look", "sha256").hexdigest()[:32].encode()


def looking_address(url: str, token: bytes) -> str:
    """Where a browser is let in that is to look."""
    return f"{url}/dashboard?key={looking_key(token).decode()}"


def token_path(settings: ManagerSettings) -> Path:
    """Where the token is that everybody must show."""
    return settings.rest.token_file or settings.folder / SHOWN_NAME


def shown_token(settings: ManagerSettings) -> bytes:
    """The token that everybody must show; made once where the settings name no file."""
    path = token_path(settings)
    if settings.rest.token_file is None:
        make_folder(settings.folder, is_private=True)
        if is_absent(path):
            made = secrets.token_urlsafe(32).encode() + b"\n"
            write_whole({path: made}, is_private=True)
    return read_token(path).encode()


def _listening(wanted: Address) -> socket.socket:
    try:
        return socket.create_server(tuple(wanted))
    except OSError as error:
        raise OperatorError(
            f"Nothing can listen on {wanted} ({(error.strerror or str(error)).lower()}); choose "
            "another rest.listen, or stop what listens there."
        ) from error


def _known(manager: Manager, name: str) -> Response | None:
    """The refusal, if there is no such plan."""
    try:
        manager.plan(name)
    except OperatorError as error:
        return _answer({"reason": str(error)}, UNKNOWN)
    return None


def _answer(value: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _refused(_request: Request, error: Exception) -> Response:
    return _answer({"reason": str(error)}, CONFLICT)


async def _turned_away(request: Request, error: Any) -> Response:
    asked, headers = f"{request.method} {request.url.path}", error.headers or {}
    reason = error.detail
    if error.status_code == UNKNOWN:
        reason = f"There is no {asked}; /docs has all that can be asked."
    elif error.status_code == NO_METHOD:
        allowed = headers.get("Allow", "another method")
        reason = f"There is no {asked}, only {allowed} of it; /docs has all that can be asked."
    answer = _answer({"reason": reason}, error.status_code)
    answer.headers.update(headers)
    return answer


async def _misunderstood(_request: Request, error: Any) -> Response:
    found = error.errors()[0]
    what = found["msg"].lower()
    if found["type"] == "json_invalid":
        why, at = found["ctx"]["error"].lower(), found["loc"][-1]
        return _answer({"reason": f"The body is no JSON ({why}, byte {at}); see /docs."}, WRONG)
    place = ".".join(str(one) for one in found["loc"][1:])
    return _answer({"reason": f"{place or 'The body'}: {what}; see /docs."}, WRONG)
