"""Ordinary data in, a table that can be served out."""

from __future__ import annotations

import base64
import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path as AnyPath
from typing import Any, Union

from . import _frames, _sotto
from ._errors import MisuseError

Path = Union[str, "PathLike[str]"]
Column = Union[str, int]


@dataclass(frozen=True)
class Encoded:
    """What was encoded. `sotto.serve` takes it."""

    dir: AnyPath
    """The table's folder."""
    pin: str
    """The key that signs it, which clients pin. Its private half lies in the folder."""
    epoch: int
    rows: int
    row_bytes: int
    once_bytes: int
    """Bytes that a client fetches before its first lookup."""
    security_bits: float
    failure_log2: float
    """log2 of a bound on the probability that a lookup fails."""
    seconds: float
    scheme: str = ""
    """The scheme's id, such as `simplepir/1`."""
    choice: Mapping[str, Any] | None = None
    """Why the scheme was chosen, where none was named: `why`, `lookups`, `epoch_bytes`, `epoch_s`, and the same of the `second` best
    and of a `download`."""
    notes: tuple[str, ...] = ()
    """What was odd about the data, or about the size of what came of it."""

    def __fspath__(self) -> str:
        return str(self.dir)


def encode(
    data: object,
    out: Path,
    *,
    name: str | None = None,
    key: Column | None = None,
    value: Column | None = None,
    row: Column | None = None,
    start: Column | None = None,
    end: Column | None = None,
    key_type: str = "u64",
    block: int = 1,
    key_form: str = "text",
    format: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    row_bytes: int | None = None,
    headroom: int = 0,
    batch: int | None = None,
    parts: int | None = None,
    part: int | str | None = None,
    scheme: str | None = None,
    lookups: int | None = None,
    goal: str | None = None,
    set: str | None = None,
    row_proofs: bool | None = None,
    signing_key: Path | None = None,
    again: bool = False,
    threads: int | None = None,
    attribution: str | None = None,
) -> Encoded:
    """Encodes a table into the folder `out`, to be served by `sotto.serve` or by the command `sotto serve`.

    `data` is
      * a path: a file of CSV, JSON lines or Parquet, whose columns `key` and `value` name; or of raw rows (`format="raw"`),
      * a data frame of polars, pandas or pyarrow, likewise,
      * a mapping of keys to values, for a keyword table,
      * rows, as `bytes` or `str`, for an index table.

    With `key` the table is looked up by key, normalized to `key_form`: text, domain, email, ip, md5 (also NTLM), sha1, sha256,
    phone. With `start` and `end` it is looked up by any key of a range, of `key_type` u64, u32 or ipv4; with `start`
    alone by single keys, or by addresses of prefixes (192.0.2.0/24). Otherwise it is looked up by row number.
    `header`: whether the first line of a CSV file names its columns; implied if a column is given by name.
    `encoding`: how values of a file are written: text, hex, base64, u8, u16, u32, u64, raw.
    `row_bytes`: maximum bytes of a value; `headroom`: number of rows or keys that updates can add.
    `batch`: makes a stack of several tables, one round of which returns up to `batch` rows, or values of keys (up to 4096, or
    2048 if a key may lie in two rows). For large rounds choose a scheme that holds all buckets in one table: vbpir, pirana,
    fastpir, sealpir.
    `parts`: cuts the table into parts and a front, which `sotto.Part` and `sotto.Front` open. `part`: makes only one of them:
    `"front"` first, and then each part by its number, from 0, of the same data with the same arguments, several in parallel.
    A complete part is left as it is.
    `scheme`: by default that of the table's latest epoch, or the one with which a client and its servers spend least for
    `lookups` of one client in an epoch (100); `Encoded.choice` says what it costs, and what the next best does. `lookups` is 1000
    for a named scheme. `goal`, `set`: see `sotto encode --help`.
    `row_proofs`: whether rows have proofs; `None`: if they add at most a tenth.
    `again`: makes the next epoch of an existing table.
    """
    out = AnyPath(fspath(out))
    options: dict[str, Any] = {
        "name": out.name if name is None else name,
        "key": key,
        "value": value,
        "row": row,
        "start": start,
        "end": end,
        "key_type": key_type,
        "block": block,
        "key_form": key_form,
        "format": format,
        "header": header,
        "encoding": encoding or "text",
        "row_bytes": row_bytes,
        "headroom": headroom,
        "batch": batch,
        "parts": parts,
        "part": part,
        "scheme": scheme,
        "lookups": lookups,
        "goal": goal,
        "set": set,
        "row_proofs": row_proofs,
        "signing_key": None if signing_key is None else fspath(signing_key),
        "again": again,
        "threads": threads,
        "attribution": attribution,
    }
    if isinstance(data, (str, PathLike)):
        return _encode(fspath(data), out, options)
    if encoding is not None or format is not None or header is not None:
        raise MisuseError("format, header and encoding apply to files only", "misuse", "omit them: the types tell the encoding")
    with tempfile.TemporaryDirectory(prefix="sotto-") as folder:
        file = AnyPath(folder) / "data.jsonl"
        options.update(_written(data, file, options))
        return _encode(str(file), out, options)


def _encode(input: str, out: AnyPath, options: dict[str, Any]) -> Encoded:
    pin, info = _sotto.encode(input, str(out), options)
    facts = json.loads(info)
    # A table that is downloaded never fails, and JSON has no infinity.
    failure = -math.inf if facts["failure_log2"] is None else facts["failure_log2"]
    return Encoded(dir=out, pin=pin, **{**facts, "failure_log2": failure, "notes": tuple(facts["notes"])})


def _written(data: object, file: AnyPath, options: dict[str, Any]) -> dict[str, Any]:
    """Writes data as JSON lines, and gives how they are to be read."""
    if _frames.kind(data):
        return _write_frame(data, file, options)
    if any(options[column] is not None for column in ("key", "value", "row", "start", "end")):
        raise MisuseError("columns apply to files and data frames only", "misuse", "omit them, or give a file or data frame")
    if isinstance(data, Mapping):
        return _write(file, {"key": iter(data.keys()), "value": iter(data.values())})
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return _write(file, {"value": iter(data)})
    raise TypeError(f"expected a file, a data frame, a mapping or rows, got {type(data).__name__}")


def _write_frame(data: object, file: AnyPath, options: dict[str, Any]) -> dict[str, Any]:
    names = _frames.columns(data)
    columns: dict[str, Iterator[Any]] = {}
    for column in ("key", "row", "start", "end", "value"):
        name = options[column]
        if name is None:
            continue
        if names.count(name) > 1:
            raise MisuseError(f"several columns are named {name!r}", "misuse", "rename all but one")
        if name not in names:
            raise MisuseError(f"no column {name!r}", "misuse", f"give one of {', '.join(map(str, names))}")
        columns[column] = iter(_frames.cells(data, name))
    if not columns:
        raise MisuseError("no column is given", "misuse", "give value=..., and key=... for a keyword table")
    return _write(file, columns)


def _write(file: AnyPath, columns: dict[str, Iterator[Any]]) -> dict[str, Any]:
    kinds: set[str] = set()
    with open(file, "w", encoding="utf-8") as lines:
        for cells in zip(*columns.values()):
            line = dict(zip(columns, cells))
            if "value" in line:
                line["value"] = _value(line["value"], kinds)
            try:
                lines.write(json.dumps(line, ensure_ascii=False) + "\n")
            except UnicodeEncodeError:
                raise MisuseError("a text has an unpaired surrogate", "bad-data", "give text that is valid UTF-8") from None
            except TypeError as error:
                raise MisuseError(str(error), "bad-data", "give keys as text") from None
    if len(kinds) > 1:
        raise MisuseError(f"values have several types: {', '.join(sorted(kinds))}", "bad-data", "give values of one type")
    named = {column: column for column in columns}
    return {**named, "format": "jsonl", "encoding": kinds.pop() if kinds else "text"}


def _value(value: Any, kinds: set[str]) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        kinds.add("base64")
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, str):
        kinds.add("text")
        return value
    raise MisuseError(f"expected a value as bytes or str, got {type(value).__name__}", "bad-data", "convert it to one of these")
