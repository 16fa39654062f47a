"""Debian's Chromium without a window, as a person would use it; nothing is fetched for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
DESK, PHONE = (1280, 800), (390, 844)
WAIT_S = 60.0
TALLEST = 3_000


class Page:
    """A browser at some page of a dashboard; address: with the key that lets it in."""

    def __init__(self, driver: Chrome, address: str) -> None:
        self.driver = driver
        self._address = address
        self._size = DESK
        self.resize(DESK)
        driver.get(address)

    def open(self, page: str) -> None:
        self.driver.get(f"{self._address.split('?')[0]}/{page}")

    def resize(self, size: tuple[int, int]) -> None:
        self._size = size
        self._measure(*size)

    def theme(self, name: str) -> None:
        self.driver.add_cookie({"name": "meshwright_theme", "value": name, "path": "/"})

    def one(self, selector: str) -> WebElement:
        """The first that there is, once there is one."""
        return self.until(lambda: self.all(selector))[0]

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str = "main") -> str:
        return self.one(selector).text

    def until(self, holds: Callable[[], Any]) -> Any:
        wait = WebDriverWait(
            self.driver, WAIT_S, ignored_exceptions=[StaleElementReferenceException]
        )
        return wait.until(lambda _driver: holds())

    def until_said(self, text: str, selector: str = "main") -> None:
        self.until(lambda: text in self.text(selector))

    def click(self, selector: str) -> None:
        """Once it is there, can be seen, and nothing lies above it."""

        def clicked() -> bool:
            found = [one for one in self.all(selector) if one.is_displayed() and one.is_enabled()]
            if found:
                found[0].click()
            return bool(found)

        self.until(clicked)

    def keep(self, path: Path) -> None:
        """A picture of the whole page."""
        width, height = self._size
        whole = self.driver.execute_script("return document.documentElement.scrollHeight")
        self._measure(width, max(height, min(int(whole), TALLEST)))
        path.parent.mkdir(parents=True, exist_ok=True)
        assert self.driver.save_screenshot(str(path))
        self._measure(*self._size)

    def complaints(self) -> list[str]:
        """What the console of the browser says that it should not."""
        return [
            one["message"]
            for one in self.driver.get_log("browser")
            if one["level"] in {"SEVERE", "WARNING"}
        ]

    def _measure(self, width: int, height: int) -> None:
        self.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < DESK[0]},
        )


@contextmanager
def browsing(address: str) -> Iterator[Page]:
    """A new browser that knows nothing, at an address, until the block is left."""
    with TemporaryDirectory() as folder:
        options = ChromeOptions()
        for flag in (*FLAGS, f"--user-data-dir={folder}"):
            options.add_argument(flag)
        options.binary_location = executable("CHROMIUM", "chromium")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = Chrome(options, Service(executable("CHROMEDRIVER", "chromedriver")))
        try:
            yield Page(driver, address)
        finally:
            driver.quit()


def executable(variable: str, name: str) -> str:
    """Where a program is, unless the environment names another one."""
    found = shutil.which(os.environ.get(variable) or name)
    assert found, f"There is no {name} here; see make test-browser."
    return found
