"""When connections are written to."""

from __future__ import annotations

import asyncio

from meshwright.live.host.outbox import TOGETHER_US, Outbox
from meshwright.live.system.clock import Clock


class Kept:
    """Something to be flushed."""

    def __init__(self) -> None:
        self.flushed_us = 0
        self.flush_count = 0

    def flush(self) -> None:
        self.flush_count += 1


def test_what_is_gathered_is_written_at_once() -> None:
    async def story() -> None:
        clock = Clock()
        outbox = Outbox(asyncio.get_running_loop(), clock)
        one, other = Kept(), Kept()
        outbox.is_held = True
        outbox.add(one)
        outbox.add(other)
        assert one.flush_count == other.flush_count == 0
        outbox.release(clock.now_us())
        assert one.flush_count == other.flush_count == 1

    asyncio.run(story())


def test_who_is_written_to_again_so_soon_gets_the_rest_of_the_turn_together() -> None:
    async def story() -> None:
        outbox = Outbox(asyncio.get_running_loop(), Clock())
        one = Kept()
        for now_us in (1_000, 1_000 + TOGETHER_US - 1):
            outbox.is_held = True
            outbox.add(one)
            outbox.release(now_us)
        assert one.flush_count == 1
        await asyncio.sleep(0)
        assert one.flush_count == 2
        outbox.is_held = True
        outbox.add(one)
        outbox.release(one.flushed_us + TOGETHER_US)
        assert one.flush_count == 3

    asyncio.run(story())


def test_outside_of_a_block_everything_is_written_at_the_end_of_the_turn() -> None:
    async def story() -> None:
        outbox = Outbox(asyncio.get_running_loop(), Clock())
        one = Kept()
        outbox.add(one)
        assert one.flush_count == 0
        await asyncio.sleep(0)
        assert one.flush_count == 1

    asyncio.run(story())
