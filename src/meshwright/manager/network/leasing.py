"""One manager at a time: a lease at the brokers, with a number that only grows.

A manager holds the lease while more than half of the brokers that answer gave it, and carries its
number in every order, so that none of an earlier manager is taken. What must not happen even with
two managers, two changes at once, the brokers themselves prevent.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from meshwright.errors import OperatorError
from meshwright.files.documents import Document, document_bytes
from meshwright.files.reading import is_absent
from meshwright.files.writing import make_folder, write_whole
from meshwright.live.operating.leases import LeaseView
from meshwright.manager.network.running import RunningNetwork
from meshwright.model.times import SECOND_US
from meshwright.model.wording import counted

IDENTITY_NAME = "manager.json"


class Identity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who a manager is, and the number of its lease; 0: it never had one."""

    name: str
    number: int = 0


def read_identity(folder: Path, new_name: Callable[[], str]) -> tuple[Identity, bool]:
    """Who the manager of a folder is; True: the folder was empty, and it begins anew."""
    path = folder / IDENTITY_NAME
    if not is_absent(path):
        return Document(path).decoded(Identity, {}), False
    identity = Identity(name=new_name())
    _write(folder, identity)
    return identity, True


class Leasing:
    """Asks brokers for the lease, and asks again before it runs out."""

    def __init__(
        self, folder: Path, identity: Identity, network: RunningNetwork, seconds: float
    ) -> None:
        self.identity = identity
        self.waiting = "not asked yet"
        self._folder = folder
        self._network = network
        self._seconds = seconds
        self._ends_us = 0

    def is_held(self, now_us: int) -> bool:
        """Whether orders may be given now."""
        return now_us < self._ends_us

    def told(self, now_us: int) -> str:
        """For people: held, or what is waited for."""
        if self.is_held(now_us):
            return f"held, with number {self.identity.number}"
        return self.waiting or "waiting: it has run out, and brokers were not asked again in time"

    def renew(self, now_us: int) -> bool:
        """Ask for the lease, or for a longer one; whether it is held, and if not, why."""
        views = self._network.leases()
        newest = max(views.values(), key=lambda one: one.number)
        is_mine = newest.manager in ("", self.identity.name)
        if not is_mine and newest.left_s > 0:
            self.waiting = (
                f"waiting: {newest.manager} manages this network, for {newest.left_s:.0f} s more "
                "at least"
            )
            self._ends_us = 0
            return False
        if not self.identity.number or any(self._is_passed(one) for one in views.values()):
            self._take_number(newest.number + 1)
        return self._ask(now_us, views)

    def _is_passed(self, seen: LeaseView) -> bool:
        """Whether a broker gives no lease for this number any more, or gave it to another."""
        mine = self.identity
        is_another = seen.manager not in ("", mine.name) and seen.number == mine.number
        return is_another or seen.number > mine.number

    def give_back(self) -> None:
        """Let another manager begin at once."""
        self._ends_us = 0
        for control in self._network.controls().values():
            self._asked(control.order, 0.0)

    def _take_number(self, number: int) -> None:
        self.identity = msgspec.structs.replace(self.identity, number=number)
        _write(self._folder, self.identity)

    def _ask(self, now_us: int, views: dict[str, LeaseView]) -> bool:
        refusals = [
            refusal
            for name, control in self._network.controls().items()
            if name in views and (refusal := self._asked(control.order, self._seconds)) is not None
        ]
        if 2 * len(refusals) < len(views):
            self._ends_us = now_us + round(self._seconds * SECOND_US)
            self._network.lease = self.identity.number
            self.waiting = ""
            return True
        self._ends_us = 0
        self.waiting = (
            f"waiting: {counted(len(refusals), 'broker')} of {len(views)} gave no lease "
            f"({refusals[0].rstrip('.')})"
        )
        return False

    def _asked(self, order: Callable[..., object], seconds: float) -> str | None:
        """Ask one broker; its refusal, if it refuses."""
        mine = self.identity
        try:
            order("/lease", manager=mine.name, number=str(mine.number), seconds=str(seconds))
        except OperatorError as error:
            return str(error)
        return None


def _write(folder: Path, identity: Identity) -> None:
    make_folder(folder, is_private=True)
    write_whole({folder / IDENTITY_NAME: document_bytes(identity)}, is_private=True)
