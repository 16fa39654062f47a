"""How fast clients are sent to other brokers, and how long before that it is known.

Whoever sends many clients away announces it; for a while then nobody is sent, and the broker tells
load balancers that it is not ready. After that clients go in order, a few at a time.
"""

from __future__ import annotations

from meshwright.model.times import SECOND_US
from meshwright.protocol.foundation.turn import Action, Turn

TICK = ("pace",)
STEP_US = 100_000


class Pace:
    """Clients that wait to be sent away; without a rate and a notice nobody waits.

    clients_per_second: 0 for all at once.
    """

    def __init__(self, clients_per_second: int, notice_us: int) -> None:
        self._notice_us = notice_us
        self._step_us = STEP_US
        self._at_once = 0
        if clients_per_second:
            self._step_us = max(STEP_US, SECOND_US // clients_per_second)
            self._at_once = max(1, clients_per_second * self._step_us // SECOND_US)
        self._waiting: dict[str, Action] = {}
        # Since the last announcement; their sessions may be offered besides.
        self._sent: set[str] = set()
        self._begins_us = 0
        self._step_began_us = 0
        self._sent_count = 0
        self._has_tick = False

    @property
    def waiting_count(self) -> int:
        """Clients that are about to be sent away."""
        return len(self._waiting)

    def is_waiting(self, client: str) -> bool:
        """True if a client is about to be sent away."""
        return client in self._waiting

    def announce(self, turn: Turn) -> None:
        """Clients will be sent away; those that wait already are not put off."""
        self._sent.clear()
        if not self._waiting:
            self._begins_us = turn.now_us + self._notice_us

    def is_noticed(self, now_us: int) -> bool:
        """True while clients that will be sent away may still come and go as they like."""
        return now_us < self._begins_us

    def is_free(self, now_us: int) -> bool:
        """True if one more client may be sent away now."""
        if self._waiting or now_us < self._begins_us:
            return False
        return self._has_room(now_us)

    def count(self) -> None:
        """A client was sent away without having waited."""
        self._sent_count += 1

    def when_free(self, turn: Turn, client: str, send: Action) -> None:
        """Send a client away when it is its turn, which may be now; send looks once more.

        One that had its turn is sent again, or its session offered, at once.
        """
        if client in self._sent or self.is_free(turn.now_us):
            self._send(turn, client, send)
            return
        self._waiting[client] = send
        self._wake(turn)

    def tick(self, turn: Turn) -> None:
        """Send those whose turn it is."""
        self._has_tick = False
        if turn.now_us >= self._begins_us:
            while self._waiting and self._has_room(turn.now_us):
                client = next(iter(self._waiting))
                self._send(turn, client, self._waiting.pop(client))
        if self._waiting:
            self._wake(turn)

    def _send(self, turn: Turn, client: str, send: Action) -> None:
        self._sent_count += client not in self._sent
        self._sent.add(client)
        send(turn)

    def _has_room(self, now_us: int) -> bool:
        if not self._at_once:
            return True
        if now_us - self._step_began_us >= self._step_us:
            self._step_began_us, self._sent_count = now_us, 0
        return self._sent_count < self._at_once

    def _wake(self, turn: Turn) -> None:
        if not self._has_tick:
            self._has_tick = True
            turn.timer(TICK, max(self._begins_us, turn.now_us + self._step_us))
