"""An actor that says which epoch is live.

```text
reload -> a new epoch is whole -> prepare at every replica of every part -> written down -> live -> ingresses take it up
                                          | one fails
                                          v
                                the old epoch goes on, and what is wrong is said
```

The live epoch is in a file before anyone acts on it, so a process that is killed in between finds the old epoch or the new one, and parts that
hold it. The epoch before stays prepared, for clients that are not there yet.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import ray
import sotto

from . import files, private_keys

NAMESPACE = "sotto"
FILE = "live.json"
PREPARING_S = 3600.0
"""How long parts may take to read their images through."""


class Controller:
    """The work of the actor, without Ray."""

    def __init__(self, table: str, state: str, replicas: list[list[str]], every_s: float) -> None:
        """`replicas`: the names of those actors that hold each part. `every_s`: how often to reload; 0: only on request."""
        self._table = Path(table)
        self._file = Path(state) / FILE
        self._replicas = replicas
        self._wrong: str | None = None
        self._live: list[tuple[str, files.Epoch]] = []
        self._reload_lock = threading.Lock()
        self._restore()
        if every_s > 0:
            threading.Thread(target=self._watch, args=(every_s,), daemon=True).start()

    def _watch(self, every_s: float) -> None:
        while True:
            time.sleep(every_s)
            self.reload()

    def _restore(self) -> None:
        """Takes up what an earlier run has written down, as far as its files are still there."""
        try:
            written = json.loads(self._file.read_text(encoding="utf-8"))["live"]
        except (OSError, ValueError, KeyError, TypeError):
            return
        there = {epoch.number: epoch for epoch in files.whole(self._table)}
        self._live = [(digest, there[number]) for digest, number in written if number in there]

    def live(self) -> tuple[list[tuple[str, str]], str | None]:
        """The live epoch and the one before, each as the digest of its catalog and the path of its front; what is wrong."""
        return [(digest, str(epoch.front)) for digest, epoch in self._live], self._wrong

    def live_parts(self, number: int) -> list[tuple[str, str]]:
        """The same, of a part: what a replica opens when it starts."""
        all_parts = ((digest, epoch.parts) for digest, epoch in self._live)
        return [(digest, str(parts[number])) for digest, parts in all_parts if number < len(parts)]

    def reload(self) -> bool:
        """Takes up the newest epoch that is whole, if it is not live. Whether that changed anything."""
        with self._reload_lock:
            return self._reload()

    def _reload(self) -> bool:
        newest = files.whole(self._table)[-1:]
        if not newest or self._live and newest[0].number <= self._live[0][1].number:
            return False
        try:
            digest = self._prepare(newest[0])
        except Exception as error:
            # The old epoch goes on. What was prepared is let go with the next one that is live.
            self._wrong = f"epoch {newest[0].number} is refused: {_first_line(error)}"
            return False
        live = [(digest, newest[0]), *self._live[:1]]
        files.private_folder(self._file.parent)
        text = json.dumps({"live": [(each, epoch.number) for each, epoch in live]})
        files.write(self._file, text.encode())
        self._live, self._wrong = live, None
        digests = [each for each, _ in live]
        for name in (name for names in self._replicas for name in names):
            _found(name).keep.remote(digests)
        return True

    def _prepare(self, epoch: files.Epoch) -> str:
        """Opens an epoch everywhere; gives the digest of its catalog. Raises if any part cannot."""
        private_keys.refuse(self._table)
        front = sotto.Front(epoch.front)
        if len(epoch.parts) != len(self._replicas):
            raise ValueError(f"the epoch has {len(epoch.parts)} parts, expected {len(self._replicas)}: start the cluster again")
        digest = front.digest
        preparing = [
            _found(name).prepare.remote(digest, str(path))
            for path, names in zip(epoch.parts, self._replicas)
            for name in names
        ]
        ready = ray.get(preparing, timeout=PREPARING_S)
        if set(ready) != {digest}:
            raise ValueError("parts and front are from different encodings")
        return digest


def _found(name: str) -> Any:
    return ray.get_actor(name, namespace=NAMESPACE)


def _first_line(error: Exception) -> str:
    cause = getattr(error, "cause", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[-1]


def actor() -> Any:
    """The class of such actors."""
    # While it prepares an epoch it answers replicas that have just started.
    return ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, max_concurrency=16)(Controller)
