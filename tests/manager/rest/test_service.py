"""The manager's door: who has no token is turned away before anything of a request is read."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import pytest

from meshwright.manager.circle.managing import Manager
from meshwright.manager.deciding.planner import PlanRequest
from meshwright.manager.rest.service import looking_key, serve, service
from meshwright.manager.settings import ManagerSettings, RestSettings

TOKEN = b"sixteen letters and more"


class Nobody:
    """A manager that is not to be asked anything."""


def scope_of(method: str, path: str, headers: dict[str, str]) -> dict[str, Any]:
    """A request, as the service is handed it."""
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip


def answered(method: str, path: str, manager: object = None, **headers: str) -> int:
    """The status of the answer to a request whose body never comes."""
    app = service(cast("Manager", cast("Any", manager or Nobody())), TOKEN)
    statuses: list[int] = []

    async def never() -> Any:
        raise AssertionError("the body is read")

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    asyncio.run(app(scope_of(method, path, headers), never, send))
    return statuses[0]


def test_nothing_is_read_of_who_shows_no_token() -> None:
    assert answered("POST", "/plans") == 401
    assert answered("POST", "/plans", authorization="Bearer sixteen letters and mare") == 401
    assert answered("GET", "/status") == 401


def test_a_manager_begins_once_all_that_is_served_with_it_has_started(tmp_path: Path) -> None:
    """NiceGUI lists all objects of the process when it starts, which ends threads that run then."""
    happened: list[str] = []

    class Beginning:
        def begin(self) -> None:
            happened.append("the manager begins")
            signal.raise_signal(signal.SIGINT)

    def front(_service: object, *_: object) -> Any:
        async def app(_scope: Any, receive: Any, send: Any) -> None:
            await receive()
            happened.append("the front has started")
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})

        return app

    settings = ManagerSettings(folder=tmp_path, rest=RestSettings(listen="127.0.0.1:0"))
    with pytest.raises(KeyboardInterrupt):
        serve(cast("Manager", cast("Any", Beginning())), settings, print, front)
    assert happened == ["the front has started", "the manager begins"]


def test_who_has_the_looking_key_may_look_and_order_nothing() -> None:
    class Seen:
        def status(self) -> dict[str, str]:
            return {}

    shown = f"Bearer {looking_key(TOKEN).decode()}"
    assert answered("GET", "/status", Seen(), authorization=shown) == 200
    assert answered("POST", "/plans/p1/apply", authorization=shown) == 401
    assert answered("POST", "/abort", authorization=shown) == 401
    assert looking_key(TOKEN) not in (TOKEN, looking_key(TOKEN + b"x"))


def test_nothing_is_read_of_who_says_too_much() -> None:
    shown = f"Bearer {TOKEN.decode()}"
    told = {"authorization": shown, "content-length": "10000000"}
    assert answered("POST", "/plans", **told) == 413
    assert answered("POST", "/plans", **{**told, "content-length": "ten"}) == 413


class Answer(NamedTuple):
    status: int
    said: Any


class Ordered:
    """A manager that keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[object] = []

    def plan(self, name: str) -> str:
        return name

    def make(self, request: PlanRequest) -> str:
        self.asked.append(request)
        return "p1"

    def carry_out(self, action: str, name: str, leader: str | None) -> str:
        self.asked.append((action, name, leader))
        return name

    def abort(self) -> str:
        self.asked.append("abort")
        return "p1"

    def hold(self, *, is_held: bool) -> bool:
        self.asked.append(is_held)
        return is_held


def said(method: str, path: str, body: str, manager: object = None, **headers: str) -> Answer:
    """The answer to a request of somebody who has the token."""
    app = service(cast("Manager", cast("Any", manager or Ordered())), TOKEN)
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body.encode(), "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    shown = {"authorization": f"Bearer {TOKEN.decode()}", **headers}
    asyncio.run(app(scope_of(method, path, shown), receive, send))
    content = b"".join(one.get("body", b"") for one in sent[1:])
    return Answer(sent[0]["status"], msgspec.json.decode(content))


FORM = {"content-type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize("headers", [FORM, {}, {"content-type": "text/plain"}])
def test_a_body_is_read_as_json_whatever_it_is_called(headers: dict[str, str]) -> None:
    manager = Ordered()
    for path, body in (
        ("/plans", '{"early":true,"design":"gm3"}'),
        ("/plans/p1/apply", '{"leader":"b2"}'),
        ("/plans/p1/undo", '{"leader":"b1"}'),
        ("/abort", "{}"),
        ("/adaptation/hold", "{}"),
        ("/adaptation/release", "{}"),
    ):
        assert said("POST", path, body, manager, **headers).status < 300
    assert manager.asked == [
        PlanRequest(early=True, design="gm3"),
        ("apply", "p1", "b2"),
        ("undo", "p1", "b1"),
        "abort",
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("[1]", "The body is no JSON object, such as {}, with keys and values; see /docs."),
        ("{bad", "The body is no JSON (expecting property name enclosed in double quotes, byte 1)"),
        ('{"earli":true}', "There is no key 'earli'; did you mean 'early'? See /docs."),
        ('{"goals":{"kmin":2}}', "There is no key 'goals.kmin'; did you mean 'goals.k_min'?"),
        (
            '{"placement":"foo"}',
            "placement: invalid enum value 'foo'; choose 'none', 'static', 'location', 'similar",
        ),
        ('{"goals":{"prefer":["foo"]}}', "goals.prefer: invalid enum value 'foo'; choose 'cost',"),
        ('{"goals":7}', "goals: expected `object`, got `int`; see /docs."),
        ('{"k":0}', "k: input should be greater than or equal to 1; see /docs."),
    ],
)
def test_a_wish_that_is_not_understood_is_refused_with_what_was_meant(
    body: str, reason: str
) -> None:
    status, answer = said("POST", "/plans", body)
    assert status == 422
    assert answer["reason"].startswith(reason), answer


def test_what_cannot_be_asked_is_refused_in_one_sentence() -> None:
    status, answer = said("GET", "/plan", "")
    assert status == 404
    assert answer == {"reason": "There is no GET /plan; /docs has all that can be asked."}
    status, answer = said("GET", "/abort", "")
    assert status == 405
    reason = "There is no GET /abort, only POST of it; /docs has all that can be asked."
    assert answer == {"reason": reason}
