"""An actor that holds a part's image mapped, and answers with partials.

It holds the epochs that it has to prepare, the live one and the one before. Ray starts it again when it dies; it then asks the
controller for the live epoch, opens it, and fetches clients' keys when queries use them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import ray
import sotto


class WrongPart(Exception):
    """A file is not the part that it should be."""


class PartNotLoaded(Exception):
    """This replica does not hold an epoch: it has just started, or the epoch is over."""


class UnknownSession(Exception):
    """These keys are not stored anywhere: the client has to register them again."""

    def __init__(self, session: bytes) -> None:
        super().__init__(session)
        self.session = session


class Part:
    """The work of the actor, without Ray: `actor` makes one of it."""

    def __init__(self, number: int, threads: int, session_bytes: int, keys: Any, controller: Any) -> None:
        """Admitted keys take `session_bytes` at most. `keys` and `controller` are actors; without them nothing is fetched."""
        self._number = number
        self._threads = threads
        self._keys = keys
        self._held: dict[str, sotto.Part] = {}
        self._sessions = sotto.SessionCache(session_bytes)
        self._seconds = 0.0
        self._queries = 0
        # What is live is opened before Ray says that this one is there.
        for digest, path in ray.get(controller.live_parts.remote(number)) if controller is not None else []:
            self.prepare(digest, path)

    @ray.method(concurrency_group="aside")
    def prepare(self, digest: str, path: str) -> str:
        """Opens a part and compares its bytes with their digests, once. Gives the digest of its catalog."""
        if digest not in self._held:
            part = sotto.Part(Path(path), threads=self._threads)
            if part.part != self._number or part.digest != digest:
                raise WrongPart(f"{path} is part {part.part} of catalog {part.digest}, not {self._number} of {digest}")
            self._held[digest] = part
        return self._held[digest].digest

    @ray.method(concurrency_group="aside")
    def keep(self, digests: list[str]) -> None:
        """Lets all other epochs go."""
        self._held = {digest: part for digest, part in self._held.items() if digest in digests}

    @ray.method(concurrency_group="aside")
    def held(self) -> list[str]:
        """The catalogs whose part is open."""
        return sorted(self._held)

    def answer(self, digest: str, queries: list[tuple[bytes, bytes]]) -> tuple[list[bytes | None], float]:
        """Partials of queries, each behind the id of its session, in one pass; and the seconds that it took."""
        part = self._held.get(digest)
        if part is None:
            raise PartNotLoaded(digest)
        sessions = [self._session(part, session) for session, _ in queries]
        began = time.perf_counter()
        partials = part.answer_many(list(zip(sessions, (query for _, query in queries))))
        took = time.perf_counter() - began
        self._seconds += took
        self._queries += len(queries)
        return partials, took

    @ray.method(concurrency_group="aside")
    def work(self) -> tuple[float, int]:
        """Seconds of passes, and queries, since it started."""
        return self._seconds, self._queries

    @ray.method(concurrency_group="aside")
    def sizes(self, digest: str) -> tuple[int, int]:
        """Bytes of a partial, and of admitted keys in memory."""
        part = self._held.get(digest)
        if part is None:
            raise PartNotLoaded(digest)
        return part.partial_bytes, part.session_bytes

    def _session(self, part: sotto.Part, session: bytes) -> sotto.Session | None:
        if not any(session):
            return None
        found = self._sessions.get(part.table, part.params, session)
        if found is None:
            stored = ray.get(self._keys.get.remote(part.table, part.params, session))
            if stored is None:
                raise UnknownSession(session)
            client, keys = stored
            found = part.admit(keys)
            self._sessions.put(part.table, part.params, session, client, found, part.session_bytes)
        return found


def actor(threads: int) -> Any:
    """The class of such actors: started again whenever they die, each with cores for itself."""
    # An epoch is prepared beside the passes, which go on one after the other.
    groups = {"aside": 1}
    return ray.remote(num_cpus=threads, max_restarts=-1, max_task_retries=0, concurrency_groups=groups)(Part)
