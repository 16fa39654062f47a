"""Which brokers of the overlay in force do not answer, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from meshwright.protocol.inspection import BrokerView


class Change(NamedTuple):
    """What a look found out: brokers that are lost since then, and those that are back."""

    lost: tuple[str, ...]
    back: tuple[str, ...]


class Losses:
    """One thread looks, anybody asks. Who is in the overlay no more is forgotten."""

    def __init__(self) -> None:
        self._since_us: dict[str, int] = {}

    @property
    def since_us(self) -> Mapping[str, int]:
        """By broker that is lost: when it first did not answer."""
        return self._since_us

    def see(self, now_us: int, views: Mapping[str, BrokerView]) -> Change:
        """One more look at all that answer."""
        newest = max(views.values(), key=lambda view: view.epoch, default=None)
        wanted = () if newest is None else newest.overlay.brokers
        former = self._since_us
        self._since_us = {
            name: former.get(name, now_us) for name in sorted(wanted) if name not in views
        }
        return Change(
            lost=tuple(name for name in self._since_us if name not in former),
            back=tuple(name for name in former if name in views),
        )
