"""The frame around every page: where one can go, the theme, who may order, and troubles."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Self

from nicegui import ui

from meshwright.dashboard.components import anchor, place, set_text
from meshwright.dashboard.door import COOKIE
from meshwright.dashboard.house import House
from meshwright.errors import OperatorError
from meshwright.files.page_style import LIGHT

PAGES = (
    ("", "Overview"),
    ("overlay", "Overlay"),
    ("plans", "Plans"),
    ("clients", "Clients"),
    ("mobility", "Mobility"),
    ("compare", "Compare"),
)
THEME = "meshwright_theme"
THEMES = ("auto", "light", "dark")
REFRESH_S = 2.0
# By age.js the page says how old its figures are once this is said no more.
RENEWED = "renewed()"

Refresh = Callable[[], Awaitable[None]]


class Frame:
    """A page being built; use it as the block in which its content is made."""

    def __init__(self, house: House, page: str) -> None:
        self._house = house
        request = ui.context.client.request
        self.visit = request.cookies.get(COOKIE, "")
        self._theme = request.cookies.get(THEME, "auto")
        self._dark = ui.dark_mode(_is_dark(self._theme))
        ui.colors(primary=LIGHT["accent"])
        self._has_shown = False
        self._when_allowed: list[Callable[[], None]] = []
        self._bar(page)
        with ui.element("main").classes("mw-page").props("id=content") as self._main:
            self._trouble = ui.label().classes("mw-trouble").props("role=alert")
            self._trouble.set_visibility(False)

    def __enter__(self) -> Self:
        self._main.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._main.__exit__()

    @property
    def may_order(self) -> bool:
        """Whether this browser has shown the token."""
        return self._house.may_order(self.visit)

    def when_allowed(self, changed: Callable[[], None]) -> None:
        """Have something called when orders are allowed, or are no more."""
        self._when_allowed.append(changed)

    def say_trouble(self, text: str) -> None:
        """Say above the page why it is not as it should be; "" if it is."""
        set_text(self._trouble, text)
        self._trouble.set_visibility(bool(text))

    def guarded(self, refresh: Refresh) -> Refresh:
        """The same, but what the manager refuses is said above the page, which stays as it was."""

        async def safely() -> None:
            try:
                await refresh()
            except OperatorError as error:
                old = "What is shown may be old: " if self._has_shown else ""
                self.say_trouble(f"{old}{error}")
            else:
                self._has_shown = True
                self.say_trouble("")
                ui.run_javascript(RENEWED)

        return safely

    def _bar(self, page: str) -> None:
        anchor("Skip to the page", "#content").classes("mw-skip")
        with ui.element("header").classes("mw-bar"):
            anchor("Meshwright", place("")).classes("mw-brand")
            with ui.element("nav").classes("mw-nav").props("aria-label=Pages"):
                for name, title in PAGES:
                    one = anchor(title, place(name))
                    if name == page:
                        one.props("aria-current=page")
            with ui.element("div").classes("mw-tools"):
                self._orders_button()
                self._theme_button()

    def _orders_button(self) -> None:
        button = ui.button(color=None).props("flat dense no-caps").classes("mw-orders")
        button.on_click(lambda: self._ask_token(button))
        self._show_orders(button)

    def _show_orders(self, button: ui.button) -> None:
        button.set_text("Orders allowed" if self.may_order else "Read only")
        button.classes(**({"add": "mw-open"} if self.may_order else {"remove": "mw-open"}))
        button.props(f"icon={'lock_open' if self.may_order else 'lock'}")
        for changed in self._when_allowed:
            changed()

    def _ask_token(self, button: ui.button) -> None:
        if self.may_order:
            self._house.forbid(self.visit)
            self._show_orders(button)
            ui.notify("This page only looks again.")
            return
        with ui.dialog(value=True) as dialog, ui.card():
            ui.label("Allow this browser to apply, abort and undo plans").classes("text-bold")
            field = ui.input("The manager's token", password=True).props("autofocus outlined")
            field.classes("mw-token").style("width: 100%")

            def allow() -> None:
                if not self._house.allow(self.visit, field.value or ""):
                    ui.notify(f"The token is wrong; it is in {self._house.token_file}.")
                    return
                dialog.close()
                self._show_orders(button)

            field.on("keydown.enter", allow)
            with ui.row():
                ui.button("Allow", on_click=allow).props("no-caps").classes("mw-allow")
                ui.button("Cancel", on_click=dialog.close).props("flat no-caps")

    def _theme_button(self) -> None:
        button = ui.button(self._theme.capitalize(), color=None)
        button.on_click(lambda: self._next_theme(button))
        button.props("flat dense no-caps icon=contrast aria-label='Theme'").classes("mw-theme")

    def _next_theme(self, button: ui.button) -> None:
        known = self._theme if self._theme in THEMES else "auto"
        self._theme = THEMES[(THEMES.index(known) + 1) % len(THEMES)]
        self._dark.value = _is_dark(self._theme)
        button.set_text(self._theme.capitalize())
        ui.run_javascript(
            f"document.cookie = '{THEME}={self._theme}; path=/; max-age=31536000; samesite=lax'"
        )


def _is_dark(theme: str) -> bool | None:
    return {"dark": True, "light": False}.get(theme)
