from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from meshwright.live.operating import http
from meshwright.live.operating.http import (
    HttpConnection,
    HttpGuests,
    Request,
    Response,
    json_response,
)


async def answer(request: Request) -> Response:
    if request.path == "/wrong":
        return Response(404, b"no\n")
    return json_response(
        {"method": request.method, "query": request.query, "size": len(request.body)}
    )


async def exchange(sent: bytes) -> bytes:
    loop, guests = asyncio.get_running_loop(), HttpGuests(2)
    server = await loop.create_server(lambda: HttpConnection(answer, guests), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    got = await reader.read()
    writer.close()
    server.close()
    return got


def test_requests_on_one_connection_are_answered_in_turn() -> None:
    first = b"GET /a?b=1 HTTP/1.1\r\nHost: x\r\n\r\n"
    second = b"POST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nxyz"
    got = asyncio.run(exchange(first + second))
    assert got.count(b"HTTP/1.1 200") == 2
    assert b'{"method":"GET","query":{"b":"1"},"size":0}' in got
    assert b'{"method":"POST","query":{},"size":3}' in got


def test_what_is_no_request_is_refused() -> None:
    assert b"HTTP/1.1 400" in asyncio.run(exchange(b"nonsense\r\n\r\n"))
    closing = b"GET /wrong HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert b"HTTP/1.1 404" in asyncio.run(exchange(closing))


GOOD = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize("sent", [b"", b"GET /a HT", GOOD, GOOD + b"GET"])
def test_who_says_nothing_more_is_let_go(sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REQUEST_S", 0.3)
    monkeypatch.setattr(http, "IDLE_S", 0.3)

    async def story() -> None:
        async with asyncio.timeout(10):
            got = await exchange(sent)
        assert got.count(b"HTTP/1.1 200") == sent.count(GOOD)

    asyncio.run(story())


def test_a_request_that_comes_byte_by_byte_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REQUEST_S", 0.5)

    async def story() -> None:
        loop, guests = asyncio.get_running_loop(), HttpGuests(2)
        server = await loop.create_server(lambda: HttpConnection(answer, guests), "127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        begun_s, sent_count = loop.time(), 0
        with suppress(ConnectionError):
            while loop.time() - begun_s < 10:
                writer.write(b"G")
                await writer.drain()
                sent_count += 1
                await asyncio.sleep(0.1)
        assert loop.time() - begun_s < 5
        assert sent_count > 1
        writer.close()
        server.close()

    asyncio.run(story())


def test_who_asks_is_answered_though_many_sit_there_in_silence() -> None:
    async def story() -> None:
        loop, guests = asyncio.get_running_loop(), HttpGuests(4)
        server = await loop.create_server(lambda: HttpConnection(answer, guests), "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        silent = [await asyncio.open_connection(*address) for _ in range(20)]
        reader, writer = await asyncio.open_connection(*address)
        writer.write(GOOD)
        async with asyncio.timeout(10):
            assert b" 200 " in await reader.readuntil(b"\r\n")
            # The oldest made room.
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await silent[0][0].readexactly(1)
        for _, line in (*silent, (reader, writer)):
            line.close()
        server.close()

    asyncio.run(story())


def test_a_door_that_closes_sends_all_away_after_their_answers() -> None:
    async def story() -> None:
        loop, guests = asyncio.get_running_loop(), HttpGuests(4)
        asked, may_answer = asyncio.Event(), asyncio.Event()

        async def slow(request: Request) -> Response:
            asked.set()
            await may_answer.wait()
            return await answer(request)

        server = await loop.create_server(lambda: HttpConnection(slow, guests), "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        silent, asking = [await asyncio.open_connection(*address) for _ in range(2)]
        asking[1].write(GOOD)
        async with asyncio.timeout(10):
            await asked.wait()
            server.close()
            guests.send_away()
            with suppress(ConnectionError):
                assert await silent[0].read() == b""
            may_answer.set()
            assert b" 200 " in await asking[0].read()
        for _, line in (silent, asking):
            line.close()

    asyncio.run(story())


def test_who_was_accepted_as_the_door_closed_is_not_let_in() -> None:
    guests = HttpGuests(2)
    guests.send_away()

    class Wire(asyncio.Transport):
        is_closed = False

        def close(self) -> None:
            self.is_closed = True

        def abort(self) -> None:
            self.is_closed = True

    async def story() -> None:
        wire = Wire()
        HttpConnection(answer, guests).connection_made(wire)
        assert wire.is_closed

    asyncio.run(story())


def test_who_is_not_answered_before_the_loop_ends_is_sent_away() -> None:
    class Wire(asyncio.Transport):
        is_closed = False

        def abort(self) -> None:
            self.is_closed = True

    wire = Wire()

    async def never(request: Request) -> Response:
        del request
        await asyncio.Event().wait()
        raise AssertionError

    async def story() -> None:
        guests = HttpGuests(2)
        connection = HttpConnection(never, guests)
        connection.connection_made(wire)
        connection.data_received(b"GET / HTTP/1.1\r\nHost: b\r\n\r\n")
        await asyncio.sleep(0)
        guests.send_away()
        assert not wire.is_closed

    asyncio.run(story())
    assert wire.is_closed
