"""Our HTTP wire, spoken by Ray Serve: catalogs, artifacts, keys and queries. See spec/wire.md.

Frames are read and answers are made by the Rust core, which also admits requests and keys, as it does for `sotto serve`. Queries of strangers
that come together share a pass.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from dataclasses import dataclass
from typing import Any, AsyncIterator

import ray
import sotto
from ray import serve
from ray.util import metrics
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from . import bounds
from .bounds import Bounded, Refused
from .controller import NAMESPACE
from .environment import names_peers
from .part import UnknownSession
from .query import Parts, Unavailable
from .settings import Cluster

FOLLOW_S = 0.25
"""How often the ingress reads from the controller what is live."""

MOVED = ("stale-epoch", "epoch-ahead", "wrong-params")
"""What a front says to a frame that may be for the other one."""

OCTETS = "application/octet-stream"


@dataclass(frozen=True)
class Query:
    """One query that waits for a pass."""

    front: sotto.Front
    session: bytes
    query: bytes
    until: float


class Ingress:
    """The work of the deployment, without Ray Serve: `deployment` makes one of it."""

    def __init__(self, cluster: Cluster, parts: list[list[str]], keys: str, controller: str) -> None:
        found = {name: ray.get_actor(name, namespace=NAMESPACE) for name in [keys, controller, *sum(parts, [])]}
        self._cluster = cluster
        self._keys, self._controller = found[keys], found[controller]
        self._parts = Parts([[found[name] for name in replicas] for replicas in parts], cluster.hedge_min_ms / 1e3)
        self._fronts: list[sotto.Front] = []
        self._admission = sotto.RequestAdmission(cluster.max_waiting, cluster.max_waiting_per_network, cluster.memory_mib << 20)
        self._sessions = sotto.SessionCache(cluster.session_mib << 20)
        # Bytes of a query's partials, and of admitted keys, by catalog.
        self._sizes: dict[str, tuple[int, int]] = {}
        # Keys are expanded one after the other: a flood of them must not take memory and cores for each at once.
        self._admitting = asyncio.Lock()
        labels = ("outcome",)
        self._query_requests = metrics.Counter("sotto_query_requests", "Query requests by outcome", tag_keys=labels)
        self._lookups = metrics.Counter("sotto_lookups", "Queries answered in passes")
        self._passes = metrics.Counter("sotto_passes", "Passes over the table")
        self._hedges = metrics.Counter("sotto_hedges", "Parts that were queried at another replica because they were late")
        self._failures = metrics.Counter("sotto_part_failures", "Replicas that failed in a pass")
        self._seconds = metrics.Counter("sotto_core_seconds", "Core-seconds of passes")
        self._dollars = metrics.Counter("sotto_dollars", "Cost of these core-seconds, in dollars")
        self._epoch = metrics.Gauge("sotto_live_epoch", "Newest live epoch")
        edges = [0.001 * 2**step for step in range(16)]
        self._answer_s = metrics.Histogram("sotto_answer_seconds", "Time from a query request to its answer", boundaries=edges)
        self._follower: asyncio.Task[None] | None = None
        if sys.platform == "linux" and not names_peers():
            logging.getLogger("ray.serve").warning(
                "requests do not come through sotto-ray-haproxy: clients cannot be distinguished, and Ray Serve buffers bodies; "
                "start Ray with the environment of `sotto ray environment`"
            )
        self._pass.set_max_batch_size(cluster.batch)
        self._pass.set_batch_wait_timeout_s(cluster.batch_wait_ms / 1e3)

    async def check_health(self) -> None:
        """For Ray Serve: whether this one can answer."""
        await self._ready()

    async def _ready(self) -> None:
        if self._follower is None:
            try:
                await self._follow()
            except Unavailable as error:
                raise Refused("not-ready", str(error)) from error
            self._follower = asyncio.ensure_future(self._keep_following())
        if not self._fronts:
            raise Refused("not-ready", "no epoch is live yet")

    async def _keep_following(self) -> None:
        while True:
            await asyncio.sleep(FOLLOW_S)
            try:
                await self._follow()
            except Exception:
                # The controller is started again; what was live goes on.
                continue

    async def _follow(self) -> None:
        """Takes up what is live."""
        live, _ = await self._controller.live.remote()
        held = {front.digest: front for front in self._fronts}
        fronts = []
        for digest, path in live:
            front = held.get(digest)
            if front is None:
                front = await asyncio.to_thread(sotto.Front, path)
                if front.digest != digest:
                    return
            fronts.append(front)
        sizes = {front.digest: self._sizes.get(front.digest) or await self._parts.sizes(front.digest) for front in fronts}
        if fronts:
            self._fronts, self._sizes = fronts, sizes
            self._epoch.set(fronts[0].epoch)

    async def __call__(self, request: Request) -> Response:
        try:
            await self._ready()
            peer = bounds.peer(request)
            # Before anything of a body is read, and until the last byte of the answer is sent.
            return await self._admitted(request, peer, self._admission.enter(peer))
        except Refused as refused:
            return _problem(refused.code, str(refused), refused.epoch, refused.after_s)
        except sotto.PeerError as error:
            if error.code == "busy":
                self._query_requests.inc(tags={"outcome": "busy"})
            return _problem(error.code, str(error), self._fronts[0].epoch if error.code in MOVED else None)

    async def _admitted(self, request: Request, peer: str, permit: sotto.RequestPermit) -> Response:
        response: Response | None = None
        try:
            response = await self._route(request, peer, permit)
            return response
        finally:
            # One that is sent piece by piece gives it back itself.
            if not isinstance(response, Bounded):
                permit.release()

    async def _route(self, request: Request, peer: str, permit: sotto.RequestPermit) -> Response:
        newest = self._fronts[0]
        table = f"/v1/tables/{newest.table}"
        method, path = request.method, request.url.path
        if (method, path) == ("POST", f"{table}/ask"):
            limit = max(front.max_query_frame_bytes for front in self._fronts)
            return await self._query(await self._body(request, limit, permit), permit)
        if (method, path) == ("POST", f"{table}/keys"):
            return await self._register(request, peer, permit)
        if method not in ("GET", "HEAD"):
            raise Refused("wrong-method" if path == table else "no-such-route", "the path does not support this method")
        if path == "/v1/tables":
            return JSONResponse({"tables": [newest.table], "stacks": [], "roles": {}})
        if path == table:
            return self._catalog(request.query_params.get("epoch"))
        if path.startswith("/v1/artifacts/"):
            return self._artifact(path.rpartition("/")[2], request.headers.get("range"), permit)
        if path.startswith("/v1/tables/"):
            raise Refused("no-such-table", "no such table")
        raise Refused("no-such-route", "no such path")

    async def _body(self, request: Request, limit: int, permit: sotto.RequestPermit) -> bytes:
        return await bounds.body(request, limit, self._cluster.max_wait_s, permit)

    def _catalog(self, epoch: str | None) -> Response:
        if epoch is None:
            front = self._fronts[0]
        else:
            named = [front for front in self._fronts if str(front.epoch) == epoch]
            if not named:
                raise Refused("epoch-expired", "the epoch is no longer served", self._fronts[0].epoch)
            front = named[0]
        return Response(front.catalog, media_type=OCTETS, headers={"cache-control": "no-cache"})

    def _artifact(self, digest: str, requested: str | None, permit: sotto.RequestPermit) -> Response:
        for front in self._fronts:
            for name, _, size in front.artifacts:
                if name == digest:
                    return _static((front, digest, size), requested, permit, self._cluster.max_wait_s)
        raise Refused("no-such-artifact", "no live epoch has this artifact")

    async def _register(self, request: Request, peer: str, permit: sotto.RequestPermit) -> Response:
        wait = await self._keys.may_register.remote(peer)
        if wait is not None:
            message = f"too many registrations per minute from one address; the next is possible in {wait} s"
            raise Refused("busy", message, after_s=wait)
        frame = await self._body(request, max(front.keys_bytes for front in self._fronts) or 1, permit)
        front, keys = self._of(lambda front: front.keys(frame))
        session_bytes = self._sizes[front.digest][1]
        permit.grow(session_bytes)
        # What is kept was looked at: a part that reads it later does not fail over it.
        async with self._admitting:
            session = await asyncio.to_thread(front.admit, keys)
        name, client = await self._keys.put.remote(front.table, front.params, peer, keys)
        self._sessions.put(front.table, front.params, name, client, session, session_bytes)
        return Response(name, media_type=OCTETS, headers={"cache-control": "no-store"})

    def _of(self, read: Any) -> tuple[sotto.Front, Any]:
        """What the front says that a frame is for; the newest one's refusal if none is."""
        refusal: sotto.PeerError | None = None
        for front in self._fronts:
            try:
                return front, read(front)
            except sotto.PeerError as error:
                refusal = refusal or error
                if error.code not in MOVED:
                    raise
        raise refusal or Refused("not-ready", "no epoch is live yet")

    async def _query(self, frame: bytes, permit: sotto.RequestPermit) -> Response:
        front, (session, queries) = self._of(lambda front: front.queries(frame))
        began = time.monotonic()
        until = began + self._cluster.deadline_s
        try:
            # Before the pass: what parts send, and what is made of it.
            permit.grow(len(queries) * (self._sizes[front.digest][0] + 2 * front.answer_bytes))
            made = await asyncio.gather(*(self._pass(Query(front, session, query, until)) for query in queries))
            answers = [await self._join(front, session, query, partials) for query, partials in zip(queries, made)]
            frame = front.answers(answers)
        except (Refused, sotto.PeerError) as refused:
            if refused.code != "busy":
                self._query_requests.inc(tags={"outcome": refused.code})
            raise
        self._query_requests.inc(tags={"outcome": "ok"})
        self._answer_s.observe(time.monotonic() - began)
        headers = {"content-type": OCTETS, "cache-control": "no-store", "content-length": str(len(frame))}
        return Bounded(bounds.cut(frame), permit, self._cluster.max_wait_s, headers=headers)

    async def _join(self, front: sotto.Front, session: bytes, query: bytes, partials: Any) -> bytes:
        if isinstance(partials, Refused):
            raise partials
        keys = await self._session(front, session)
        return await asyncio.to_thread(front.join, keys, query, partials)

    async def _session(self, front: sotto.Front, session: bytes) -> sotto.Session | None:
        if not any(session):
            return None
        found = self._sessions.get(front.table, front.params, session)
        if found is not None:
            return found
        async with self._admitting:
            # Another request of the same session may have brought it meanwhile.
            found = self._sessions.get(front.table, front.params, session)
            if found is None:
                stored = await self._keys.get.remote(front.table, front.params, session)
                if stored is None:
                    raise Refused("session-expired", "the session is unknown or expired")
                client, keys = stored
                found = await asyncio.to_thread(front.admit, keys)
                # An epoch that went meanwhile has no sizes any more.
                _, session_bytes = self._sizes.get(front.digest, (0, len(keys)))
                self._sessions.put(front.table, front.params, session, client, found, session_bytes)
        return found

    # Their size and how long one waits are the cluster's.
    @serve.batch(max_concurrent_batches=2)
    async def _pass(self, queries: list[Query]) -> list[Any]:
        """Partials of each query; a refusal in place of those that cannot be answered."""
        made: dict[int, Any] = {}
        for digest in {query.front.digest for query in queries}:
            left = [at for at, query in enumerate(queries) if query.front.digest == digest]
            while left:
                pairs = [(queries[at].session, queries[at].query) for at in left]
                until = min(queries[at].until for at in left)
                try:
                    each = await self._parts.partials(digest, pairs, until)
                except UnknownSession as unknown:
                    for at in [at for at in left if queries[at].session == unknown.session]:
                        made[at] = Refused("session-expired", "the session is unknown or expired")
                        left.remove(at)
                    continue
                except Unavailable as error:
                    made.update((at, Refused("deadline", str(error))) for at in left)
                    break
                for at, partials in zip(left, each):
                    bad = any(partial is None for partial in partials)
                    made[at] = Refused("bad-query", "the query does not fit this table") if bad else partials
                self._lookups.inc(len(left))
                break
            self._passes.inc()
        self._report()
        return [made[at] for at in range(len(queries))]

    def _report(self) -> None:
        counts = self._parts.counts
        deltas = [(self._hedges, counts.hedges), (self._failures, counts.failures), (self._seconds, counts.seconds)]
        deltas.append((self._dollars, counts.seconds / 3600 * self._cluster.dollars_per_core_hour))
        for metric, value in deltas:
            if value > 0:
                metric.inc(value)
        counts.hedges, counts.failures, counts.seconds = 0, 0, 0.0


def _static(
    artifact: tuple[sotto.Front, str, int], requested: str | None, permit: sotto.RequestPermit, max_wait_s: float
) -> Response:
    front, digest, size = artifact
    start, end, status = 0, size, 200
    headers = {"accept-ranges": "bytes", "cache-control": "public, max-age=31536000, immutable", "etag": f'"{digest}"'}
    if requested is not None:
        start, end = _range(requested, size)
        status = 206
        headers["content-range"] = f"bytes {start}-{end - 1}/{size}"
    headers |= {"content-length": str(end - start), "content-type": OCTETS}
    permit.grow(bounds.PIECE)

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(start, end, bounds.PIECE):
            piece = await asyncio.to_thread(front.artifact, digest, at, min(bounds.PIECE, end - at))
            yield piece or b""

    return Bounded(pieces(), permit, max_wait_s, status_code=status, headers=headers)


def _range(requested: str, size: int) -> tuple[int, int]:
    """Where a range begins and ends: `bytes=7-9`, `bytes=7-`, `bytes=-3`."""
    first, dash, last = requested.removeprefix("bytes=").strip().partition("-")
    whole = first + last
    if not requested.startswith("bytes=") or not dash or not (whole.isascii() and whole.isdigit()) or len(whole) > 40:
        raise Refused("bad-range", "the range is not one range inside the artifact")
    if first:
        start, end = int(first), min(int(last) + 1, size) if last else size
    else:
        start, end = max(0, size - int(last)), size
    if start >= end:
        raise Refused("bad-range", "the range is not one range inside the artifact")
    return start, end


def _problem(code: str, message: str, epoch: int | None = None, after_s: int = 1) -> Response:
    status, body = sotto.problem(code, message, epoch)
    headers = {"cache-control": "no-store"}
    if status in (429, 503):
        headers["retry-after"] = str(after_s)
    return Response(body, status_code=status, media_type="application/problem+json", headers=headers)


def deployment(cluster: Cluster) -> Any:
    """The deployment: as many processes as there is work for, within limits."""
    scaling = {"min_replicas": cluster.ingresses, "max_replicas": max(cluster.ingresses, cluster.max_ingresses)}
    return serve.deployment(
        Ingress,
        name="ingress",
        autoscaling_config={**scaling, "target_ongoing_requests": cluster.batch * 2},
        # More than are admitted, so that the others get a proper refusal; and a bound for those that wait even for that.
        max_ongoing_requests=cluster.max_waiting * 2,
        max_queued_requests=cluster.max_waiting * 2,
        ray_actor_options={"num_cpus": 0},
        health_check_period_s=5,
    )
