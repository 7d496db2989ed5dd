"""Awaitable twins, over the caller's own HTTP stack."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import MAILS, World, square
from test_lookup import http

import sotto


async def raw_http(
    url: str, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, list[tuple[str, str]], bytes]:
    """HTTP/1.1 by hand over asyncio's streams: a stack that is nobody's but the caller's."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"{method} {path} HTTP/1.1", f"host: {host}", "connection: close", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    writer.write("\r\n".join([*lines, "", ""]).encode() + body)
    head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    status, *fields = head.decode().split("\r\n")
    pairs = [(name, value.strip()) for name, _, value in (field.partition(":") for field in fields)]
    return int(status.split()[1]), pairs, answer


def test_the_callers_stack_carries_all(world: World) -> None:
    paths = []

    async def transport(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        paths.append((method, path))
        return await raw_http(world.server.url, method, path, headers, body)

    async def main() -> None:
        # An address that nobody could connect to: it only names the server.
        table = await sotto.aconnect("https://nowhere.invalid", "mails", world.mails.pin, transport=transport)
        assert await table.aget(key="user3@example.com") == MAILS["user3@example.com"]
        assert await table.aget_many(["user4@example.com", "nobody@x.y"]) == [MAILS["user4@example.com"], None]
        assert table.last is not None and table.last.padded_lookups % 16 == 0
        assert table.last.server is not None
        assert not await table.arefresh()
        for blocked in (lambda: table.get(key="user3@example.com"), table.refresh):
            with pytest.raises(sotto.MisuseError, match="await"):
                blocked()

    asyncio.run(main())
    assert [method for method, path in paths if path.endswith("/ask")] == ["POST", "POST"]
    assert any(method == "GET" for method, _ in paths)


def test_many_at_once(world: World) -> None:
    """Two tables' requests are under way together: each waits for the other."""

    async def main() -> None:
        both = asyncio.Event()
        waiting = 0

        async def transport(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
            nonlocal waiting
            if path.endswith("/ask"):
                waiting += 1
                if waiting == 2:
                    both.set()
                await asyncio.wait_for(both.wait(), 60)
            return await raw_http(world.server.url, method, path, headers, body)

        async def look_up(row: int) -> bytes:
            table = await sotto.aconnect("here", "squares", world.squares.pin, transport=transport)
            return await table.aget(row)

        assert list(await asyncio.gather(look_up(21), look_up(22))) == [square(21), square(22)]

    asyncio.run(main())


def test_a_transport_that_needs_threads_too(world: World) -> None:
    """Names are looked up in threads that the loop lends, of which there are few."""

    async def transport(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        await asyncio.to_thread(lambda: None)
        return await raw_http(world.server.url, method, path, headers, body)

    async def look_up(row: int) -> bytes:
        table = await sotto.aconnect("here", "squares", world.squares.pin, transport=transport)
        return await table.aget(row)

    async def main() -> None:
        found = await asyncio.wait_for(asyncio.gather(*map(look_up, range(40))), 120)
        assert list(found) == [square(row) for row in range(40)]

    asyncio.run(main())


def test_without_a_transport(world: World) -> None:
    async def main() -> None:
        table = await sotto.aconnect(world.server.url, "squares", world.squares.pin)
        assert await table.aget(5) == square(5)
        assert table.get(6) == square(6)
        found = await asyncio.gather(*(table.aget(row) for row in range(4)))
        assert found == [square(row) for row in range(4)]
        with pytest.raises(IndexError):
            await table.aget(-1)

    asyncio.run(main())


def test_a_transport_that_fails(world: World) -> None:
    async def broken(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        raise OSError("cable cut")

    async def stalls(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        await asyncio.sleep(60)

    async def main() -> None:
        with pytest.raises(sotto.NetworkError) as raised:
            await sotto.aconnect("here", "words", transport=broken, max_wait=0.1)
        assert isinstance(raised.value.__cause__, OSError)
        with pytest.raises(sotto.TimeoutError):
            await sotto.aconnect("here", "words", transport=stalls, timeout=0.2, max_wait=0.1)

    asyncio.run(main())
    with pytest.raises(sotto.MisuseError, match="aconnect"):
        sotto.connect("here", "words", transport=broken)  # type: ignore[arg-type]


def test_a_blocking_transport(world: World) -> None:
    def transport(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        return http(world.server.url, method, path, headers, body)

    table = sotto.connect("here", "squares", world.squares.pin, transport=transport)
    assert table.get(9) == square(9)
    with pytest.raises(sotto.MisuseError, match="transport for each address"):
        sotto.connect(["one", "two"], "squares", transport=transport)
