"""Parts made side by side by Ray's tasks: each alone, so one that fails is made again, and one that is there is left.

What is signed is made by this process, which alone reads the signing key: no machine of the cluster sees it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import ray
import sotto

from . import private_keys
from .up import connect


def encode(
    source: str | Path,
    out: str | Path,
    parts: int,
    *,
    signing_key: str | Path,
    cpus: float = 1,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> sotto.Encoded | None:
    """Cuts a table into parts, from data that every machine sees at the same path. Options are those of `sotto.encode`.

    `signing_key` is a file outside of `out`, and not on a disk that the cluster mounts; it is made if it is not there.

    Run it again after a failure: complete pieces are left as they are. `progress` receives the number of pieces made, and of all pieces.
    Returns what was encoded; `None` if the front was there already.

    A table of keys is made in one piece and then cut, by this process, since where keys lie is drawn for the whole table at once.

    Raises `SettingsError` if the signing key is where machines of the cluster can read it, or another private key is in `out`.
    """
    tell = progress or (lambda done, total: None)
    key = private_keys.check_signing_key(Path(signing_key), Path(out))
    private_keys.refuse(Path(out))
    key.parent.mkdir(parents=True, exist_ok=True, mode=0o700)

    def signed(part: str | None) -> sotto.Encoded:
        return sotto.encode(source, out, parts=parts, part=part, signing_key=key, **options)

    def piece(part: int) -> None:
        sotto.encode(source, out, parts=parts, part=part, **options)

    if options.get("key") is not None:
        made = signed(None)
        tell(parts + 1, parts + 1)
        return made
    # The front first: its catalog has what all parts are made by. One that is there is of a run that was not finished.
    front = None if any(Path(out).glob("epoch-*.front")) else signed("front")
    connect()
    task = ray.remote(num_cpus=cpus, max_retries=3, retry_exceptions=[OSError])(piece)
    left = [task.remote(part) for part in range(parts)]
    tell(1, parts + 1)
    while left:
        done, left = ray.wait(left)
        ray.get(done)
        tell(parts + 1 - len(left), parts + 1)
    return front
