"""Who may look: whoever brings the looking key in the address, or shows the token once.

A browser keeps a cookie with that key and a number of its own, and may look with it. Orders need
the token itself, which a page asks for; it is kept here, by that number, until the manager ends.
"""

from __future__ import annotations

import hmac
import secrets
from html import escape
from urllib.parse import parse_qs, urlencode

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from meshwright.files.page_style import PAGE
from meshwright.manager.rest.service import looking_key

HOME = "/dashboard"
ENTER = f"{HOME}/enter"
COOKIE = "meshwright"
UNAUTHORIZED = 401
SHOWN_BYTES_MAX = 4_096
WRONG = "The token is wrong."

STYLE = PAGE + (
    "body{max-width:34rem;margin:14vh auto}input,button{font:inherit;padding:.45rem .6rem}"
    "input{width:100%;box-sizing:border-box;margin:.4rem 0 .8rem}p.bad{color:var(--bad)}"
)


class Door:
    """Stands before all pages, what they are made of, and the line over which they are updated."""

    def __init__(self, app: ASGIApp, token: bytes, token_file: str) -> None:
        self._app = app
        self._token = token
        self._key = looking_key(token)
        self._token_file = token_file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        answer = await self._answer(scope, receive)
        if answer is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response | None:
        """What to say in place of the page; None if it may be seen."""
        asked = HTTPConnection(scope)
        path = asked.url.path
        if scope["type"] == "http" and path == ENTER and scope["method"] == "POST":
            return await self._entered(Request(scope, receive))
        key = asked.query_params.get("key")
        if key is not None and self._is_right(key):
            return self._let_in(_wanted(asked))
        if not self._is_right(asked.cookies.get(COOKIE, "").partition(".")[0]):
            return self._login("" if key is None else "This key is wrong.", _wanted(asked))
        return RedirectResponse(f"{HOME}/") if path in ("/", HOME) else None

    async def _entered(self, request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > SHOWN_BYTES_MAX:
                return self._login("That is too long for a token.", HOME)
        fields = parse_qs(body.decode("utf-8", "replace"))
        shown, page = (fields.get(name, [""])[0].strip() for name in ("token", "page"))
        wanted = page if page.startswith(f"{HOME}/") else HOME
        return self._let_in(wanted) if self._is_right(shown) else self._login(WRONG, wanted)

    def _is_right(self, shown: str) -> bool:
        given = shown.encode("utf-8", "replace")
        return hmac.compare_digest(given, self._key) or hmac.compare_digest(given, self._token)

    def _let_in(self, path: str) -> Response:
        answer = RedirectResponse(f"{path.rstrip('/')}/" if path == HOME else path, 303)
        kept = f"{self._key.decode()}.{secrets.token_hex(16)}"
        answer.set_cookie(COOKIE, kept, httponly=True, samesite="lax", path="/")
        return answer

    def _login(self, trouble: str, wanted: str) -> Response:
        """Ask for the token; wanted: the page that is shown then."""
        told = f"<p class='bad' role='alert'>{escape(trouble)}</p>" if trouble else ""
        return HTMLResponse(
            _page(
                f"{told}<form method='post' action='{ENTER}'>"
                f"<input type='hidden' name='page' value='{escape(wanted)}'>"
                "<label for='token'>The manager's token, to look at its network:</label>"
                "<input id='token' name='token' type='password' autofocus required>"
                "<button>Look</button></form><p>It is in "
                f"<code>{escape(self._token_file)}</code> on the manager's machine. What the "
                "manager said when it started has a link that needs no token.</p>"
            ),
            UNAUTHORIZED,
        )


def no_such_page(path: str) -> str:
    """What is said in place of a page that there is not."""
    return _page(
        f"<p>There is no page <code>{escape(path)}</code> here.</p>"
        f"<p><a href='{HOME}/'>To the overview of the network</a></p>"
    )


def _page(body: str) -> str:
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width'><link rel='icon' href='data:,'>"
        f"<title>Meshwright</title><style>{STYLE}</style></head><body><h1>Meshwright</h1>"
        f"{body}</body></html>"
    )


def _wanted(asked: HTTPConnection) -> str:
    """The page that was asked for, without the key that lets in; the first if it was none."""
    path = asked.url.path
    if not path.startswith(f"{HOME}/"):
        return HOME
    query = [(name, value) for name, value in asked.query_params.multi_items() if name != "key"]
    return path + (f"?{urlencode(query)}" if query else "")
