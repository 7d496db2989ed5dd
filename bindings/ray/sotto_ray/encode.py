"""Parts made side by side by Ray's tasks: each alone, so one that fails is made again, and one that is there is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import ray
import sotto


def encode(
    source: str | Path,
    out: str | Path,
    partitions: int,
    *,
    cpus: float = 1,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> None:
    """Cuts a table into parts, from data that every machine sees at the same path. Options are those of `sotto.encode`.

    Run it again after a failure: what is there and whole is left as it is. `progress` is told how many pieces are made, of how many.
    A table of keys is made in one piece and then cut, since where keys lie is drawn for the whole table at once.
    """
    tell = progress or (lambda done, total: None)

    def piece(part: int | str | None) -> None:
        sotto.encode(source, out, partitions=partitions, part=part, **options)

    task = ray.remote(num_cpus=cpus, max_retries=3, retry_exceptions=[OSError])(piece)
    if options.get("key") is not None:
        ray.get(task.remote(None))
        tell(partitions + 1, partitions + 1)
        return
    # The front first: its catalog has what all parts are made by. One that is there is of a run that was not finished.
    if not any(Path(out).glob("epoch-*.front")):
        ray.get(task.remote("front"))
    left = [task.remote(part) for part in range(partitions)]
    tell(1, partitions + 1)
    while left:
        done, left = ray.wait(left)
        ray.get(done)
        tell(partitions + 1 - len(left), partitions + 1)
