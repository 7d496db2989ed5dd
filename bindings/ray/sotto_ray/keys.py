"""An actor that keeps what clients registered, in files: a restart uploads nothing again.

A file a session, under its id, in 256 folders. Which were used last is known in memory, and begins with when files were written.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

import ray

from . import files


class Keys:
    """The work of the actor, without Ray."""

    def __init__(self, folder: str, most: int) -> None:
        self._folder = files.private_folder(Path(folder))
        self._most = most
        found = []
        for shelf in range(256):
            path = self._folder / f"{shelf:02x}"
            files.private_folder(path)
            for entry in os.scandir(path):
                if len(entry.name) == 32 and entry.is_file():
                    found.append((entry.stat().st_mtime_ns, entry.name))
                elif entry.name.endswith(".draft"):
                    os.unlink(entry.path)
        # Names alone are read, and no keys: a hundred thousand take a second or so.
        self._used: OrderedDict[str, None] = OrderedDict((name, None) for _, name in sorted(found))
        self._lock = threading.Lock()
        self._trim()

    def put(self, keys: bytes) -> bytes:
        """Keeps keys; gives the id of the session. When this comes back they are on the disk."""
        session = secrets.token_bytes(16)
        files.write(self._path(session.hex()), keys)
        with self._lock:
            self._used[session.hex()] = None
            self._trim()
        return session

    def get(self, session: bytes) -> bytes | None:
        """The keys of a session, if they are kept."""
        name = session.hex()
        with self._lock:
            if name not in self._used:
                return None
            self._used.move_to_end(name)
        try:
            return self._path(name).read_bytes()
        except OSError:
            with self._lock:
                self._used.pop(name, None)
            return None

    def count(self) -> int:
        """How many sessions are kept."""
        return len(self._used)

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name

    def _trim(self) -> None:
        while len(self._used) > self._most:
            name, _ = self._used.popitem(last=False)
            self._path(name).unlink(missing_ok=True)


def actor() -> Any:
    """The class of such actors."""
    return ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1, max_concurrency=16)(Keys)
