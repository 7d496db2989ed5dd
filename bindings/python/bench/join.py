"""A thousand keys looked up in a table: server time of one padded join beside that of single lookups.

    python bindings/python/bench/join.py [KEYS_IN_TABLE] [KEYS_WANTED]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import polars

import sotto

SINGLE = 20


def main(rows: int = 100_000, wanted: int = 1000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = sotto.encode({f"key{row}": f"value{row}" for row in range(rows)}, Path(folder) / "keys")
        with sotto.serve(table) as server, server.connect("keys", table.pin) as keys:
            frame = polars.DataFrame({"key": [f"key{row * 7919 % rows}" for row in range(wanted)]})
            start = time.perf_counter()
            joined = sotto.join(frame, keys, on="key")
            took = time.perf_counter() - start
            cost = keys.last
            assert cost is not None and joined["keys"].null_count() == 0
            print(f"{wanted} keys of {rows}: {took:.2f} s, {cost.rounds} rounds, {cost.up} B up, {cost.down} B down")
            single = 0.0
            for row in range(SINGLE):
                keys.get(key=f"key{row}")
                assert keys.last is not None
                single += keys.last.server or 0.0
            each = single / SINGLE
            print(f"server: {(cost.server or 0) * 1e3:.1f} ms; {wanted} single lookups would take {each * wanted * 1e3:.1f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
