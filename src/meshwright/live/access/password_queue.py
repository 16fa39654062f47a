"""Who waits for a password to be checked: some are at once, in turn by address.

A check is slow on purpose, so whoever sends many would keep all others waiting. Addresses take
turns, and one that was wrong is made to wait longer with every further wrong word.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import IPv6Address, ip_address, ip_network

CHECKS_AT_ONCE = 2
# Of an address: so many may wait, or so many once it was wrong.
WAITING_MAX = 4_096
WAITING_WRONG_MAX = 16
# A few wrong words are nobody's malice; each after them doubles the wait.
WRONG_FREE = 3
DELAY_FIRST_S = 0.25
DELAY_MAX_S = 5.0
# One wrong word is forgotten after so long.
FORGET_S = 20.0
ADDRESSES_MAX = 10_000
NEIGHBOURS_BITS = 64


@dataclass(slots=True)
class _Desk:
    """One address: who waits, how many checks are under way, and how often it was wrong."""

    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    busy_count: int = 0
    wrong_count: int = 0
    wrong_s: float = 0.0
    delay: asyncio.TimerHandle | None = None
    is_in_turn: bool = False


class PasswordQueue:
    """All checks of one broker."""

    def __init__(self) -> None:
        self._desks: dict[str, _Desk] = {}
        self._turns: deque[str] = deque()
        self._busy_count = 0

    async def check(self, address: str, is_right: Callable[[], bool]) -> bool | None:
        """What a slow check in another thread says; None if too many of this address wait."""
        name = neighbourhood(address)
        desk = self._desk(name)
        self._forget(desk)
        if len(desk.waiting) >= (WAITING_WRONG_MAX if desk.wrong_count else WAITING_MAX):
            return None
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        desk.waiting.append(turn)
        self._line_up(name, desk)
        self._serve()
        try:
            await turn
        except asyncio.CancelledError:
            self._left(name, desk, turn)
            raise
        check = asyncio.get_running_loop().run_in_executor(None, is_right)
        # Whoever leaves meanwhile still holds a thread.
        check.add_done_callback(lambda done: self._done(name, desk, done))
        return await asyncio.shield(check)

    def _desk(self, name: str) -> _Desk:
        desk = self._desks.get(name)
        if desk is None:
            if len(self._desks) >= ADDRESSES_MAX:
                self._tidy()
            desk = self._desks[name] = _Desk()
        return desk

    def _serve(self) -> None:
        """Let the next in turn have their checks."""
        while self._turns and self._busy_count < CHECKS_AT_ONCE:
            name = self._turns.popleft()
            desk = self._desks[name]
            desk.is_in_turn = False
            turn = _next_waiting(desk)
            if turn is None:
                self._let_go(name, desk)
            else:
                desk.busy_count += 1
                self._busy_count += 1
                turn.set_result(None)
                self._line_up(name, desk)

    def _line_up(self, name: str, desk: _Desk) -> None:
        at_once = 1 if desk.wrong_count else CHECKS_AT_ONCE
        is_free = desk.delay is None and desk.busy_count < at_once
        if desk.waiting and is_free and not desk.is_in_turn:
            desk.is_in_turn = True
            self._turns.append(name)

    def _done(self, name: str, desk: _Desk, check: asyncio.Future[bool]) -> None:
        if not check.cancelled() and check.exception() is None and not check.result():
            self._was_wrong(name, desk)
        self._release(name, desk)

    def _left(self, name: str, desk: _Desk, turn: asyncio.Future[None]) -> None:
        """Who waited is gone, before or just when its turn came."""
        if not turn.cancelled():
            self._release(name, desk)
        elif turn in desk.waiting:
            desk.waiting.remove(turn)

    def _release(self, name: str, desk: _Desk) -> None:
        desk.busy_count -= 1
        self._busy_count -= 1
        self._line_up(name, desk)
        self._let_go(name, desk)
        self._serve()

    def _let_go(self, name: str, desk: _Desk) -> None:
        """Remember nothing of an address of which there is nothing to remember."""
        if not (desk.waiting or desk.busy_count or desk.wrong_count or desk.is_in_turn):
            self._desks.pop(name, None)

    def _was_wrong(self, name: str, desk: _Desk) -> None:
        loop = asyncio.get_running_loop()
        self._forget(desk)
        desk.wrong_count += 1
        desk.wrong_s = loop.time()
        over = desk.wrong_count - WRONG_FREE
        if over > 0 and desk.delay is None:
            delay_s = min(DELAY_FIRST_S * 2.0 ** (over - 1), DELAY_MAX_S)
            desk.delay = loop.call_later(delay_s, self._delay_over, name, desk)

    def _delay_over(self, name: str, desk: _Desk) -> None:
        desk.delay = None
        self._line_up(name, desk)
        self._serve()

    def _forget(self, desk: _Desk) -> None:
        """Wrong words are forgotten one by one."""
        if desk.wrong_count:
            now_s = asyncio.get_running_loop().time()
            count = min(int((now_s - desk.wrong_s) / FORGET_S), desk.wrong_count)
            desk.wrong_count -= count
            desk.wrong_s += count * FORGET_S

    def _tidy(self) -> None:
        """Forget those that nobody waits at, the oldest half first."""
        quiet = [
            name
            for name, desk in self._desks.items()
            if not (desk.waiting or desk.busy_count or desk.delay or desk.is_in_turn)
        ]
        for name in quiet[: max(1, len(quiet) // 2)]:
            del self._desks[name]


def _next_waiting(desk: _Desk) -> asyncio.Future[None] | None:
    while desk.waiting:
        turn = desk.waiting.popleft()
        if not turn.done():
            return turn
    return None


def neighbourhood(address: str) -> str:
    """An address, or the network of one of IPv6, of which everybody has a great many."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ip_network((found, NEIGHBOURS_BITS), strict=False))
    return str(found)
