"""Which table, whom to trust, where to keep things."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike, fspath
from typing import Any, Union

from . import _sotto
from ._errors import MisuseError
from ._progress import Progress, ProgressFn, progress_fn
from ._table import BATCH, Table
from ._transport import AsyncTransport, AsyncTransportFn, TransportFn, is_async

Path = Union[str, "PathLike[str]"]
AnyTransportFn = Union[TransportFn, AsyncTransportFn]


def connect(
    url: str | Sequence[str],
    table: str,
    pin: str | None = None,
    *,
    snapshot: str | None = None,
    anchor: str | None = None,
    policy: str | None = None,
    witness_age: float = 86_400.0,
    batch: int = BATCH,
    cache: Path | None = None,
    state: Path | None = None,
    in_memory: bool = False,
    require_row_proofs: bool = False,
    require_authenticated_answers: bool = False,
    fresh_keys: bool = False,
    timeout: float = 60.0,
    max_wait: float = 120.0,
    trust_root: Path | None = None,
    insecure_plaintext: bool = False,
    key_file: Path | None = None,
    rollback_dir: Path | None = None,
    transport: TransportFn | Sequence[TransportFn] | None = None,
    progress: Progress = False,
) -> Table:
    """Opens a table, or a stack: fetches its catalog and what its scheme needs once.

    `url`: the server's address; for a scheme of several servers all addresses, in the order of their roles.
    `pin`: the publisher's key, as `sotto encode` prints it; `sotto-pq:...` demands an ML-DSA-44 signature too. Without a pin the first
        key seen is trusted, and with a `cache` no other afterwards.
    `snapshot`: the only epoch to accept, by the digest of its catalog (`Table.snapshot`, `sotto inspect`); the table then follows no
        updates.
    `anchor`: the state of another system that the table has to be made from, such as a block of a chain (`sotto encode --anchor`); any
        other is refused.
    `policy`: the text of a trust policy (C2SP tlog-policy): only a table in a log of it, with the cosignatures of its quorum, is
        accepted; `witness_age`: the maximum age of cosignatures in seconds.
    `batch`: the number of lookups to whose multiples `get_many` pads its rounds.
    `cache`: a folder that stores hints and keys. Without it each opening fetches them again.
    `state`: a folder for hints that queries spend, which must not be copied; `in_memory`: they are lost with the process.
    `require_row_proofs`: refuses a table without row proofs. Where a table has them, they are always verified.
    `require_authenticated_answers`: refuses a table unless its rows are verified and a refused answer tells its server nothing of the
        row.
    `fresh_keys`: registers keys for this opening alone, so that the server cannot link it to others by its keys.
    `timeout`: the time limit of a request; `max_wait`: the time to wait for a busy server; both in seconds.
    `trust_root`: a PEM file of the root certificates to trust, in place of the web's.
    `transport`: sends requests in place of sotto's own connections, a function for each server:
        `transport(method, path, headers, body) -> (status, headers, body)`. `url` then only names the server for the cache.
    `progress`: `True` for bars of tqdm, or a function `(stage, done, total)`.
    """
    transports = _transports(transport)
    if any(is_async(each) for each in transports):
        raise MisuseError(
            "the transport is asynchronous", "misuse", "await sotto.aconnect(...) instead of sotto.connect(...)"
        )
    rust = _open(_urls(url), table, transports, _options(locals()), progress_fn(progress))
    return Table(rust, batch)


async def aconnect(
    url: str | Sequence[str],
    table: str,
    pin: str | None = None,
    *,
    snapshot: str | None = None,
    anchor: str | None = None,
    policy: str | None = None,
    witness_age: float = 86_400.0,
    batch: int = BATCH,
    cache: Path | None = None,
    state: Path | None = None,
    in_memory: bool = False,
    require_row_proofs: bool = False,
    require_authenticated_answers: bool = False,
    fresh_keys: bool = False,
    timeout: float = 60.0,
    max_wait: float = 120.0,
    trust_root: Path | None = None,
    insecure_plaintext: bool = False,
    key_file: Path | None = None,
    rollback_dir: Path | None = None,
    transport: AnyTransportFn | Sequence[AnyTransportFn] | None = None,
    progress: Progress = False,
) -> Table:
    """As `connect`, to be awaited. A `transport` may be a coroutine function, which then runs on this loop."""
    options = _options(locals())
    async_transport = AsyncTransport(timeout)
    transports: list[Any] = []
    has_async = False
    for each in _transports(transport):
        has_async |= is_async(each)
        transports.append(async_transport.over(each) if is_async(each) else each)
    async_transport.loop = asyncio.get_running_loop()
    # A thread of its own: those that the loop lends may all be wanted by what carries the requests.
    worker = ThreadPoolExecutor(1, thread_name_prefix="sotto")
    try:
        opening = (_urls(url), table, transports, options, progress_fn(progress))
        rust = await async_transport.loop.run_in_executor(worker, _open, *opening)
    except BaseException:
        worker.shutdown(wait=False)
        raise
    return Table(rust, batch, async_transport if has_async else None, worker)


_PATHS = ("cache", "state", "trust_root", "key_file", "rollback_dir")
_OPTIONS = (
    *_PATHS,
    "pin",
    "snapshot",
    "anchor",
    "policy",
    "witness_age",
    "in_memory",
    "require_row_proofs",
    "require_authenticated_answers",
    "fresh_keys",
    "timeout",
    "max_wait",
    "insecure_plaintext",
)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """Options for the Rust library, from the arguments of a call."""
    options = {name: given[name] for name in _OPTIONS}
    for name in _PATHS:
        options[name] = None if options[name] is None else fspath(options[name])
    return options


def _open(
    urls: list[str], table: str, transports: list[Any], options: dict[str, Any], progress: ProgressFn | None
) -> _sotto.Table:
    if transports and len(urls) != len(transports):
        raise MisuseError(
            f"{len(transports)} transports for {len(urls)} addresses", "misuse", "give one transport for each address"
        )
    return _sotto.connect(urls, table, transports, options, progress)


def _urls(url: str | Sequence[str]) -> list[str]:
    return [url] if isinstance(url, str) else list(url)


def _transports(transport: Any) -> list[Any]:
    if transport is None:
        return []
    return [transport] if callable(transport) else list(transport)
