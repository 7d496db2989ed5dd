"""The part of the package that is written in Rust."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, final

__version__: str
"""The version of the package."""

@final
class About:
    """What an open table says of itself, as it is now."""

    @property
    def name(self) -> str: ...
    @property
    def epoch(self) -> int: ...
    @property
    def snapshot(self) -> str: ...
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
    def most(self) -> int: ...
    @property
    def budget(self) -> int | None: ...

@final
class Cost:
    """What a lookup cost. Bytes are those of bodies, to and from all servers; times are in seconds."""

    @property
    def epoch(self) -> int:
        """The epoch that was asked."""
    @property
    def wanted(self) -> int:
        """How many rows or keys were wanted."""
    @property
    def lookups(self) -> int:
        """How many rows were asked for, those included that fill a round up."""
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
    def once_up(self) -> int:
        """Bytes sent so far to open the table: keys."""
    @property
    def once_down(self) -> int:
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
    def opened(self) -> int:
        """Rows that the servers saw opened, in a symmetric table."""
    @property
    def seen(self) -> bytes:
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
    def ask(self, items: Sequence[int | str], batch: int) -> tuple[list[bytes | None], Cost]: ...
    def join(self, keys: object, on: str, into: str, batch: int) -> tuple[Column, Cost]: ...
    def about(self) -> About: ...
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
    def partial_bytes(self) -> int: ...
    def admit(self, keys: bytes) -> Session:
        """Admits a client's keys, as `Front.keys` reads them: once at every part."""
    def answer_many(self, asks: Sequence[tuple[Session | None, bytes]]) -> list[bytes | None]:
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
    def ask_bytes(self) -> int:
        """The largest body of an ask."""
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
        """The id of the session that the body of an ask names (16 bytes, zeros where there are no keys), and its queries."""
    def join(self, session: Session | None, query: bytes, partials: Sequence[bytes]) -> bytes:
        """The answer that the partials of all parts make, in their order: the bytes that the whole table gives."""
    def answers(self, answers: Sequence[bytes]) -> bytes:
        """The body of the response to an ask: an answer to each query, in order."""

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
    told: Callable[[str, int, int], object] | None,
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

def self_test(vector: bytes) -> tuple[str, int, bytes, int]: ...
def serve(
    dirs: Sequence[str | PathLike[str]],
    host: str,
    port: int,
    role: int,
    state: str | PathLike[str] | None,
    threads: int,
) -> Server: ...
