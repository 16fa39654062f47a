"""Which of several managers holds the lease, at brokers that are asked one after the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from meshwright.live.operating.leases import Leases, LeaseView, Seen
from meshwright.manager.network.leasing import Identity, Leasing
from meshwright.manager.network.running import RunningNetwork

SECOND_US = 1_000_000
LEASE_S = 15.0


class Door:
    """A broker's door for leases, without a socket."""

    def __init__(self, folder: Path, now_us: Callable[[], int]) -> None:
        folder.mkdir()
        self._leases = Leases(folder)
        self._now_us = now_us

    def view(self) -> LeaseView:
        return self._leases.view(self._now_us())

    def order(self, _path: str, **options: str) -> None:
        wanted = Seen(options["manager"], int(options["number"]))
        self._leases.ask(self._now_us(), wanted, float(options["seconds"]))


class Doors:
    """A network of which managers ask nothing but leases."""

    def __init__(self, folder: Path, count: int) -> None:
        self.now_us = 0
        self.lease: int | None = None
        self._doors = {f"b{n}": Door(folder / f"b{n}", lambda: self.now_us) for n in range(count)}

    def controls(self) -> dict[str, Door]:
        return dict(self._doors)

    def leases(self) -> dict[str, LeaseView]:
        return {name: door.view() for name, door in self._doors.items()}


def manager(name: str, folder: Path, doors: Doors) -> Leasing:
    network = cast("RunningNetwork", cast("Any", doors))
    return Leasing(folder / name, Identity(name=name, number=1), network, LEASE_S)


def test_of_two_managers_that_began_at_once_and_share_the_brokers_one_gets_them_all(
    tmp_path: Path,
) -> None:
    doors = Doors(tmp_path, 4)
    for number, door in enumerate(doors.controls().values()):
        door.order("/lease", manager=("north", "south")[number % 2], number="1", seconds="15")
    north, south = (manager(name, tmp_path, doors) for name in ("north", "south"))
    held = []
    for _ in range(8):
        held.append((north.renew(doors.now_us), south.renew(doors.now_us)))
        doors.now_us += 5 * SECOND_US
    assert (True, True) not in held
    assert held[-1] == (True, False)
    assert {one.manager for one in doors.leases().values()} == {"north"}
