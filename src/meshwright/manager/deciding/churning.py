"""Brokers that came to a topic-connected network or went, seen from one look to the next.

A newcomer is linked with everybody until it is placed. That is when it wants the same at two looks,
or has kept changing for some: its first subscriptions come one by one. A broker that was drained is
missed when it is empty, and once more when it has gone; any other once it is lost for long, or for
good. What a newcomer comes to want later gets its links when it is weak at two looks. Who was here
before is on disk, so that nobody is overlooked who comes while no manager looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from meshwright.files.decoding import decoded
from meshwright.files.reading import read_if_there
from meshwright.files.writing import make_folder, write_whole
from meshwright.manager.deciding.wanted import Wanted, wanted_of
from meshwright.model.designs import design
from meshwright.model.overlay import Overlay
from meshwright.protocol.inspection import BrokerView

KNOWN_NAME = "brokers.json"
# So often a newcomer's interest may change from look to look before it is placed all the same.
LOOKS_MAX = 6


class Churn(msgspec.Struct, frozen=True, kw_only=True):
    """Brokers to place, to leave out, or to do without though they are there; why says it.

    weak: topics that a broker wants since it was placed, joined by fewer than k ways.
    """

    came: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    drained: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        told = (
            (self.came, "joined"),
            (self.left, "left"),
            (self.drained, "was drained"),
            (self.weak, "is joined by fewer than k ways"),
        )
        return ", ".join(f"{' and '.join(names)} {what}" for names, what in told if names)


def is_topic_connected(overlay: Overlay) -> bool:
    """Whether links are chosen by what brokers want."""
    return design(overlay.design).forwarding == "topic_connected"


class Churning:
    """Remembers who was here, what newcomers wanted, and for whom a plan was made."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / KNOWN_NAME
        content = read_if_there(self._path)
        self._known: set[str] | None = None if content is None else set(decoded(content, list[str]))
        self._wanted: Wanted = {}
        self._looks: dict[str, int] = {}
        self._lost_us: dict[str, int] = {}
        self._drained: set[str] = set()
        self._placed: set[str] = set()
        self._weak: set[str] = set()
        # The overlay of the last look, and those for whom a plan was made that starts from it.
        self._overlay: Overlay | None = None
        self._planned = Churn()

    def seen(self, views: Sequence[BrokerView], now_us: int, lost_after_us: int) -> Churn | None:
        """Those for whom a plan is to be made now; None if there are none."""
        overlay = max(views, key=lambda view: view.epoch).overlay
        if overlay != self._overlay:
            self._overlay, self._planned = overlay, Churn()
        wanted = wanted_of(views)
        came = self._newcomers(overlay, wanted)
        left = self._missing(overlay, views, now_us, lost_after_us)
        drained = self._emptied(overlay, views)
        weak = self._weakened(overlay, views, wanted)
        self._wanted = wanted
        if not is_topic_connected(overlay) or not any(wanted.values()):
            return None
        done = self._planned
        if set(came) - set(done.came) or set(left) - set(done.left):
            return Churn(came=came, left=left)
        if set(drained) - set(done.drained):
            return Churn(drained=drained)
        return Churn(weak=weak) if set(weak) - set(done.weak) else None

    def planned(self, churn: Churn) -> None:
        """A plan was begun; another is made once the overlay or those who are there change."""
        done = self._planned
        self._placed.update(churn.came)
        self._planned = Churn(
            came=churn.came or done.came,
            left=churn.left or done.left,
            drained=churn.drained or done.drained,
            weak=churn.weak or done.weak,
        )

    def _newcomers(self, overlay: Overlay, wanted: Wanted) -> tuple[str, ...]:
        """Brokers that came, are still linked with everybody, and whose interest has settled."""
        if self._known is None:
            self._remember(set(overlay.brokers))
        assert self._known is not None
        everybody = len(overlay.brokers) - 1
        new = [
            name
            for name in overlay.brokers
            if name not in self._known
            and sum(name in link for link in overlay.links) == everybody
            and is_topic_connected(overlay)
        ]
        if set(overlay.brokers).difference(new) != self._known:
            self._remember(set(overlay.brokers).difference(new))
        settled = []
        for name in new:
            self._looks[name] = self._looks.get(name, 0) + 1
            is_same = name in wanted and wanted[name] == self._wanted.get(name)
            if is_same or (name in wanted and self._looks[name] >= LOOKS_MAX):
                settled.append(name)
        self._looks = {name: self._looks[name] for name in new}
        return tuple(settled)

    def _missing(
        self, overlay: Overlay, views: Sequence[BrokerView], now_us: int, lost_after_us: int
    ) -> tuple[str, ...]:
        """Brokers that nobody sees: for long, or removed for good, or drained before."""
        alive = {name for view in views for name in view.alive}
        removed = {name for view in views for name in view.removed}
        self._lost_us = {
            name: self._lost_us.get(name, now_us) for name in overlay.brokers if name not in alive
        }
        return tuple(
            name
            for name, since_us in self._lost_us.items()
            if name in removed or name in self._drained or since_us + lost_after_us <= now_us
        )

    def _emptied(self, overlay: Overlay, views: Sequence[BrokerView]) -> tuple[str, ...]:
        """Brokers that are there, take no clients and have none."""
        emptying = {one.broker for one in views if one.is_emptying}
        self._drained = (self._drained | emptying) - {one.broker for one in views} | emptying
        empty = {one.broker for one in views if one.is_emptying and not one.sessions}
        return tuple(name for name in overlay.brokers if name in empty)

    def _weakened(
        self, overlay: Overlay, views: Sequence[BrokerView], wanted: Wanted
    ) -> tuple[str, ...]:
        """Weak topics, now and at the look before, of brokers that were placed here as newcomers.

        While a broker is away its topics are weak anyway, and may be whole when it returns.
        """
        alive = {name for view in views for name in view.alive}
        own = {topic for name in self._placed for topic in wanted.get(name, ())}
        weak = {one.topic for view in views for one in view.weak_topics if one.topic in own}
        former, self._weak = self._weak, weak if alive.issuperset(overlay.brokers) else set()
        return tuple(sorted(former & self._weak))

    def _remember(self, known: set[str]) -> None:
        self._known = known
        content = msgspec.json.encode(sorted(known))
        write_whole({make_folder(self._path.parent) / self._path.name: content})
