"""Trees that grow from the root down: every member asks the root, which installs the way to it.

A join goes from the member to the root hop by hop; from there the same member is told along the
route from the root, and each broker on it keeps the members behind each child. [DYNATOPS, 1.1]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from meshwright.filters.filter import Filter
from meshwright.protocol.forwarding.claims import Claim, Claims, End, Mark, Place, Row, Seats
from meshwright.protocol.forwarding.forwarding import Surroundings
from meshwright.protocol.forwarding.trees import Trees
from meshwright.protocol.foundation.message import Message
from meshwright.protocol.foundation.turn import Turn


class MemberJoin(Message, frozen=True, gc=False, tag=84):
    """JOIN: a member's wish, on its way up to the root."""

    epoch: int
    topic: str
    member: str
    serial: int
    hops: int


class MemberInstall(Message, frozen=True, gc=False, tag=85):
    """TREE: a member is behind you, told from the root down."""

    epoch: int
    topic: str
    member: str
    serial: int
    hops: int


class MemberLeave(Message, frozen=True, gc=False, tag=86):
    """LEAVE: the wish is taken back, on its way up."""

    epoch: int
    topic: str
    member: str


class MemberPrune(Message, frozen=True, gc=False, tag=87):
    """PRUNE: the member is no longer behind you, told from above."""

    epoch: int
    topic: str
    member: str


class TreeTable(Message, frozen=True, gc=False, tag=88):
    """All that a broker knows of the trees of topics, and the topics that it wants itself."""

    rising: tuple[Row, ...]
    falling: tuple[Row, ...]
    serials: dict[str, int]
    join_count: int


class MemberTrees(Trees):
    """One broker's part in the trees of all topics.

    root_hop gives the next broker towards the root of a topic, member_hop that towards a broker,
    or None if it is not seen; either is this broker where the way ends.
    """

    def __init__(
        self,
        around: Surroundings,
        *,
        root_hop: Callable[[str], str],
        member_hop: Callable[[str], str | None],
        changed: Callable[[str], None],
    ) -> None:
        super().__init__(around)
        self._own = End(around.me, around.me)
        self._serials: dict[str, int] = {}
        self._join_count = 0
        self._rising = Claims(
            Claim,
            way=lambda topic, _: _end(root_hop(topic)),
            tell=self._tell_up,
            retract=self._retract_up,
            changed=changed,
        )
        self._falling = Claims(
            Claim,
            way=lambda _, member: _end(member_hop(str(member))),
            tell=self._tell_down,
            retract=self._retract_down,
            changed=changed,
        )

    @property
    def claims(self) -> tuple[Claims[Claim], ...]:
        return (self._rising, self._falling)

    def handlers(self) -> dict[type, Callable[[Turn, str, Any], None]]:
        return {
            **super().handlers(),
            MemberJoin: partial(self._hear, self._rising),
            MemberInstall: partial(self._hear, self._falling),
            MemberLeave: partial(_unhear, self._rising),
            MemberPrune: partial(_unhear, self._falling),
        }

    def children(self, topic: str) -> tuple[str, ...]:
        """The brokers below this one in the tree of a topic."""
        ends = (claim.told for claim in self._falling.of(topic))
        hosts = dict.fromkeys(end.host for end in ends if end is not None and end != self._own)
        return tuple(hosts)

    def table(self) -> TreeTable:
        """What a broker needs to know to take the place of this one."""
        rising, falling = self._rising.rows(), self._falling.rows()
        return TreeTable(rising, falling, dict(self._serials), self._join_count)

    def take_over(self, table: TreeTable, seats: Seats) -> tuple[Filter, ...]:
        """Stand where another stood, and want what it wanted until that is removed again."""
        self._rising.load(table.rising, seats)
        self._falling.load(table.falling, seats)
        self._serials = dict(table.serials)
        self._join_count = table.join_count
        return self.inherit(table.serials)

    def join(self, turn: Turn, topic: str) -> None:
        self._join_count += 1
        self._serials[topic] = self._join_count
        mark = Mark(self._join_count, 0)
        self._rising.hear(turn, topic, self._around.me, self._own, mark)

    def leave(self, turn: Turn, topic: str) -> None:
        del self._serials[topic]
        self._rising.unhear(turn, topic, self._around.me, self._own)

    def is_installed(self, topic: str) -> bool:
        claim = self._falling.get(topic, self._around.me)
        return claim is not None and claim.mark.serial == self._serials.get(topic)

    def _hear(
        self, claims: Claims[Claim], turn: Turn, peer: str, message: MemberJoin | MemberInstall
    ) -> None:
        if self.listens_to(peer):
            mark = Mark(message.serial, message.hops)
            claims.hear(turn, message.topic, message.member, End(peer, peer), mark)

    def _tell_up(self, turn: Turn, topic: str, member: Place, end: End, mark: Mark) -> None:
        if end == self._own:
            self._falling.hear(turn, topic, member, self._own, Mark(mark.serial, 0))
        else:
            join = MemberJoin(
                self._around.epoch, topic, str(member), serial=mark.serial, hops=mark.hops + 1
            )
            self._around.tell(turn, end.host, join)

    def _retract_up(self, turn: Turn, topic: str, member: Place, end: End) -> None:
        if end == self._own:
            self._falling.unhear(turn, topic, member, self._own)
        else:
            self._around.tell(turn, end.host, MemberLeave(self._around.epoch, topic, str(member)))

    def _tell_down(self, turn: Turn, topic: str, member: Place, end: End, mark: Mark) -> None:
        if end != self._own:
            install = MemberInstall(
                self._around.epoch, topic, str(member), serial=mark.serial, hops=mark.hops + 1
            )
            self._around.tell(turn, end.host, install)
        elif mark.serial == self._serials.get(topic):
            self.installed(turn, topic)

    def _retract_down(self, turn: Turn, topic: str, member: Place, end: End) -> None:
        if end != self._own:
            self._around.tell(turn, end.host, MemberPrune(self._around.epoch, topic, str(member)))


def _end(hop: str | None) -> End | None:
    return None if hop is None else End(hop, hop)


def _unhear(
    claims: Claims[Claim], turn: Turn, peer: str, message: MemberLeave | MemberPrune
) -> None:
    claims.unhear(turn, message.topic, message.member, End(peer, peer))
