"""The manager's door: who has no token is turned away before anything of a request is read."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any, cast

import pytest

from meshwright.manager.circle.managing import Manager
from meshwright.manager.rest.service import looking_key, serve, service
from meshwright.manager.settings import ManagerSettings, RestSettings

TOKEN = b"sixteen letters and more"


class Nobody:
    """A manager that is not to be asked anything."""


def answered(method: str, path: str, manager: object = None, **headers: str) -> int:
    """The status of the answer to a request whose body never comes."""
    app = service(cast("Manager", cast("Any", manager or Nobody())), TOKEN)
    statuses: list[int] = []

    async def never() -> Any:
        raise AssertionError("the body is read")

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
    }  # fmt: skip
    asyncio.run(app(scope, never, send))
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
