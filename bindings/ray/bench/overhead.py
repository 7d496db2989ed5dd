"""What Ray costs: lookups at a table in parts, in one process and as actors, in turns.

python overhead.py MIB PARTS SCHEME    prints medians, and the ratio
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import ray
import sotto

from sotto_ray import Cluster, down, status, up
from sotto_ray.environment import environment

ROW = 256
ROUNDS = 40


def timed(table: sotto.Table, row: int) -> float:
    began = time.perf_counter()
    table.get(row)
    return time.perf_counter() - began


def main() -> None:
    mib, parts, scheme = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        rows = (mib << 20) // ROW
        source = [os.urandom(ROW) for _ in range(rows)]
        made = sotto.encode(source, folder / "rows", scheme=scheme, parts=parts, signing_key=folder / "signing.key")
        os.environ.update(environment())
        ray.init(num_cpus=max(parts, os.cpu_count() or 1), log_to_driver=False, include_dashboard=False)
        cluster = Cluster.of({"table": "rows", "state": "state", "port": 18_311, "reload_every_s": 0}, folder)
        url = up(cluster).url
        with sotto.serve(folder / "rows") as server:
            alone, over = server.connect("rows", made.pin), sotto.connect(url, "rows", made.pin)
            for warm in (alone, over):
                warm.get(0)
            times: tuple[list[float], list[float]] = ([], [])
            for at in range(ROUNDS):
                for table, kept in zip((alone, over), times):
                    kept.append(timed(table, at * 7919 % rows))
        one, many = (statistics.median(each) * 1e3 for each in times)
        print(f"{scheme}, {mib} MiB in {parts} parts, {ROUNDS} lookups each, in turns, medians:")
        print(f"one process {one:.1f} ms, Ray {many:.1f} ms: {many / one:.2f} times")
        passes = [replica["core_seconds"] / replica["queries"] * 1e3 for replica in status(cluster)["replicas"]]
        print(f"of which a part's passes took {max(passes):.1f} ms on average")
        down(cluster)
        ray.shutdown()


if __name__ == "__main__":
    main()
