"""An open table."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, SupportsIndex, TypeVar, overload

from . import _sotto
from ._errors import MisuseError
from ._transport import AsyncTransport

T = TypeVar("T")

BATCH = 16
"""Default number of lookups to whose multiples rounds are padded."""


class Table:
    """An open table, from `sotto.connect`.

    Lookups of one table are made one after the other, whichever threads call; those of several tables run in parallel. Work is done
    without the interpreter's lock.
    """

    def __init__(
        self,
        rust: _sotto.Table,
        batch: int,
        async_transport: AsyncTransport | None = None,
        worker: ThreadPoolExecutor | None = None,
    ) -> None:
        self._rust = rust
        self._batch = batch
        self._async_transport = async_transport
        self._last: _sotto.LookupCost | None = None
        self._worker = worker

    # What is looked up.

    @overload
    def get(self, row: SupportsIndex) -> bytes: ...
    @overload
    def get(self, row: str) -> bytes | None: ...
    @overload
    def get(self, *, key: str | int) -> bytes | None: ...
    def get(self, row: Any = None, *, key: Any = None) -> bytes | None:
        """The row of this number; or the value of a key, `None` if the table does not have it. The server sees no difference."""
        return self._look_up([_lookup(row, key)], 1)[0]

    def get_many(self, lookups: Iterable[int | str], *, batch: int | None = None) -> list[bytes | None]:
        """Several rows, or the values of several keys, in as few rounds as possible.

        Lookups are padded to a multiple of `batch`, so the server sees the number of batches, and not that of lookups. What does not
        fit into one request takes several. A stack hides the number by itself.
        """
        return self._look_up(_lookups(lookups), self._batch if batch is None else batch)

    def _look_up(self, lookups: list[Any], batch: int) -> list[bytes | None]:
        self._refuse_waiting()
        return self._look_up_here(lookups, batch)

    def _look_up_here(self, lookups: list[Any], batch: int) -> list[bytes | None]:
        values, self._last = self._rust.look_up(lookups, batch)
        return values

    def _join_here(self, keys: object, on: str, into: str, batch: int) -> _sotto.Column:
        column, self._last = self._rust.join(keys, on, into, batch)
        return column

    def _refuse_waiting(self) -> None:
        if self._async_transport is not None:
            raise MisuseError(
                "this table's transport is asynchronous",
                "misuse",
                "await aget and aget_many, or connect without a transport",
            )

    # The same, to be awaited.

    @overload
    async def aget(self, row: SupportsIndex) -> bytes: ...
    @overload
    async def aget(self, row: str) -> bytes | None: ...
    @overload
    async def aget(self, *, key: str | int) -> bytes | None: ...
    async def aget(self, row: Any = None, *, key: Any = None) -> bytes | None:
        """As `get`."""
        return (await self._run(partial(self._look_up_here, [_lookup(row, key)], 1)))[0]

    async def aget_many(self, lookups: Iterable[int | str], *, batch: int | None = None) -> list[bytes | None]:
        """As `get_many`."""
        return await self._run(
            partial(self._look_up_here, _lookups(lookups), self._batch if batch is None else batch)
        )

    async def arefresh(self) -> bool:
        """As `refresh`."""
        return await self._run(self._rust.refresh)

    async def _run(self, call: Callable[[], T]) -> T:
        """Runs a call in a thread of this table, while the event loop carries its requests."""
        loop = asyncio.get_running_loop()
        if self._async_transport is not None:
            self._async_transport.loop = loop
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, thread_name_prefix="sotto")
        return await loop.run_in_executor(self._worker, call)

    # What there is to know of it.

    @property
    def last(self) -> _sotto.LookupCost | None:
        """What the last lookup cost, and what the server saw of it; `None` before the first."""
        return self._last

    @property
    def about(self) -> _sotto.TableInfo:
        """Properties of the table in its current epoch."""
        return self._rust.about()

    @property
    def name(self) -> str:
        """Name of the table."""
        return self.about.name

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.about.rows

    @property
    def row_bytes(self) -> int:
        """Bytes in a row."""
        return self.about.row_bytes

    @property
    def scheme(self) -> str:
        """The scheme's id, such as `simplepir/1`."""
        return self.about.scheme

    @property
    def epoch(self) -> int:
        """Epoch that lookups use."""
        return self.about.epoch

    @property
    def snapshot(self) -> str:
        """The digest of that epoch's catalog: what `connect(snapshot=...)` takes."""
        return self.about.snapshot

    @property
    def key_form(self) -> str | None:
        """Form of keys, such as `email`; `None` if it is looked up by row number."""
        return self.about.key_form

    @property
    def signer(self) -> str:
        """Public key of the publisher, which `connect(pin=...)` takes."""
        return self.about.signer

    @property
    def trust(self) -> str:
        """Why that key is trusted: `pinned`, `remembered` or `first-use`."""
        return self.about.trust

    @property
    def verified(self) -> bool:
        """Whether each row is verified against the signed root."""
        return self.about.verified

    def refresh(self) -> bool:
        """Checks for a newer epoch, and returns whether there is one. Lookups do so by themselves when the old one expires."""
        self._refuse_waiting()
        return self._rust.refresh()

    def close(self) -> None:
        """Closes the table, which also happens when it is garbage-collected."""
        self._rust.close()
        if self._worker is not None:
            self._worker.shutdown(wait=False)

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        about = self.about
        lookup_kind = f"looked up by {about.key_form} key" if about.key_form else "looked up by row"
        return f"<sotto.Table {about.name!r}, epoch {about.epoch}, {about.rows} rows, {lookup_kind}, {about.scheme}>"


def _lookup(row: Any, key: Any) -> Any:
    if (row is None) == (key is None):
        raise TypeError("get() takes either a row or key=...")
    return row if key is None else _key(key)


def _key(key: Any) -> Any:
    """A key is text. An integer is the text that it is printed as; of anything else Rust says that it is none."""
    if isinstance(key, (str, bool)) or not hasattr(key, "__index__"):
        return key
    try:
        return str(operator.index(key))
    except ValueError:  # more digits than Python prints
        return key


def _lookups(lookups: Iterable[int | str]) -> list[Any]:
    if isinstance(lookups, (str, bytes)):
        raise TypeError(f"get_many() takes several rows or keys, got one {type(lookups).__name__}: put it into a list")
    return list(lookups)
