"""Benchmarks as data."""

from __future__ import annotations

import json
from os import PathLike, fspath
from typing import Any, Union

from . import _sotto
from ._progress import ProgressFn


def bench(
    definition: Union[str, PathLike[str]] = "quick",
    *,
    quick: bool = False,
    full: bool = False,
    threads: int | None = None,
    scratch: Union[str, PathLike[str], None] = None,
    progress: ProgressFn | None = None,
) -> list[dict[str, Any]]:
    """Measures schemes as `sotto bench` does, every answer checked; a row for each case: `polars.DataFrame(sotto.bench())`.

    `definition`: the name of one that ships with sotto, or a file of TOML. `quick`: fewer repetitions. `full`: the large cases too.
    `progress(what, done, total)` is called as it goes on. Units are in the names: `_ms`, `_bytes`, `_gb_per_s`.
    """
    folder = None if scratch is None else fspath(scratch)
    report = json.loads(_sotto.bench(fspath(definition), threads, quick, full, folder, progress))
    return [_flat(case) for case in report["measured"]]


def _flat(case: dict[str, Any], before: str = "") -> dict[str, Any]:
    """One level of names, as columns have them."""
    row: dict[str, Any] = {}
    for name, value in case.items():
        if isinstance(value, dict) and name != "params":
            row.update(_flat(value, f"{before}{name}_"))
        elif not isinstance(value, (dict, list)):
            row[before + name] = value
    return row
