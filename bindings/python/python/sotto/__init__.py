"""sotto looks things up in somebody else's table without telling them what was looked up.

    import sotto

    table = sotto.connect("http://127.0.0.1:8080", "words")
    print(table.get(key="sotto"))
    print(table.last.leakage)

The wheel also contains an encoder and a server, with every scheme.
"""

from __future__ import annotations

from ._bench import bench
from ._connect import aconnect, connect
from ._encode import Encoded, encode
from ._errors import (
    Error,
    MisuseError,
    NetworkError,
    ParamsError,
    PeerError,
    RowError,
    StorageError,
    TimeoutError,
    UnreadableError,
)
from ._join import ajoin, join, register_duckdb
from ._self_test import Replayed, self_test
from ._serve import Server, serve
from ._sotto import (
    Column,
    Front,
    KeyStore,
    LookupCost,
    Part,
    RequestAdmission,
    RequestPermit,
    Session,
    SessionCache,
    TableInfo,
    __version__,
    problem,
)
from ._table import Table

__all__ = [
    "Column",
    "Encoded",
    "Error",
    "Front",
    "KeyStore",
    "LookupCost",
    "MisuseError",
    "NetworkError",
    "ParamsError",
    "Part",
    "PeerError",
    "Replayed",
    "RequestAdmission",
    "RequestPermit",
    "RowError",
    "Server",
    "Session",
    "SessionCache",
    "StorageError",
    "Table",
    "TableInfo",
    "TimeoutError",
    "UnreadableError",
    "__version__",
    "aconnect",
    "ajoin",
    "bench",
    "connect",
    "encode",
    "join",
    "problem",
    "register_duckdb",
    "self_test",
    "serve",
]
