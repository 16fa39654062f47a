"""Who is believed alive: brokers on a line, whose words arrive in the order they were said."""

from __future__ import annotations

from collections import deque

from meshwright.protocol.foundation.turn import Turn
from meshwright.protocol.peers.liveness import Liveness, Rumour

LINE = ("a", "b", "c")
NEIGHBOURS = {"a": ["b"], "b": ["a", "c"], "c": ["b"]}


class Line:
    """Memberships that hear each other; a broker sees only the one or two next to it."""

    def __init__(self) -> None:
        self.turn = Turn(0)
        self.in_flight: deque[tuple[str, str, Rumour]] = deque()
        self.members = {name: self._member(name) for name in LINE}

    def hear_all(self) -> None:
        """Let everything arrive that was said."""
        while self.in_flight:
            source, target, rumour = self.in_flight.popleft()
            self.members[target].heard(self.turn, source, rumour)

    def _member(self, me: str) -> Liveness:
        return Liveness(
            me,
            LINE,
            1,
            send=lambda _, peer, rumour: self.in_flight.append((me, peer, rumour)),
            neighbours=lambda: NEIGHBOURS[me],
            in_force=lambda: 0,
        )


def test_everybody_hears_that_a_suspected_broker_lives_though_only_its_accuser_is_next_to_it() -> (
    None
):
    line = Line()
    for member in line.members.values():
        member.started(line.turn)
    line.hear_all()
    line.members["b"].peer_lost(line.turn, "a")
    assert line.members["b"].alive() == ("b", "c")
    line.hear_all()
    assert {name: member.alive() for name, member in line.members.items()} == dict.fromkeys(
        LINE, LINE
    )
