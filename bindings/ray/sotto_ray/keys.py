"""An actor that keeps what clients registered: a restart uploads nothing again.

The store is that of `sotto serve`: one file for this user alone, bounded by bytes and by networks, with as many registrations of a network
as may be in a minute. Where bytes run out, the network that has the most gives way.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import ray
import sotto

from . import files

OPENING_S = 120.0
"""How long to wait for the process before this one, on another machine, to let the file go."""

SWEEP_S = 60.0


class Keys:
    """The work of the actor, without Ray."""

    def __init__(self, folder: str, limits: dict[str, int]) -> None:
        """`limits` are those of `sotto.KeyStore`."""
        state = files.private_folder(Path(folder))
        until = time.monotonic() + OPENING_S
        while True:
            try:
                self._store = sotto.KeyStore(state, **limits)
                break
            except sotto.StorageError as error:
                if "another server uses it" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(1)
        self._swept = time.monotonic()

    def may_register(self, peer: str) -> int | None:
        """Counts a registration of a client at an address; the seconds until it may register, if that is not now."""
        return self._store.may_register(peer)

    def put(self, table: str, params: bytes, peer: str, keys: bytes) -> tuple[bytes, bytes]:
        """Stores keys; gives the id of the session and the name of its client. When this comes back they are on the disk."""
        session = self._store.put(table, params, peer, keys)
        stored = self.get(table, params, session)
        if stored is None:
            raise sotto.StorageError("keys are evicted as soon as they are stored", "storage", "raise stored_mib")
        return session, stored[0]

    def get(self, table: str, params: bytes, session: bytes) -> tuple[bytes, bytes] | None:
        """The name of the client of a session and its keys, if they are kept."""
        if time.monotonic() - self._swept > SWEEP_S:
            self._swept = time.monotonic()
            self._store.sweep()
        return self._store.get(table, params, session)

    def usage(self) -> dict[str, int]:
        """What is kept."""
        sessions, memory, disk = self._store.usage()
        return {"sessions": sessions, "memory_bytes": memory, "disk_bytes": disk}


def actor() -> Any:
    """The class of such actors."""
    return ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, max_concurrency=16)(Keys)
