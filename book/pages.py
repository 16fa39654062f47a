"""Every page that is made of the code, and what makes it."""

from __future__ import annotations

from collections.abc import Callable

from book.commands import commands_page
from book.decisions import decisions_page
from book.library import library_page
from book.metrics import metrics_page
from book.rest import rest_page
from book.settings import broker_settings_page, manager_settings_page

PAGES: dict[str, Callable[[], str]] = {
    "docs/API.md": library_page,
    "docs/decisions/README.md": decisions_page,
    "docs/reference/broker-settings.md": broker_settings_page,
    "docs/reference/commands.md": commands_page,
    "docs/reference/manager-settings.md": manager_settings_page,
    "docs/reference/metrics.md": metrics_page,
    "docs/reference/rest.md": rest_page,
}
