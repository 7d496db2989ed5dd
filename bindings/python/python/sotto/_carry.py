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
Transport = Callable[[str, str, dict[str, str], bytes], Answer]
"""`transport(method, path, headers, body) -> (status, headers, body)`; the path begins with a slash."""
AsyncTransport = Callable[[str, str, dict[str, str], bytes], Awaitable[Answer]]
"""The same, to be awaited."""


class AsyncCarrier:
    """Has a coroutine carry requests on the loop of whoever awaits."""

    def __init__(self, timeout: float) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._timeout = timeout

    def over(self, transport: AsyncTransport) -> Transport:
        """A function for Rust, which calls it from a thread that is not the loop's."""

        async def carried(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
            return await transport(method, path, headers, body)

        def carry(method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
            if self.loop is None or self.loop.is_closed():
                raise RuntimeError("the loop that carries requests is gone")
            answer = asyncio.run_coroutine_threadsafe(carried(method, path, headers, body), self.loop)
            try:
                return answer.result(self._timeout)
            except concurrent.futures.TimeoutError:
                answer.cancel()
                raise builtins.TimeoutError(f"no answer within {self._timeout} s") from None

        return carry


def is_async(transport: object) -> bool:
    """Whether what a transport gives has to be awaited."""
    call = getattr(transport, "__call__", None)
    return inspect.iscoroutinefunction(transport) or inspect.iscoroutinefunction(call)
