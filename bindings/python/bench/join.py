"""A thousand keys of a million looked up by one padded request: server time beside that of as many single lookups.

    python bindings/python/bench/join.py [SCHEME] [KEYS_IN_TABLE] [KEYS_WANTED]

Keys are mail addresses, values have 16 bytes. Single lookups are of a table of the same keys by the same scheme. Every value is
checked.
"""

from __future__ import annotations

import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

import polars

import sotto

SINGLE = 20
ROUNDS = 3


def address(i: int) -> str:
    return f"person{i * 7919 % 10_000_019}@mail{i % 97}.example"


def main(scheme: str, rows: int, keys_count: int) -> None:
    data = {address(i): f"value {i:010}" for i in range(rows)}
    with tempfile.TemporaryDirectory() as folder:
        def encode(name: str, batch: int | None) -> sotto.Encoded:
            made = sotto.encode(data, Path(folder) / name, key_form="email", scheme=scheme, batch=batch, row_proofs=False)
            shape = f"{made.rows} rows of {made.row_bytes} B"
            print(f"{name}: encoded in {made.seconds:.1f} s, {shape}, fails at most 2^{made.failure_log2:.1f}")
            return made

        single, stack = encode("single", None), encode("stack", keys_count)
        with sotto.serve([single, stack]) as server:
            # One in ten is no key of the table.
            picked = random.Random(1).sample(range(rows), keys_count * 9 // 10)
            keys = [address(i) for i in picked] + [f"nobody{i}@mail.example" for i in range(keys_count - len(picked))]
            frame = polars.DataFrame({"email": keys})
            expected = [data.get(key) for key in keys]
            start = time.perf_counter()
            with server.connect("stack", stack.pin) as table:
                opened = time.perf_counter() - start
                times, costs = [], []
                for _ in range(ROUNDS):
                    start = time.perf_counter()
                    joined = sotto.join(frame, table, on="email", into="value")
                    times.append(time.perf_counter() - start)
                    assert joined["value"].to_list() == expected and table.last is not None
                    costs.append(table.last)
                cost = costs[-1]
                print(
                    f"{scheme}: {keys_count} keys of {rows} in {cost.rounds} round, {cost.padded_lookups} lookups: "
                    f"{statistics.median(times):.2f} s (opened in {opened:.2f} s), {cost.up} B up, {cost.down} B down"
                )
                together = statistics.median(cost.server or 0 for cost in costs)
            with server.connect("single", single.pin) as table:
                each, last = [], None
                for key, value in zip(keys[:SINGLE], expected):
                    found, last = table.get(key=key), table.last
                    assert (found and found.decode()) == value and last is not None
                    each.append(last.server or 0)
                one = statistics.median(each)
                assert last is not None
                print(f"a single lookup: {last.up} B up, {last.down} B down")
            share = together / (one * keys_count)
            print(
                f"server: {together * 1e3:.0f} ms for the round; {one * 1e3:.1f} ms for one key, "
                f"{one * keys_count:.0f} s for {keys_count}: the round takes 1/{1 / share:.0f}"
            )


if __name__ == "__main__":
    scheme, rows, keys_count = sys.argv[1:] + ["pirana", "1000000", "1000"][len(sys.argv) - 1 :]
    main(scheme, int(rows), int(keys_count))
