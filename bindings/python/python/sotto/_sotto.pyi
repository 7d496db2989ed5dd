"""The part of the package that is written in Rust."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, final

__version__: str
"""The version of the package."""

@final
class TableInfo:
    """Properties of an open table in its current epoch."""

    @property
    def name(self) -> str: ...
    @property
    def epoch(self) -> int: ...
    @property
    def snapshot(self) -> str: ...
    @property
    def anchor(self) -> str | None: ...
    @property
    def rows(self) -> int: ...
    @property
    def row_bytes(self) -> int: ...
    @property
    def scheme(self) -> str: ...
    @property
    def servers(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def key_form(self) -> str | None: ...
    @property
    def value(self) -> str: ...
    @property
    def signer(self) -> str: ...
    @property
    def trust(self) -> str: ...
    @property
    def verified(self) -> bool: ...
    @property
    def stack(self) -> bool: ...
    @property
    def max_batch(self) -> int: ...
    @property
    def budget(self) -> int | None: ...

@final
class LookupCost:
    """Cost of a lookup. Bytes are those of bodies, to and from all servers; times are in seconds."""

    @property
    def epoch(self) -> int:
        """Epoch of the lookup."""
    @property
    def requested(self) -> int:
        """Number of requested rows or keys."""
    @property
    def padded_lookups(self) -> int:
        """Number of lookups, padding included."""
    @property
    def rounds(self) -> int:
        """Requests, to each server."""
    @property
    def up(self) -> int:
        """Bytes sent."""
    @property
    def down(self) -> int:
        """Bytes received."""
    @property
    def setup_up(self) -> int:
        """Bytes sent so far to open the table: keys."""
    @property
    def setup_down(self) -> int:
        """Bytes received so far to open the table: the catalog, the hint."""
    @property
    def total(self) -> float:
        """All that Rust did for it."""
    @property
    def query(self) -> float:
        """Making the queries."""
    @property
    def round_trip(self) -> float:
        """From the first byte sent to the last received."""
    @property
    def recover(self) -> float:
        """Reading the answers."""
    @property
    def server(self) -> float | None:
        """What the slowest server says its passes over the table took, if it says so."""
    @property
    def queued(self) -> float | None:
        """What it says requests waited for them."""
    @property
    def rows_opened(self) -> int:
        """Rows that the servers saw opened, in a symmetric table."""
    @property
    def query_prefix(self) -> bytes:
        """The first bytes of the first query, as the first server saw them."""
    @property
    def leakage(self) -> str:
        """What the servers saw, in words."""

@final
class Column:
    """A column of values, as Arrow data: polars, pyarrow and others take it as it is."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...
    def to_list(self) -> list[Any]:
        """`str` or `bytes`, and `None` for what the table does not have."""

@final
class Table:
    def look_up(self, lookups: Sequence[int | str], batch: int) -> tuple[list[bytes | None], LookupCost]: ...
    def join(self, keys: object, on: str, into: str, batch: int) -> tuple[Column, LookupCost]: ...
    def about(self) -> TableInfo: ...
    def refresh(self) -> bool: ...
    def close(self) -> None: ...

@final
class Session:
    """Keys that were admitted. Every part and front of one encoding takes it, in this process."""

@final
class Part:
    """An open part of a table that is cut: it answers with partials, of which `Front.join` makes answers.

    The file is checked against its digests (`verify`), and then mapped. `threads`: of its own; 0 for one per core.
    """

    def __new__(cls, path: str | PathLike[str], threads: int = 0, verify: bool = True) -> Part: ...
    @property
    def part(self) -> int:
        """Its number, from 0 on."""
    @property
    def parts(self) -> int:
        """How many there are."""
    @property
    def digest(self) -> str:
        """That of the catalog: parts and front of one encoding have the same."""
    @property
    def table(self) -> str: ...
    @property
    def params(self) -> bytes:
        """The digest of the parameters: sessions are for a table and its parameters, at whichever epoch."""
    @property
    def session_bytes(self) -> int:
        """What admitted keys take in memory."""
    @property
    def partial_bytes(self) -> int: ...
    def admit(self, keys: bytes) -> Session:
        """Admits a client's keys, as `Front.keys` reads them: once at every part."""
    def answer_many(self, queries: Sequence[tuple[Session | None, bytes]]) -> list[bytes | None]:
        """Partials of many clients' queries, in one pass; `None` for what is no query. The session is `None` where a scheme has no keys."""

@final
class Front:
    """An open front of a table that is cut: the catalog, what clients fetch, requests read and answers made of partials.

    What a client sends wrong raises `PeerError`, whose `code` is that of the wire: `sotto.problem` makes the response.
    """

    def __new__(cls, path: str | PathLike[str], verify: bool = True) -> Front: ...
    @property
    def table(self) -> str: ...
    @property
    def epoch(self) -> int: ...
    @property
    def parts(self) -> int: ...
    @property
    def digest(self) -> str:
        """That of the catalog: parts and front of one encoding have the same."""
    @property
    def catalog(self) -> bytes:
        """The signed catalog: the body of `GET /v1/tables/{table}`."""
    @property
    def params(self) -> bytes:
        """The digest of the parameters: sessions are for a table and its parameters, at whichever epoch."""
    @property
    def answer_bytes(self) -> int:
        """An answer to one query."""
    @property
    def max_query_frame_bytes(self) -> int:
        """The largest body of a query request."""
    @property
    def keys_bytes(self) -> int:
        """The body of a registration; 0 if the scheme has no keys."""
    @property
    def artifacts(self) -> list[tuple[str, str, int]]:
        """What clients fetch: digest, name and bytes of each."""
    def artifact(self, digest: str, start: int, bytes: int) -> bytes | None:
        """A range of one of them; `None` if there is no such."""
    def keys(self, frame: bytes) -> bytes:
        """The keys in the body of a registration."""
    def admit(self, keys: bytes) -> Session:
        """Admits keys, for `join`."""
    def queries(self, frame: bytes) -> tuple[bytes, list[bytes]]:
        """The id of the session that the body of a query request names (16 bytes, zeros where there are no keys), and its queries."""
    def join(self, session: Session | None, query: bytes, partials: Sequence[bytes]) -> bytes:
        """The answer that the partials of all parts make, in their order: the bytes that the whole table gives."""
    def answers(self, answers: Sequence[bytes]) -> bytes:
        """The body of the response to a query request: an answer to each query, in order."""

@final
class RequestAdmission:
    """Admits requests up to limits: requests at once, requests of one network (0: no limit), and bytes of all of them.

    A network is an IPv4 address or the first 64 bits of an IPv6 address. A request above a limit raises `PeerError` with the code `busy`.
    """

    def __new__(cls, requests: int, per_network: int, max_bytes: int) -> RequestAdmission: ...
    def enter(self, peer: str) -> RequestPermit:
        """Admits a request of a client at this IP address."""

@final
class RequestPermit:
    """A request that was admitted, and the memory that it holds, until it is released or collected."""

    def grow(self, bytes: int) -> None:
        """Takes that many more bytes, or raises `PeerError` and takes none."""
    def release(self) -> None: ...

@final
class KeyStore:
    """Clients' keys: in memory, and in the folder `state` over restarts, which one process at a time has open.

    When bytes run out, the least recently used keys of the network with the most bytes are evicted. One network has so many
    sessions (`per_network`), and may register so often (`per_minute`); 0 is any number.
    """

    def __new__(
        cls, state: str | PathLike[str] | None, max_bytes: int, max_stored_bytes: int, per_network: int, per_minute: int, ttl_seconds: int
    ) -> KeyStore: ...
    def may_register(self, peer: str) -> int | None:
        """Counts a registration of a client at this IP address; the seconds until it may register, if that is not now."""
    def put(self, table: str, params: bytes, peer: str, keys: bytes) -> bytes:
        """Stores keys for a table and the digest of its parameters; gives the id of the session."""
    def get(self, table: str, params: bytes, session: bytes) -> tuple[bytes, bytes] | None:
        """The name of the client, which is a keyed hash of its network, and its keys."""
    def sweep(self) -> None:
        """Drops what has expired, and writes down what was used."""
    def usage(self) -> tuple[int, int, int]:
        """Sessions, their bytes in memory, and those on disk."""

@final
class SessionCache:
    """Admitted keys of this process, up to a number of bytes: the least recently used of the client with the most are evicted first."""

    def __new__(cls, max_bytes: int) -> SessionCache: ...
    def get(self, table: str, params: bytes, session: bytes) -> Session | None: ...
    def put(self, table: str, params: bytes, session: bytes, client: bytes, admitted: Session, session_bytes: int) -> None: ...
    @property
    def bytes(self) -> int: ...

@final
class Server:
    @property
    def url(self) -> str: ...
    @property
    def admin_url(self) -> str: ...
    @property
    def tables(self) -> list[str]: ...
    def reload(self) -> bool: ...
    def close(self) -> None: ...

def bench(
    definition: str,
    threads: int | None,
    quick: bool,
    full: bool,
    scratch: str | None,
    progress: Callable[[str, int, int], object] | None,
) -> str: ...
def connect(
    urls: Sequence[str],
    table: str,
    transports: Sequence[Callable[[str, str, dict[str, str], bytes], object]],
    options: Mapping[str, object],
    progress: Callable[[str, int, int], object] | None,
) -> Table: ...
def encode(
    input: str | PathLike[str], out: str | PathLike[str], options: Mapping[str, object]
) -> tuple[str, str]: ...
def problem(code: str, message: str, epoch: int | None = None) -> tuple[int, bytes]:
    """A refusal as the wire has it: the status, and a body of `application/problem+json`."""

def self_test(vector: bytes) -> tuple[str, int | None, bytes, int]: ...
def serve(
    dirs: Sequence[str | PathLike[str]],
    host: str,
    port: int,
    role: int,
    state: str | PathLike[str] | None,
    threads: int,
) -> Server: ...
