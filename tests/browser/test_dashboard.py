"""The dashboard in a real browser, over a network of real brokers.

Every test keeps what it saw as a picture in build/browser.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from chromium import DESK, PHONE, Page, browsing
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from watched_network import Network, watched_network

KEPT = Path(__file__).parents[2] / "build" / "browser"
PAGES = ("", "overlay", "plans", "plans/p1", "clients", "mobility", "compare")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with watched_network(tmp_path_factory.mktemp("watched") / "network") as found:
        yield found


@pytest.fixture
def page(network: Network) -> Iterator[Page]:
    with browsing(network.address) as found:
        yield found
        assert found.complaints() == []


def test_who_has_no_key_and_no_token_sees_nothing(network: Network) -> None:
    without = network.address.split("?")[0]
    for address in (without, f"{without}/plans", f"{without}?key=guessed"):
        assert httpx.get(address).status_code == 401
    with browsing(f"{without}/overlay?broker=broker2") as page:
        page.until_said("The manager's token", "body")
        page.one("#token").send_keys("wrong" + Keys.ENTER)
        page.until_said("The token is wrong.", "body")
        page.one("#token").send_keys(network.token + Keys.ENTER)
        page.until_said("Overlay", "h1")
        page.until_said("broker2\n", ".mw-split")


def test_brokers_appear_with_what_they_do_and_one_that_is_killed_is_seen(
    network: Network, page: Page
) -> None:
    page.until_said("4 brokers, joined as chord, serve 12 clients.")
    page.until_said("go out; each delivery costs")
    page.keep(KEPT / "overview.png")
    page.open("overlay")
    page.until(lambda: len(page.all(".mw-node")) == 4)
    page.until(lambda: page.all(".mw-link"))

    def is_seen() -> bool:
        network.kill("broker3")  # again and again, as it is started again
        return bool(page.all(".mw-node.dead[data-broker=broker3]"))

    page.until(is_seen)
    page.keep(KEPT / "lost.png")
    page.until(lambda: not page.all(".mw-node.dead"))
    page.open("")
    page.until_said("4 brokers, joined as chord")


def test_every_tab_leads_to_its_page(page: Page) -> None:
    titles = [tab.text for tab in page.all(".mw-nav a")]
    assert titles == ["Overview", "Overlay", "Plans", "Clients", "Mobility", "Compare"]
    for number, title in [*enumerate(titles, 1)][::-1]:
        page.click(f".mw-nav a:nth-child({number})")
        page.until_said(title, "h1")
    page.open("plans")
    page.click(".mw-brand")
    page.until_said("Overview", "h1")


def test_who_goes_by_keyboard_keeps_the_place_in_a_table_that_is_written_anew(page: Page) -> None:
    page.until_said("go out; each delivery costs")
    link = page.one("td a[href$='broker=broker2']")
    page.driver.execute_script(
        "arguments[0].closest('table').id = 'before'; arguments[0].focus()", link
    )
    page.until(lambda: not page.all("#before"))
    page.until(lambda: page.driver.switch_to.active_element.text == "broker2")


def test_a_topic_and_a_broker_are_picked_out(page: Page) -> None:
    page.open("overlay")
    page.one(".mw-search input").send_keys("news/1")
    page.until(lambda: page.all(".mw-hop.now"))
    page.until(lambda: page.all(".mw-node.wanted"))
    page.until_said("With p1")
    assert not page.all(".mw-node.quiet.wanted")
    page.one(".mw-graph svg").send_keys(Keys.ARROW_RIGHT + Keys.ENTER)
    page.until_said("broker1\n", ".mw-split")
    assert page.driver.current_url.endswith("/dashboard/overlay?broker=broker1")
    page.until_said("clients (3)", ".mw-split")
    page.keep(KEPT / "path.png")


def test_the_picked_broker_stays_picked_while_figures_go_on(network: Network, page: Page) -> None:
    page.open("overlay")
    page.until(lambda: len(page.all(".mw-node")) == 4)
    graph = page.one(".mw-graph svg")
    graph.send_keys(Keys.ARROW_LEFT)
    page.until(lambda: _picked(page) == ["broker4"])
    graph.send_keys(Keys.ARROW_RIGHT + Keys.ARROW_RIGHT)
    for _ in range(12):
        assert _picked(page) == ["broker2"]
        time.sleep(0.5)
    network.kill("broker3")
    page.until(lambda: page.all(".mw-node.dead"))
    assert _picked(page) == ["broker2"]
    page.until(lambda: not page.all(".mw-node.dead"))


def _picked(page: Page) -> list[str | None]:
    return [one.get_attribute("data-broker") for one in page.all(".mw-node.picked")]


def test_figures_that_nobody_renews_are_marked_with_their_age(network: Network, page: Page) -> None:
    page.until_said("go out; each delivery costs")
    heading = page.one("h1").rect
    with network.frozen("manager"):
        page.until_said("Figures of 9 s ago: nothing new comes from the manager.", ".mw-age")
        assert page.one("h1").rect == heading
        page.keep(KEPT / "old.png")
    page.until(lambda: not page.all(".mw-age"))


def test_a_button_that_has_the_focus_is_seen(page: Page) -> None:
    seen = {}
    for _ in range(12):
        ActionChains(page.driver).send_keys(Keys.TAB).perform()
        style = page.driver.execute_script(
            "const own = getComputedStyle(document.activeElement, '::after');"
            "return [document.activeElement.className, own.outlineStyle, own.outlineWidth]"
        )
        seen.update({name: tuple(style[1:]) for name in ("mw-orders", "mw-theme")
                     if name in style[0]})  # fmt: skip
    page.keep(KEPT / "focus.png")
    assert seen == dict.fromkeys(("mw-orders", "mw-theme"), ("solid", "2px"))


def test_on_a_telephone_all_tabs_and_columns_are_seen(page: Page) -> None:
    page.resize(PHONE)
    page.until_said("go out; each delivery costs")
    page.until(lambda: page.all(".mw-table td"))
    for one in page.all(".mw-nav, .mw-table"):
        assert one.get_property("scrollWidth") <= one.get_property("clientWidth")
    for tab in page.all(".mw-nav a"):
        assert tab.rect["x"] + tab.rect["width"] <= PHONE[0]


def test_a_page_that_there_is_not_says_so_and_leads_back(page: Page) -> None:
    page.open("nothere")
    page.until_said("There is no page /dashboard/nothere here.", "body")
    page.one("a").click()
    page.until_said("Overview", "h1")
    page.open("overlay?broker=nope")
    page.until_said("There is no broker 'nope' in this network.")
    page.driver.get_log("browser")  # has the 404 that was asked for


def test_clients_are_found(page: Page) -> None:
    page.open("clients")
    page.until_said("12 clients")
    page.one("body").send_keys("/")
    page.driver.switch_to.active_element.send_keys("reader-1")
    page.until_said("3 clients")  # and 10 and 11
    page.keep(KEPT / "clients.png")


def test_a_plan_is_approved_followed_to_its_end_and_undone(network: Network, page: Page) -> None:
    page.open("plans")
    page.until_said("p1")
    page.click("a[href$='plans/p1']")
    page.until_said("proposed")
    page.until(lambda: len(page.all(".mw-graph")) == 2)
    page.until_said("Read only: allow orders at the top of the page.")
    assert not page.one(".mw-apply").is_enabled()
    page.keep(KEPT / "proposed.png")
    page.click(".mw-orders")
    page.one(".mw-token input").send_keys("wrong")
    page.click(".mw-allow")
    page.until_said("The token is wrong", "body")
    page.one(".mw-token input").send_keys(Keys.CONTROL + "a")
    page.one(".mw-token input").send_keys(network.token)
    page.click(".mw-allow")
    page.until_said("Orders allowed", ".mw-bar")
    page.click(".mw-apply")
    page.click(".mw-sure")
    page.until_said("Last order: apply, done")
    page.until_said("in force at 4 brokers, 1 client moved")
    page.until_said("Messages per delivery, measured")
    page.keep(KEPT / "applied.png")
    page.click(".mw-undo")
    page.click(".mw-sure")
    page.until_said("Last order: undo, done")
    page.keep(KEPT / "undone.png")
    with network.frozen("broker4"):
        page.click(".mw-apply")
        page.click(".mw-sure")
        page.until(lambda: page.one(".mw-abort").is_displayed())
        page.keep(KEPT / "applying.png")
        page.click(".mw-abort")
        page.click(".mw-sure")
        page.until_said("Last order: apply, aborted")
    page.keep(KEPT / "aborted.png")
    page.open("mobility")
    page.until_said("reader-0")
    page.until_said("standard")
    page.click(".mw-orders")
    page.until_said("Read only", ".mw-bar")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_every_page_fits_its_window(page: Page, size: tuple[int, int], theme: str) -> None:
    page.resize(size)
    page.theme(theme)
    for name in PAGES:
        page.open(name)
        page.one("h1")
        is_dark = "body--dark" in (page.one("body").get_attribute("class") or "")
        assert is_dark == (theme == "dark")
        width = page.driver.execute_script("return document.documentElement.scrollWidth")
        assert width <= size[0], name
        page.keep(KEPT / f"{name.replace('/', '-') or 'overview'}-{size[0]}-{theme}.png")


def test_where_there_is_nothing_a_page_says_what_to_do(network: Network, page: Page) -> None:
    report = network.data / "manager" / "reports" / "mine"
    page.open("compare")
    page.until_said("There is no report yet.")
    report.mkdir(parents=True)
    (report / "report.html").write_text("<h1>All designs</h1>")
    frame = page.one("iframe")
    page.driver.switch_to.frame(frame)
    page.until_said("All designs", "h1")
    page.driver.switch_to.default_content()
    page.open("plans/p99")
    page.until_said("There is no plan 'p99'")
    assert "may be old" not in page.text()
    assert "What changes" not in page.text()
    page.click("a[href$='/dashboard/plans']")
    page.until_said("Plans", "h1")
    page.open("plans/p99")
    page.until_said("There is no plan 'p99'")
    assert not [one for one in page.all(".mw-apply, .mw-abort, .mw-undo") if one.is_displayed()]
