"""Requests over the caller's own HTTP stack."""

from __future__ import annotations

import asyncio
import builtins
import concurrent.futures
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Union

Headers = Union[Mapping[str, str], Iterable[tuple[str, str]]]
Answer = tuple[int, Headers, bytes]
TransportFn = Callable[[str, str, dict[str, str], bytes], Answer]
"""`transport(method, path, headers, body) -> (status, headers, body)`; the path begins with a slash."""
AsyncTransportFn = Callable[[str, str, dict[str, str], bytes], Awaitable[Answer]]
"""A transport that is awaited."""


class AsyncTransport:
    """Sends requests by a coroutine function, on the event loop of the caller that awaits."""

    def __init__(self, timeout: float) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._timeout = timeout

    def over(self, transport: AsyncTransportFn) -> TransportFn:
        """A function for Rust, which calls it from a thread that is not the loop's."""

        async def send(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
            return await transport(method, path, headers, body)

        def call(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
            if self.loop is None or self.loop.is_closed():
                raise RuntimeError("the event loop of the transport is closed")
            answer = asyncio.run_coroutine_threadsafe(send(method, path, headers, body), self.loop)
            try:
                return answer.result(self._timeout)
            except concurrent.futures.TimeoutError:
                answer.cancel()
                raise builtins.TimeoutError(f"no answer within {self._timeout} s") from None

        return call


def is_async(transport: object) -> bool:
    """Whether what a transport gives has to be awaited."""
    method = getattr(transport, "__call__", None)
    return inspect.iscoroutinefunction(transport) or inspect.iscoroutinefunction(method)
