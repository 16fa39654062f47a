"""Draws the dashboard of a network under load: the picture of the README (make picture)."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

# As pytest finds them.
sys.path += [str(Path(__file__).parents[1] / room) for room in ("browser", "live", "manager")]
sys.path += [str(Path(__file__).parents[1] / "protocol")]

from chromium import browsing
from watched_network import watched_network

BROKERS, CLIENTS = 10, 60
# So long until there is something to see of the last minutes.
WAIT_S = 60.0
SIZE = (1280, 860)


def main(path: Path) -> None:
    """Write the picture."""
    with (
        TemporaryDirectory() as folder,
        watched_network(Path(folder) / "network", BROKERS, CLIENTS) as network,
        browsing(network.address) as page,
    ):
        time.sleep(WAIT_S)
        page.theme("light")
        page.resize(SIZE)
        page.open("overlay?broker=broker4")
        page.one(".mw-search input").send_keys("news/1")
        page.until(lambda: page.all(".mw-hop.now"))
        page.until_said("broker4\n", ".mw-split")
        time.sleep(3.0)
        assert page.driver.save_screenshot(str(path))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
