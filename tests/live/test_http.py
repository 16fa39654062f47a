from __future__ import annotations

import asyncio

from meshwright.live.http import HttpConnection, Request, Response, json_response


async def answer(request: Request) -> Response:
    if request.path == "/wrong":
        return Response(404, b"no\n")
    return json_response(
        {"method": request.method, "query": request.query, "size": len(request.body)}
    )


async def exchange(sent: bytes) -> bytes:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: HttpConnection(answer), "127.0.0.1", 0)
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
