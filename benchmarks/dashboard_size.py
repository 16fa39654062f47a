"""The dashboard over 500 brokers and 10,000 clients: first paint, updates, bytes, and its cost.

CPU time is counted, since others use the machine: of the manager by the kernel, of the page by the
browser. The first paint is elapsed time, and says how busy the machine was beside it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tests.browser.chromium import Page, browsing

from benchmarks.table import Row
from meshwright.dashboard.frame import REFRESH_S

NO_BROWSER = "there is no Chromium here; apt-get install chromium chromium-driver"
IDLE_S, LOOK_S = 30.0, 20.0
IDLE_SHARE_MAX = 0.05
PAINT_S_MAX, UPDATE_MS_MAX, BYTES_PER_S_MAX = 3.0, 100.0, 50_000
PAGES = {"": "Overview", "overlay": "Overlay", "clients": "Clients"}
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Server(NamedTuple):
    """A manager over made-up brokers; address: that lets a browser in."""

    pid: int
    address: str

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / TICKS_PER_S


def rows() -> list[Row]:
    if shutil.which("chromium") is None:
        return [Row("the dashboard in a browser", "not measured", "-", note=NO_BROWSER)]
    shares = [_idle_share(is_shown) for is_shown in (False, True)]
    found = [
        Row(
            "a manager's CPU time when nobody looks, with the dashboard",
            f"{shares[1]:.1%} of a core",
            f"less than {IDLE_SHARE_MAX:.0%} more than without",
            met=shares[1] - shares[0] < IDLE_SHARE_MAX,
            note=f"{shares[0]:.1%} without: it looks at all brokers every 5 s either way",
        )
    ]
    for design in ("chord", "gm2"):
        with serving(design, is_shown=True) as server, browsing(server.address) as page:
            found.append(_painted(f"Overview, {design}, in a browser that knows nothing", page))
            for name, title in PAGES.items():
                found += _looked_at(f"{title}, {design}", server, page, name)
    return found


def _idle_share(is_shown: bool) -> float:
    with serving("chord", is_shown=is_shown) as server:
        time.sleep(5.0)
        before_s = server.cpu_s()
        time.sleep(IDLE_S)
        return (server.cpu_s() - before_s) / IDLE_S


def _painted(title: str, page: Page) -> Row:
    """How long the page that is open took until something was to be seen."""
    painted = "return performance.getEntriesByName('first-contentful-paint')"
    paint_s = 0.001 * page.until(lambda: page.driver.execute_script(f"{painted}[0]?.startTime"))
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return Row(
        f"{title}: first paint",
        f"{paint_s:.2f} s",
        f"less than {PAINT_S_MAX:g} s on an idle machine",
        met=paint_s < PAINT_S_MAX if busy < 1.0 else None,
        note=f"{busy:.1f} processes for each core",
    )


def _looked_at(title: str, server: Server, page: Page, name: str) -> list[Row]:
    page.driver.get_log("performance")
    page.open(name)
    painted = _painted(title, page)
    time.sleep(5.0)
    first_bytes = _received_bytes(page)
    cpu_s, task_s = server.cpu_s(), _task_s(page)
    time.sleep(LOOK_S)
    task_ms = (_task_s(page) - task_s) * 1_000 / (LOOK_S / REFRESH_S)
    share = (server.cpu_s() - cpu_s) / LOOK_S
    sent = _received_bytes(page) / LOOK_S
    return [
        replace(painted, note=f"{painted.note}; {first_bytes / 1_000:,.0f} kB over the line"),
        Row(
            f"{title}: an update",
            f"{task_ms:.1f} ms of CPU time in the browser",
            f"less than {UPDATE_MS_MAX:g} ms",
            met=task_ms < UPDATE_MS_MAX,
            note=f"one every 2 s; the manager takes {share:.1%} of a core for one who looks",
        ),
        Row(
            f"{title}: bytes a second to who looks",
            f"{sent:,.0f}",
            f"less than {BYTES_PER_S_MAX:,}",
            met=sent < BYTES_PER_S_MAX,
        ),
    ]


def _task_s(page: Page) -> float:
    """CPU time of the page's own thread, in which it is updated and drawn."""
    page.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
    metrics = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return next(one["value"] for one in metrics if one["name"] == "TaskDuration")


def _received_bytes(page: Page) -> int:
    """Bytes over the line on which pages are updated, since this was last asked."""
    total = 0
    for entry in page.driver.get_log("performance"):
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.webSocketFrameReceived":
            total += len(event["params"]["response"]["payloadData"])
    return total


@contextmanager
def serving(design: str, *, is_shown: bool) -> Iterator[Server]:
    """A process of its own, as a manager is."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["-m", "benchmarks.dashboard.large_network", design, "yes" if is_shown else "no"]
        process = subprocess.Popen(
            [sys.executable, *words, folder], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            last = "Look at the network: " if is_shown else "The manager answers at "
            line = next(line for line in process.stdout if line.startswith(last))
            yield Server(process.pid, line.removeprefix(last).strip())
        finally:
            process.terminate()
            process.wait()
