"""A server in this process, for notebooks and tests."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Union

from . import _sotto
from ._connect import connect
from ._table import Table

Path = Union[str, "PathLike[str]"]


class Server:
    """A running server: `sotto.serve` gives one. It ends with `close`, with its `with` block, or with the process."""

    def __init__(self, rust: _sotto.Server) -> None:
        self._rust = rust

    @property
    def url(self) -> str:
        """Where clients connect."""
        return self._rust.url

    @property
    def admin_url(self) -> str:
        """Where `/healthz` and `/metrics` are."""
        return self._rust.admin_url

    @property
    def tables(self) -> list[str]:
        """Its tables, by name."""
        return self._rust.tables

    def connect(self, table: str, pin: str | None = None, **options: Any) -> Table:
        """As `sotto.connect`, at this server."""
        return connect(self.url, table, pin, **options)

    def reload(self) -> bool:
        """Looks for new epochs now, and gives whether any table changed."""
        return self._rust.reload()

    def close(self) -> None:
        """Finishes what is in flight, and ends."""
        self._rust.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<sotto.Server {self.url}, {', '.join(self.tables)}>"


def serve(
    path: Path | Sequence[Path],
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    role: int = 0,
    state: Path | None = None,
    threads: int = 0,
) -> Server:
    """Serves the tables in these folders, each written by `sotto encode` or `sotto.encode`, on threads of its own.

    `port`: 0 takes a free one. `role`: which of a scheme's servers this one is. `state`: a folder that keeps clients' keys over
    restarts. `threads`: of a pass over a table; 0 for one per core. For a public server, run the command `sotto serve`.
    """
    paths = [path] if isinstance(path, (str, PathLike)) else list(path)
    dirs = [fspath(each) for each in paths]
    state_dir = None if state is None else fspath(state)
    return Server(_sotto.serve(dirs, host, port, role, state_dir, threads))
