"""What needs no Ray: settings, files, kept keys, and which replica is asked when."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any, Awaitable, Callable

import pytest
import sotto
from ray.exceptions import ActorDiedError
from starlette.requests import Request

from sotto_ray import Cluster, SettingsError, bounds, encode, files, private_keys, up
from sotto_ray.__main__ import main
from sotto_ray.controller import Controller
from sotto_ray.keys import Keys
from sotto_ray.part import PartNotLoaded, UnknownSession
from sotto_ray.query import Parts, Unavailable

pytestmark = pytest.mark.small


def test_settings_are_read_and_mistakes_named(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("table: tables/people\nstate: state\nreplicas: 2\nhedge_min_ms: 5\n")
    cluster = Cluster.read(file)
    assert (cluster.table, cluster.replicas) == (tmp_path / "tables/people", 2)
    assert cluster.hedge_min_ms == 5.0 and isinstance(cluster.hedge_min_ms, float)
    for text, word in (
        ("table: t\nstate: s\nreplica: 2", "replica"),
        ("table: t", "'state' is missing"),
        ("table: t\nstate: s\nreplicas: 0", "more than 0"),
        ("table: t\nstate: s\nreplicas: two", "expected a number"),
        ("table: t\nstate: s\nreplicas: true", "expected a number"),
        ("table: 7\nstate: s", "expected text"),
        ("- a list", "expected settings"),
        ("{", "cluster.yaml"),
    ):
        file.write_text(text)
        with pytest.raises(SettingsError, match=word):
            Cluster.read(file)
    with pytest.raises(SettingsError):
        Cluster.read(tmp_path / "nothing.yaml")


def test_an_epoch_is_there_when_all_its_parts_are(tmp_path: Path) -> None:
    def put(*names: str) -> None:
        for name in names:
            (tmp_path / name).touch()

    put("epoch-00000001.front", "epoch-00000001.part-0000-of-0002", "epoch-00000001.part-0001-of-0002")
    put("epoch-00000002.front", "epoch-00000002.part-0001-of-0002", "epoch-00000003.sotto", "signing.key")
    put("epoch-00000004.front", "epoch-00000004.part-0000-of-0001", "epoch-00000004.part-0000-of-0002")
    assert [epoch.number for epoch in files.whole(tmp_path)] == [1]
    put("epoch-00000002.part-0000-of-0002")
    found = files.whole(tmp_path)
    assert [epoch.number for epoch in found] == [1, 2]
    assert [part.name[-12:] for part in found[1].parts] == ["0000-of-0002", "0001-of-0002"]


LIMITS = {"max_bytes": 1 << 20, "max_stored_bytes": 1 << 20, "per_network": 2, "per_minute": 0, "ttl_seconds": 3600}
PARAMS = bytes(range(32))


def test_keys_outlive_whoever_keeps_them(tmp_path: Path) -> None:
    keys = Keys(str(tmp_path), LIMITS)
    (one, client), (two, _) = (keys.put("people", PARAMS, "192.0.2.1", each) for each in (b"one", b"two"))
    assert keys.get("people", PARAMS, one) == (client, b"one") and keys.get("people", PARAMS, bytes(16)) is None
    assert keys.get("people", bytes(32), one) is None, "keys for other parameters"
    third, _ = keys.put("people", PARAMS, "192.0.2.1", b"three")
    # Of one network, the one that was used last stays, and the other goes.
    assert keys.get("people", PARAMS, two) is None and keys.usage()["sessions"] == 2
    del keys
    again = Keys(str(tmp_path), LIMITS)
    assert again.get("people", PARAMS, one) == (client, b"one") and again.get("people", PARAMS, third) == (client, b"three")


def test_a_flood_of_keys_pushes_out_its_own(tmp_path: Path) -> None:
    limits = {**LIMITS, "max_bytes": 40_000, "max_stored_bytes": 100_000, "per_network": 0, "per_minute": 50}
    keys = Keys(str(tmp_path), limits)
    honest, _ = keys.put("people", PARAMS, "2001:db8::1", bytes(10_000))
    flood = "192.0.2.1"
    waits = [keys.may_register(flood) for _ in range(60)]
    # Fifty at once and no more; another network is asked nothing of that.
    assert waits[:50] == [None] * 50 and all(isinstance(wait, int) and wait > 0 for wait in waits[51:])
    assert keys.may_register("2001:db8::2") is None
    for _ in range(50):
        keys.put("people", PARAMS, flood, bytes(10_000))
    usage = keys.usage()
    assert usage["disk_bytes"] <= 100_000 and usage["memory_bytes"] <= 40_000 and usage["sessions"] == 10
    assert keys.get("people", PARAMS, honest) is not None


def test_what_answers_and_admitted_keys_take_is_known_beforehand(tmp_path: Path) -> None:
    sotto.encode([bytes(256)] * 4096, tmp_path / "t", scheme="fspiral", parts=1)
    (front, part) = (sotto.Front(next((tmp_path / "t").glob("*.front"))), sotto.Part(next((tmp_path / "t").glob("*.part-*"))))
    assert front.params == part.params and len(front.params) == 32 and front.table == part.table == "t"
    assert part.session_bytes >= front.keys_bytes // 2 and front.answer_bytes > 0


def request(
    pieces: list[bytes | float], method: str = "POST", headers: dict[str, str] | None = None, client: str = "192.0.2.1"
) -> tuple[Request, list[Any]]:
    """A request whose body comes in pieces, with pauses between, and what was taken of it."""
    taken: list[Any] = []

    async def receive() -> Any:
        while pieces:
            piece = pieces.pop(0)
            if isinstance(piece, float):
                await asyncio.sleep(piece)
                continue
            taken.append(piece)
            return {"type": "http.request", "body": piece, "more_body": True}
        return {"type": "http.request", "body": b"", "more_body": False}

    named = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    scope = {"type": "http", "method": method, "path": "/", "query_string": b"", "headers": named, "client": (client, 7)}
    return Request(scope, receive), taken


def test_a_body_takes_memory_as_it_comes_and_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    admission = sotto.RequestAdmission(10, 10, 1 << 20)
    pieces: list[bytes | float] = [bytes(100_000)] * 20

    def read(pieces: list[bytes | float], limit: int, max_wait: float, headers: dict[str, str] | None = None) -> tuple[Any, list[Any]]:
        asked, taken = request(pieces, headers=headers)
        permit = admission.enter("192.0.2.1")
        try:
            return asyncio.run(bounds.body(asked, limit, max_wait, permit)), taken
        except (bounds.Refused, sotto.PeerError) as refused:
            return refused.code, taken
        finally:
            permit.release()

    assert read([b"ab", b"cd"], 4, 10) == (b"abcd", [b"ab", b"cd"])
    assert read([b"ab", b"cde"], 4, 10)[0] == "too-large"
    assert read([b"ab"], 4, 10, {"content-length": "5"}) == ("too-large", []), "unread"
    # A megabyte is all there is, whatever is announced; the rest is not read.
    code, taken = read(list(pieces), 1 << 30, 10)
    assert code in ("busy", "too-large") and len(taken) < 7
    assert read([b"ab", 3600.0, b"cd"], 4, 0.05)[0] == "too-slow"
    # Time is for bytes: whoever sends many has longer.
    monkeypatch.setattr(bounds, "RATE", 10)
    assert read([b"ab", 0.1, b"cd"], 4, 0.05)[0] == b"abcd"
    permit = admission.enter("192.0.2.1")
    permit.grow(1 << 19)


def test_a_response_that_nobody_reads_ends_and_gives_back_what_it_held() -> None:
    admission = sotto.RequestAdmission(1, 1, 1 << 20)

    async def run(stuck_after: int, length: int) -> int:
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            if len(sent) > stuck_after:
                await asyncio.sleep(3600)
            sent.append(message)

        permit = admission.enter("192.0.2.1")
        with pytest.raises(sotto.PeerError):
            admission.enter("192.0.2.2")
        response = bounds.Bounded(bounds.cut(bytes(length)), permit, 0.05, headers={"content-length": str(length)})
        await response({}, None, send)
        admission.enter("192.0.2.2").release()
        assert all(len(message.get("body", b"")) <= bounds.PIECE for message in sent)
        assert sent[0]["status"] == 200 and (b"content-length", str(length).encode()) in sent[0]["headers"]
        return sum(len(message.get("body", b"")) for message in sent)

    assert asyncio.run(run(1000, 1_000_000)) == 1_000_000
    assert asyncio.run(run(3, 1_000_000)) == 3 * bounds.PIECE


def test_a_request_counts_for_the_network_that_it_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    headers = {"x-sotto-peer": "198.51.100.7", "x-forwarded-for": "203.0.113.9"}
    # Nobody in front: what a client says of itself is not believed.
    monkeypatch.delenv("RAY_SERVE_ENABLE_HA_PROXY", raising=False)
    assert bounds.peer(request([], headers=headers)[0]) == "192.0.2.1"
    monkeypatch.setenv("RAY_SERVE_ENABLE_HA_PROXY", "1")
    monkeypatch.setenv("RAY_SERVE_HAPROXY_BINARY_PATH", "/usr/sbin/haproxy")
    assert bounds.peer(request([], headers=headers)[0]) == "192.0.2.1"
    monkeypatch.setenv("RAY_SERVE_HAPROXY_BINARY_PATH", "/opt/bin/sotto-ray-haproxy")
    assert bounds.peer(request([], headers=headers)[0]) == "198.51.100.7"
    assert bounds.peer(request([], headers={"x-sotto-peer": "nobody"})[0]) == "0.0.0.0"
    admission = sotto.RequestAdmission(10, 2, 1 << 20)
    held = [admission.enter("2001:db8::1"), admission.enter("2001:db8::2")]
    with pytest.raises(sotto.PeerError, match="this address") as raised:
        admission.enter("2001:db8::3")
    assert raised.value.code == "busy"
    held.append(admission.enter("2001:db8:1::1"))
    held[0].release()
    held.append(admission.enter("2001:db8::3"))


def test_a_signing_key_is_made_outside_of_what_machines_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source, table, shared = tmp_path / "people.csv", tmp_path / "disk" / "people", tmp_path / "disk"
    source.write_text("name,number\nsotto,7\nvoce,8\n")
    table.mkdir(parents=True)
    (tmp_path / "link").symlink_to(table)

    def make(key: Path) -> None:
        encode(source, table, 1, signing_key=key, key="name", value="number")

    for inside in (table / "signing.key", table / "below" / "any.name", tmp_path / "link" / "signing.key", table / ".." / "people" / "k"):
        with pytest.raises(SettingsError, match="every machine of the cluster reads"):
            make(inside)
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/root / ext4 rw 0 0\nserver:/tables {shared} nfs4 rw 0 0\n")
    monkeypatch.setattr(private_keys, "MOUNTS", mounts)
    with pytest.raises(SettingsError, match="which other machines mount"):
        make(shared / "elsewhere" / "signing.key")
    assert not list(shared.rglob("*.key")) and not list(table.iterdir())
    with pytest.raises(SystemExit):
        main(["encode", str(source), "--parts", "2", "--out", str(table), "--key", "name", "--value", "number"])
    assert "--signing-key" in capsys.readouterr().err
    key = tmp_path / "private" / "signing.key"
    make(key)
    assert key.stat().st_mode & 0o777 == 0o600 and key.parent.stat().st_mode & 0o777 == 0o700
    assert len(files.whole(table)) == 1 and not private_keys.find(table)


def test_a_folder_that_holds_a_private_key_is_not_served(tmp_path: Path) -> None:
    table = tmp_path / "people"
    settings = Cluster.of({"table": "people", "state": "state"}, tmp_path)
    made = sotto.encode([b"row"] * 64, table, parts=1)
    # The key that `sotto.encode` leaves in the folder, the same under another name, and one that was left behind.
    before = (table / "signing.key").read_bytes()
    for name, text in (("signing.key", before), ("harmless.txt", before), ("retired-12345678.key", b""), ("tls.pem", PEM)):
        (table / "signing.key").unlink(missing_ok=True)
        (table / name).write_bytes(text)
        with pytest.raises(SettingsError, match=f"{name} is a private key"):
            up(settings)
        with pytest.raises(SettingsError, match=f"{name} is a private key"):
            encode(tmp_path / "people.csv", table, 1, signing_key=tmp_path / "signing.key")
        # Nor is an epoch taken up that comes with one, by whoever runs already.
        controller = Controller(str(table), str(tmp_path / "state"), [[]], 0)
        assert not controller.reload() and f"{name} is a private key" in str(controller.live()[1])
        (table / name).unlink()
    assert made.epoch == 1 and not private_keys.find(table)


PEM = b"-----BEGIN EC PRIVATE KEY-----\n"


def test_what_clients_registered_is_nobody_elses_to_read(tmp_path: Path) -> None:
    # A folder that an earlier version made, whatever the umask was, and the widest umask there is.
    (tmp_path / "state" / "keys").mkdir(parents=True)
    before = os.umask(0)
    try:
        Keys(str(tmp_path / "state" / "keys"), LIMITS).put("people", PARAMS, "192.0.2.1", b"keys")
        files.write(tmp_path / "state" / "live.json", b"{}")
    finally:
        os.umask(before)
    for found in (tmp_path / "state").rglob("*"):
        assert found.stat().st_mode & 0o777 == (0o700 if found.is_dir() else 0o600), found


def test_the_package_says_its_version() -> None:
    project = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    assert f'"sotto=={sotto.__version__}"' in project and "__version__" in sotto.__all__


class Fake:
    """An actor: what it does when it is asked is given."""

    def __init__(self, does: Callable[[list[Any]], Awaitable[Any]]) -> None:
        self.asked = 0
        self._does = does

    @property
    def answer(self) -> Fake:
        return self

    async def remote(self, digest: str, queries: list[Any]) -> Any:
        self.asked += 1
        return await self._does(queries), 0.001


async def fine(queries: list[Any]) -> Any:
    return [b"partial" for _ in queries]


async def dead(queries: list[Any]) -> Any:
    raise ActorDiedError()


async def stuck(queries: list[Any]) -> Any:
    await asyncio.sleep(3600)


async def new(queries: list[Any]) -> Any:
    raise PartNotLoaded("digest")


def ask(parts: list[list[Fake]], seconds: float = 5, min_s: float = 0.01) -> Any:
    async def run() -> Any:
        asked = Parts([list(replicas) for replicas in parts], min_s)
        for replicas in asked._parts:
            replicas.times.extend([0.001] * 100)
        made = await asked.partials("digest", [(bytes(16), b"q"), (bytes(16), b"r")], time.monotonic() + seconds)
        return made, asked.counts

    return asyncio.run(run())


def test_every_part_is_asked_for_every_query() -> None:
    parts = [[Fake(fine)], [Fake(fine)], [Fake(fine)]]
    made, counts = ask(parts)
    assert made == [[b"partial"] * 3] * 2 and [replicas[0].asked for replicas in parts] == [1, 1, 1]
    assert (counts.hedges, counts.failures) == (0, 0) and counts.seconds == pytest.approx(0.003)


@pytest.mark.parametrize("fails", [dead, new])
def test_another_replica_answers_for_one_that_fails(fails: Any) -> None:
    made, counts = ask([[Fake(fails), Fake(fails), Fake(fine)], [Fake(fine)]])
    assert made == [[b"partial"] * 2] * 2 and counts.failures >= 1


def test_one_that_is_late_is_not_waited_for() -> None:
    began = time.monotonic()
    made, counts = ask([[Fake(fine), Fake(stuck)], [Fake(stuck), Fake(fine)]])
    assert made == [[b"partial"] * 2] * 2 and counts.hedges == 1
    assert time.monotonic() - began < 2


def test_no_answer_is_made_with_a_part_missing() -> None:
    for missing in (dead, stuck):
        with pytest.raises(Unavailable):
            ask([[Fake(fine)], [Fake(missing), Fake(missing)]], seconds=0.3)

    async def fewer(queries: list[Any]) -> Any:
        return []

    with pytest.raises(Unavailable):
        ask([[Fake(fine)], [Fake(fewer)]])


def test_one_that_comes_back_is_asked_again() -> None:
    calls: list[None] = []

    async def twice_dead(queries: list[Any]) -> Any:
        calls.append(None)
        return await (dead if len(calls) < 3 else fine)(queries)

    made, counts = ask([[Fake(twice_dead)]])
    assert made == [[b"partial"]] * 2 and counts.failures == 2


def test_an_unknown_session_is_the_clients_matter() -> None:
    async def unknown(queries: list[Any]) -> Any:
        raise UnknownSession(b"s" * 16)

    fake = Fake(unknown)
    with pytest.raises(UnknownSession):
        ask([[fake, Fake(unknown)]])
