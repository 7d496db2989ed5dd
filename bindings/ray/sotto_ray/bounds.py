"""What a client may take of an ingress while it sends and reads: memory for the bytes that are there, and time for as many as come.

A request is admitted before its body is read, and counts until the last byte of its answer is with the client. The counts are those of
`sotto serve` (`sotto.RequestAdmission`).
"""

from __future__ import annotations

import asyncio
import ipaddress
import time
from typing import Any, AsyncIterator, Awaitable, Mapping

import sotto
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from .environment import names_peers

PEER = "x-sotto-peer"
"""Header in which `sotto-ray-haproxy` passes the client's address."""

RATE = 64 << 10
"""Bytes that a client sends, or reads, in a second at least, once the wait is over."""

PIECE = 64 << 10
"""Bytes of an answer that are sent at once: the next are sent when these are taken."""


class Refused(Exception):
    """A refusal of the wire."""

    def __init__(self, code: str, message: str, epoch: int | None = None, after_s: int = 1) -> None:
        super().__init__(message)
        self.code, self.epoch, self.after_s = code, epoch, after_s


def peer(request: Request) -> str:
    """The address that a request counts for. Those that say nothing of it count together."""
    client = request.client.host if request.client is not None else ""
    # Anybody can say this in a header, so it is believed where it is overwritten.
    named = request.headers.get(PEER, "") if names_peers() else client
    try:
        return str(ipaddress.ip_address(named))
    except ValueError:
        return "0.0.0.0"


class Deadline:
    """Deadline for a number of bytes to arrive or leave."""

    def __init__(self, max_wait_s: float) -> None:
        self._until = time.monotonic() + max_wait_s

    async def wait(self, what: Awaitable[Any], done: int) -> Any:
        """Waits no longer than those may take who have sent or read `done` bytes. Raises `TimeoutError`."""
        try:
            return await asyncio.wait_for(what, max(0.001, self._until + done / RATE - time.monotonic()))
        except asyncio.TimeoutError:
            raise TimeoutError from None


async def body(request: Request, limit: int, max_wait_s: float, permit: sotto.RequestPermit) -> bytes:
    """A body that is not longer than any valid one is, and comes in time. Memory is taken for the bytes that come."""
    length = request.headers.get("content-length", "")
    too_large = Refused("too-large", f"the body exceeds {limit} bytes")
    if length.isdigit() and int(length) > limit:
        raise too_large
    read, deadline, pieces = bytearray(), Deadline(max_wait_s), request.stream().__aiter__()
    while True:
        try:
            piece = await deadline.wait(pieces.__anext__(), len(read))
        except StopAsyncIteration:
            return bytes(read)
        except TimeoutError:
            raise Refused("too-slow", "the body did not arrive in time") from None
        except ClientDisconnect:
            raise Refused("malformed", "the body ended early") from None
        if len(read) + len(piece) > limit:
            raise too_large
        # Once here, and once in what is made of it.
        permit.grow(2 * len(piece))
        read += piece


class Bounded(Response):  # type: ignore[misc]
    """A response that is sent piece by piece as its client reads, in time, and then gives back what its request held."""

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        permit: sotto.RequestPermit,
        max_wait_s: float,
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status_code=status_code, headers={"content-length": "0", **(headers or {})})
        self._pieces, self._permit, self._max_wait_s = pieces, permit, max_wait_s

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        deadline, sent = Deadline(self._max_wait_s), 0
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for piece in self._pieces:
                await deadline.wait(send({"type": "http.response.body", "body": piece, "more_body": True}), sent)
                sent += len(piece)
            await deadline.wait(send({"type": "http.response.body", "body": b"", "more_body": False}), sent)
        except TimeoutError:
            # An answer that breaks off closes its connection, and with it all that lies there.
            return
        finally:
            self._permit.release()


async def cut(data: bytes) -> AsyncIterator[bytes]:
    """Pieces of bytes that are there."""
    view = memoryview(data)
    for at in range(0, len(data), PIECE):
        yield bytes(view[at : at + PIECE])
