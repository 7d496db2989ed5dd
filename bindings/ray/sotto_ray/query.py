"""One pass over a table: every part gets every query, and an answer is made of all partials or not at all.

Which replica of a part is queried depends on turns alone, so it reveals nothing of the rows. A late replica
is not waited for: another one is queried too, and the first answer counts. A replica that dies is replaced by another one, until
the time is over.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ray.exceptions import RayError

from .part import PartNotLoaded, UnknownSession, WrongPart

AGAIN_S = 0.05
"""How long to wait before replicas that all failed are queried again."""

SIZES_S = 5.0
"""How long a replica may take to report the time of its answers, before another one is queried."""

LATE = 256
"""Times of a part that its 95th percentile is taken of."""


class Unavailable(Exception):
    """A part has not answered in time: the client may send the same bytes again."""


@dataclass
class Counts:
    """What happened, since it was taken last."""

    hedges: int = 0
    failures: int = 0
    seconds: float = 0.0


@dataclass
class Replicas:
    """The actors that hold one part."""

    actors: list[Any]
    min_s: float
    counts: Counts
    turn: int = 0
    times: deque[float] = field(default_factory=lambda: deque(maxlen=LATE))

    def late_s(self) -> float:
        """From when on an answer is late."""
        if len(self.times) < LATE // 8:
            return max(self.min_s, 1.0)
        return max(self.min_s, sorted(self.times)[int(len(self.times) * 0.95)])

    async def answer(self, digest: str, queries: list[tuple[bytes, bytes]], until: float) -> list[bytes | None]:
        """Partials of one replica: the first to answer."""
        self.turn += 1
        began = time.monotonic()
        untried = [self.actors[(self.turn + at) % len(self.actors)] for at in range(len(self.actors))]
        tasks: set[asyncio.Task[tuple[list[bytes | None], float]]] = set()
        hedged = False
        try:
            while True:
                if not tasks:
                    if not untried:
                        # All have failed. They are started again meanwhile.
                        await asyncio.sleep(min(AGAIN_S, max(0.0, until - time.monotonic())))
                        untried = list(self.actors)
                    tasks.add(asyncio.ensure_future(_answer(untried.pop(0), digest, queries)))
                left = until - time.monotonic()
                if left <= 0:
                    raise Unavailable("a part did not answer in time")
                wait = min(left, self.late_s()) if untried and not hedged else left
                done, _ = await asyncio.wait(tasks, timeout=wait, return_when=asyncio.FIRST_COMPLETED)
                if not done and untried and not hedged:
                    hedged = True
                    self.counts.hedges += 1
                    tasks.add(asyncio.ensure_future(_answer(untried.pop(0), digest, queries)))
                for task in done:
                    tasks.discard(task)
                    error = task.exception()
                    if error is None:
                        partials, seconds = task.result()
                        if len(partials) != len(queries):
                            raise Unavailable("a part gave a malformed answer")
                        self.times.append(time.monotonic() - began)
                        self.counts.seconds += seconds
                        return partials
                    if isinstance(error, UnknownSession):
                        raise error
                    if not isinstance(error, (RayError, PartNotLoaded, WrongPart)):
                        raise error
                    self.counts.failures += 1
        finally:
            for task in tasks:
                task.add_done_callback(_forget)


    async def sizes(self, digest: str) -> tuple[int, int]:
        """Bytes of a partial and of admitted keys, said by whichever replica is there."""
        for actor in self.actors:
            try:
                sizes: tuple[int, int] = await asyncio.wait_for(actor.sizes.remote(digest), SIZES_S)
                return sizes
            except (RayError, PartNotLoaded, asyncio.TimeoutError):
                continue
        raise Unavailable("a part has no replica")


async def _answer(actor: Any, digest: str, queries: list[tuple[bytes, bytes]]) -> tuple[list[bytes | None], float]:
    result: tuple[list[bytes | None], float] = await actor.answer.remote(digest, queries)
    return result


def _forget(task: asyncio.Task[Any]) -> None:
    # A replica that answers late, or dies, no longer matters.
    if not task.cancelled():
        task.exception()


class Parts:
    """All parts of a table."""

    def __init__(self, actors: list[list[Any]], min_s: float) -> None:
        self.counts = Counts()
        self._parts = [Replicas(replicas, min_s, self.counts) for replicas in actors]

    async def sizes(self, digest: str) -> tuple[int, int]:
        """Bytes of the partials of a query, of all parts; and of admitted keys in memory."""
        each = await asyncio.gather(*(part.sizes(digest) for part in self._parts))
        return sum(partial for partial, _ in each), max(session for _, session in each)

    async def partials(self, digest: str, queries: list[tuple[bytes, bytes]], until: float) -> list[list[bytes | None]]:
        """For each query the partials of all parts, in the parts' order."""
        each = [asyncio.ensure_future(part.answer(digest, queries, until)) for part in self._parts]
        try:
            by_part = await asyncio.gather(*each)
        finally:
            for task in each:
                task.add_done_callback(_forget)
        return [list(of_query) for of_query in zip(*by_part)]
