"""The dashboard as an application beside the manager's REST service, on the same address."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from fastapi import FastAPI
from nicegui import app, ui
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from meshwright.dashboard.door import HOME, Door, no_such_page
from meshwright.dashboard.frame import REFRESH_S, Frame, Refresh
from meshwright.dashboard.house import House
from meshwright.dashboard.pages import clients, compare, mobility, overlay, overview, plans
from meshwright.files.page_style import switched_colours
from meshwright.manager.rest.service import looking_key

# How long a page may take until it has its first content; brokers that hang are waited for.
FIRST_S = 30.0
ICON = "🕸"
UNKNOWN = 404

BROWSER = Path(__file__).parent / "browser"
SCRIPTS = ("keys.js", "age.js")
# What NiceGUI calls the page when it is dark.
DARK_BODY = "body.body--dark"
Build = Callable[[House, Frame], Refresh]


def with_dashboard(service: ASGIApp, url: str, token: bytes, token_file: Path) -> ASGIApp:
    """The service, and the dashboard for all that begins with its name; url: of the service."""
    house = House(url, token, looking_key(token), token_file)
    pages = FastAPI(openapi_url=None)
    _add_pages(house)
    ui.run_with(
        pages,
        mount_path=HOME,
        title="Meshwright",
        favicon=ICON,
        tailwind=False,
        binding_refresh_interval=None,
        show_welcome_message=False,
        reconnect_timeout=FIRST_S,
    )
    door = Door(pages, token, str(token_file))

    async def either(scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        is_page = path in ("", "/", HOME) or path.startswith(f"{HOME}/")
        await (door if is_page else service)(scope, receive, send)

    return either


def _add_pages(house: House) -> None:
    simple: dict[str, Build] = {
        "": overview.build,
        "overlay": overlay.build,
        "plans": plans.build_list,
        "clients": clients.build,
        "mobility": mobility.build,
        "compare": compare.build,
    }
    for name, build in simple.items():
        _add_page(house, name, build)

    @ui.page("/plans/{plan}", response_timeout=FIRST_S)
    async def one_plan(plan: str) -> None:
        await _show(house, "plans", lambda house, frame: plans.build_one(house, frame, plan))

    compare.add_report(house)

    @app.exception_handler(UNKNOWN)
    async def unknown(request: Request, _error: Exception) -> HTMLResponse:
        return HTMLResponse(no_such_page(request.url.path), UNKNOWN)


def _add_page(house: House, name: str, build: Build) -> None:
    @ui.page(f"/{name}", response_timeout=FIRST_S)
    async def page() -> None:
        await _show(house, name, build)


async def _show(house: House, name: str, build: Build) -> None:
    ui.add_head_html(_head())
    with Frame(house, name) as frame:
        refresh = frame.guarded(build(house, frame))
        await refresh()
        ui.timer(REFRESH_S, refresh, immediate=False)


@cache
def _head() -> str:
    style = (BROWSER / "style.css").read_text(encoding="utf-8")
    scripts = "".join((BROWSER / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return f"<style>{switched_colours(DARK_BODY)}{style}</style><script>{scripts}</script>"
