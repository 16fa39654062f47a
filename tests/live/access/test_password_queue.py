"""Many wrong passwords keep nobody else waiting."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from live_network import port_of, running_brokers

from meshwright.live.access import password_queue
from meshwright.live.access.password_queue import PasswordQueue, neighbourhood
from meshwright.live.access.passwords import set_password
from meshwright.live.settings import AccessSettings
from meshwright.protocol.mqtt.encoding import encode
from meshwright.protocol.mqtt.packets import MQTT_5, Connect

WORD = b"staple"
REFUSED = 0x86


def wrong() -> bool:
    time.sleep(0.02)
    return False


def right() -> bool:
    time.sleep(0.02)
    return True


async def knock(port: int, address: str, word: bytes, number: int) -> int:
    """Connect from an address of this machine; returns the reason code of the answer."""
    answers, line = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    line.write(
        encode(Connect(client_id=f"{address} {number}", user_name="alice", password=word), MQTT_5)
    )
    try:
        return (await answers.readexactly(4))[3]
    finally:
        line.close()


def test_a_right_password_does_not_wait_for_wrong_ones_of_another_address(tmp_path: Path) -> None:
    passwords = tmp_path / "passwords"
    set_password(passwords, "alice", WORD)

    async def story() -> None:
        access = AccessSettings(passwords=passwords)
        async with running_brokers("chord", tmp_path, 1, access=access) as (broker,):
            port = port_of(broker)
            begun_s = time.perf_counter()
            assert await knock(port, "127.0.0.3", WORD, 0) == 0
            alone_s = time.perf_counter() - begun_s
            wrong_ones = [
                asyncio.create_task(knock(port, "127.0.0.2", b"horse", number))
                for number in range(60)
            ]
            await asyncio.sleep(0.05)
            for number in range(3):
                begun_s = time.perf_counter()
                assert await knock(port, "127.0.0.3", WORD, number) == 0
                # At most the checks that were under way, and one of theirs in turn, come before.
                assert time.perf_counter() - begun_s < 1 + 8 * alone_s
            answered = [one.result() for one in wrong_ones if one.done()]
            assert answered.count(REFUSED) < 10
            for one in wrong_ones:
                one.cancel()
            await asyncio.gather(*wrong_ones, return_exceptions=True)

    asyncio.run(story())


def test_a_wrong_word_makes_the_next_of_its_address_wait_longer() -> None:
    async def story() -> None:
        queue = PasswordQueue()
        waits = []
        for _ in range(6):
            begun_s = time.perf_counter()
            assert await queue.check("192.0.2.1", wrong) is False
            waits.append(time.perf_counter() - begun_s)
        assert waits[5] > 0.45
        assert waits[4] > 0.2
        assert sum(waits[:4]) < 1
        begun_s = time.perf_counter()
        assert await queue.check("192.0.2.2", right) is True
        assert time.perf_counter() - begun_s < 0.4

    asyncio.run(story())


def test_addresses_take_turns_and_who_left_holds_up_nobody() -> None:
    async def story() -> None:
        queue = PasswordQueue()
        order: list[str] = []

        async def ask(address: str) -> None:
            if await queue.check(address, right):
                order.append(address)

        many = [asyncio.create_task(ask("192.0.2.1")) for _ in range(40)]
        await asyncio.sleep(0.01)
        others = [asyncio.create_task(ask(f"192.0.2.{number}")) for number in (2, 3)]
        for one in many[20:30]:
            one.cancel()
        await asyncio.gather(*many, *others, return_exceptions=True)
        assert max(order.index(f"192.0.2.{number}") for number in (2, 3)) < 12
        assert order.count("192.0.2.1") == 30
        assert not queue._desks
        assert queue._busy_count == 0

    asyncio.run(story())


def test_an_address_that_was_wrong_may_not_have_many_waiting() -> None:
    async def story() -> None:
        queue = PasswordQueue()
        assert await queue.check("192.0.2.1", wrong) is False
        asked = [asyncio.create_task(queue.check("192.0.2.1", wrong)) for _ in range(40)]
        await asyncio.sleep(0.3)
        answers = [one.result() for one in asked if one.done()]
        assert answers.count(None) == 40 - password_queue.WAITING_WRONG_MAX - 1
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)

    asyncio.run(story())


def test_what_is_remembered_of_addresses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_queue, "ADDRESSES_MAX", 100)

    async def story() -> None:
        queue = PasswordQueue()
        for number in range(300):
            await queue.check(f"192.0.{number // 250}.{number % 250}", lambda: False)
        assert len(queue._desks) <= 100

    asyncio.run(story())


def test_addresses_of_one_network_of_ipv6_are_one() -> None:
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:1") == "2001:db8::/64"
    assert neighbourhood("2001:db8:0:1::1") != neighbourhood("2001:db8::1")
    assert neighbourhood("::ffff:192.0.2.1") == neighbourhood("192.0.2.1")
    assert neighbourhood("") == ""
