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

from sotto_ray import Cluster, SettingsError, encode, files, private_keys, up
from sotto_ray.__main__ import main
from sotto_ray.ask import Parts, Unavailable
from sotto_ray.keys import Keys
from sotto_ray.part import NotHeld, UnknownSession
from sotto_ray.steward import Steward

pytestmark = pytest.mark.small


def test_settings_are_read_and_mistakes_named(tmp_path: Path) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text("table: tables/people\nstate: state\nreplicas: 2\nhedge_least_ms: 5\n")
    cluster = Cluster.read(file)
    assert (cluster.table, cluster.replicas) == (tmp_path / "tables/people", 2)
    assert cluster.hedge_least_ms == 5.0 and isinstance(cluster.hedge_least_ms, float)
    for text, word in (
        ("table: t\nstate: s\nreplica: 2", "replica"),
        ("table: t", "'state' is missing"),
        ("table: t\nstate: s\nreplicas: 0", "more than 0"),
        ("table: t\nstate: s\nreplicas: two", "is a number"),
        ("table: t\nstate: s\nreplicas: true", "is a number"),
        ("table: 7\nstate: s", "is a text"),
        ("- a list", "a list of settings"),
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


def test_keys_outlive_whoever_keeps_them(tmp_path: Path) -> None:
    keys = Keys(str(tmp_path), 2)
    one, two = keys.put(b"one"), keys.put(b"two")
    assert keys.get(one) == b"one" and keys.get(bytes(16)) is None
    third = keys.put(b"three")
    # The one that was used last stays, and the other goes.
    assert (keys.get(one), keys.get(two), keys.count()) == (b"one", None, 2)
    (tmp_path / "00" / ".draft-of-somebody.1.draft").touch()
    again = Keys(str(tmp_path), 2)
    assert (again.get(one), again.get(third), again.count()) == (b"one", b"three", 2)
    assert not list(tmp_path.glob("*/.*"))


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
        main(["encode", str(source), "--partitions", "2", "--out", str(table), "--key", "name", "--value", "number"])
    assert "--signing-key" in capsys.readouterr().err
    key = tmp_path / "private" / "signing.key"
    make(key)
    assert key.stat().st_mode & 0o777 == 0o600 and key.parent.stat().st_mode & 0o777 == 0o700
    assert len(files.whole(table)) == 1 and not private_keys.find(table)


def test_a_folder_that_holds_a_private_key_is_not_served(tmp_path: Path) -> None:
    table = tmp_path / "people"
    settings = Cluster.of({"table": "people", "state": "state"}, tmp_path)
    made = sotto.encode([b"row"] * 64, table, partitions=1)
    # The key that `sotto.encode` leaves in the folder, the same under another name, and one that was left behind.
    kept = (table / "signing.key").read_bytes()
    for name, text in (("signing.key", kept), ("harmless.txt", kept), ("retired-12345678.key", b""), ("tls.pem", PEM)):
        (table / "signing.key").unlink(missing_ok=True)
        (table / name).write_bytes(text)
        with pytest.raises(SettingsError, match=f"{name} is a private key"):
            up(settings)
        with pytest.raises(SettingsError, match=f"{name} is a private key"):
            encode(tmp_path / "people.csv", table, 1, signing_key=tmp_path / "signing.key")
        # Nor is an epoch taken up that comes with one, by whoever runs already.
        steward = Steward(str(table), str(tmp_path / "state"), [[]], 0)
        assert not steward.look() and f"{name} is a private key" in str(steward.live()[1])
        (table / name).unlink()
    assert made.epoch == 1 and not private_keys.find(table)


PEM = b"-----BEGIN EC PRIVATE KEY-----\n"


def test_what_clients_registered_is_nobody_elses_to_read(tmp_path: Path) -> None:
    # A folder that an earlier version made, whatever the umask was, and the widest umask there is.
    (tmp_path / "state" / "keys" / "00").mkdir(parents=True)
    before = os.umask(0)
    try:
        Keys(str(tmp_path / "state" / "keys"), 2).put(b"keys")
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

    async def remote(self, digest: str, asks: list[Any]) -> Any:
        self.asked += 1
        return await self._does(asks), 0.001


async def fine(asks: list[Any]) -> Any:
    return [b"partial" for _ in asks]


async def dead(asks: list[Any]) -> Any:
    raise ActorDiedError()


async def stuck(asks: list[Any]) -> Any:
    await asyncio.sleep(3600)


async def new(asks: list[Any]) -> Any:
    raise NotHeld("digest")


def ask(parts: list[list[Fake]], seconds: float = 5, least: float = 0.01) -> Any:
    async def run() -> Any:
        asked = Parts([list(replicas) for replicas in parts], least)
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

    async def fewer(asks: list[Any]) -> Any:
        return []

    with pytest.raises(Unavailable):
        ask([[Fake(fine)], [Fake(fewer)]])


def test_one_that_comes_back_is_asked_again() -> None:
    calls: list[None] = []

    async def twice_dead(asks: list[Any]) -> Any:
        calls.append(None)
        return await (dead if len(calls) < 3 else fine)(asks)

    made, counts = ask([[Fake(twice_dead)]])
    assert made == [[b"partial"]] * 2 and counts.failures == 2


def test_an_unknown_session_is_the_clients_matter() -> None:
    async def unknown(asks: list[Any]) -> Any:
        raise UnknownSession(b"s" * 16)

    fake = Fake(unknown)
    with pytest.raises(UnknownSession):
        ask([[fake, Fake(unknown)]])
