"""What Python adds to a lookup, beyond what Rust takes for it.

    python bindings/python/bench/overhead.py

Rust takes its own time around each lookup (`LookupCost.total`), at the same places as a program in Rust would. The rest is Python's: the
call, its arguments, the values, the cost.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import sotto

ROWS = 4096
TIMES = 300


def measure(what: str, table: sotto.Table, look_up: Callable[[int], object]) -> None:
    for turn in range(20):
        look_up(turn)
    added, whole = [], []
    for turn in range(TIMES):
        start = time.perf_counter()
        look_up(turn)
        took = time.perf_counter() - start
        cost = table.last
        assert cost is not None
        added.append(took - cost.total)
        whole.append(took)
    tenth = statistics.quantiles(added, n=10)
    print(
        f"{what:28} {statistics.median(added) * 1e6:6.1f} us added (nine in ten below {tenth[-1] * 1e6:6.1f} us), "
        f"of {statistics.median(whole) * 1e6:7.1f} us"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = sotto.encode((row.to_bytes(32, "little") for row in range(ROWS)), Path(folder) / "rows")
        keys = sotto.encode({f"key{row}": f"value{row}" for row in range(ROWS)}, Path(folder) / "keys")
        with sotto.serve([rows, keys]) as server:
            by_row = server.connect("rows", rows.pin)
            by_key = server.connect("keys", keys.pin)
            measure("table.get(row)", by_row, lambda turn: by_row.get(turn % ROWS))
            measure("table.get(key=...)", by_key, lambda turn: by_key.get(key=f"key{turn}"))
            measure("table.get_many of 16 rows", by_row, lambda turn: by_row.get_many(range(turn, turn + 16)))


if __name__ == "__main__":
    main()
