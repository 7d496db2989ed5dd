"""A table in four parts on a Ray of this machine: lookups while actors die and epochs change."""

from __future__ import annotations

import http.client
import json
import select
import socket
import threading
import time
from pathlib import Path
from typing import Any, Iterator

import pytest
import ray
import sotto
from conftest import WHOLE, Scale
from ray import serve

from sotto_ray import Cluster, SettingsError, down, encode, status, up
from sotto_ray.__main__ import main
from sotto_ray.controller import NAMESPACE

ROWS = 4000
PORT = 18_231


def row(number: int, epoch: int) -> bytes:
    return f"row {number} of epoch {epoch}".encode().ljust(32)


def write(folder: Path, epoch: int, parts: int = WHOLE.parts) -> sotto.Encoded:
    rows = [row(number, epoch) for number in range(ROWS)]
    return sotto.encode(rows, folder, parts=parts, again=epoch > 1, signing_key=folder.parent / "signing.key")


@pytest.fixture(scope="module")
def local() -> Iterator[None]:
    ray.init(num_cpus=WHOLE.parts * 2, namespace=NAMESPACE, log_to_driver=False, include_dashboard=False)
    yield
    serve.shutdown()
    ray.shutdown()


def cluster(tmp_path: Path, **more: Any) -> Cluster:
    text = {"table": "people", "state": "state", "replicas": 2, "port": PORT, "reload_every_s": 0, **more}
    return Cluster.of(text, tmp_path)


class Askers:
    """Clients that ask without a pause, and what came of it."""

    def __init__(self, url: str, pin: str, count: int) -> None:
        self.over = threading.Event()
        self.good: list[tuple[float, float, int]] = []
        self.wrong: list[str] = []
        self.lost: list[str] = []
        self._threads = [threading.Thread(target=self._ask, args=(url, pin, at)) for at in range(count)]
        for thread in self._threads:
            thread.start()

    def _ask(self, url: str, pin: str, seed: int) -> None:
        table = sotto.connect(url, "people", pin)
        number = seed
        while not self.over.is_set():
            number = (number * 7919 + 13) % ROWS
            began = time.monotonic()
            try:
                value = table.get(number)
            except sotto.Error as error:
                self.lost.append(f"{type(error).__name__}: {error}")
                continue
            if value not in (row(number, 1), row(number, 2), row(number, 3)):
                self.wrong.append(f"{number}: {value!r}")
            self.good.append((began, time.monotonic() - began, int(value.rstrip()[-1:])))

    def end(self) -> None:
        self.over.set()
        for thread in self._threads:
            thread.join(60)


def kill(part: int, replica: int) -> None:
    ray.kill(ray.get_actor(f"people/part-{part}/{replica}", namespace=NAMESPACE), no_restart=False)


@pytest.mark.small
def test_lookups_while_actors_die_and_epochs_change(tmp_path: Path, local: None, scale: Scale) -> None:
    made = write(tmp_path / "people", 1, scale.parts)
    settings = cluster(tmp_path, max_waiting_per_network=8, max_wait_s=2)
    running = up(settings)
    assert (running.parts, running.replicas) == (scale.parts, 2)
    controller = ray.get_actor("people/controller", namespace=NAMESPACE)
    askers, last = Askers(running.url, made.pin, 3), max(scale.epochs.values())
    try:
        for step in range(scale.kills):
            time.sleep(scale.quiet_s)
            kill(step % scale.parts, step % 2)
            if step in scale.epochs:
                write(tmp_path / "people", scale.epochs[step], scale.parts)
                # Replicas that are being started again are waited for: the epoch is live everywhere or nowhere.
                deadline = time.monotonic() + 60
                while not ray.get(controller.reload.remote()):
                    assert time.monotonic() < deadline, ray.get(controller.live.remote())
                    time.sleep(0.2)
        # Until they have asked for a while in the last epoch too.
        deadline = time.monotonic() + 60
        while sum(epoch == last for _, _, epoch in list(askers.good)) < 20 and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        askers.end()
    assert not askers.wrong and not askers.lost, (askers.wrong[:3], askers.lost[:3])
    seen = [epoch for _, _, epoch in sorted(askers.good)]
    assert seen[0] == 1 and seen.count(last) >= 20 and set(seen) <= set(range(1, last + 1))
    assert sotto.connect(running.url, "people", made.pin).get(7) == row(7, last)
    slow_bodies_take_their_networks_places_and_not_for_long()
    found = status(settings)
    assert found["up"] and found["wrong"] is None and len(found["live"]) == 2
    assert len(found["replicas"]) == scale.parts * 2
    down(settings)
    assert not status(settings)["up"]


def slow_bodies_take_their_networks_places_and_not_for_long() -> None:
    head = b"POST /v1/tables/people/ask HTTP/1.1\r\nhost: localhost\r\ncontent-length: 64\r\n\r\n"
    deadline = time.monotonic() + 60
    # On a slow machine the first may time out before the last has come, or a whole request may come between: one more round.
    while not refuses_one_more(head):
        assert time.monotonic() < deadline
    assert asked_quickly(head)[0] == 400


def refuses_one_more(head: bytes) -> bool:
    """Whether eight requests of this network, none of them with a whole body, made the server refuse one more; and ended in time."""
    slow = [socket.create_connection(("127.0.0.1", PORT), 30) for _ in range(8)]
    for each in slow:
        each.sendall(head + b"1")
    refused = False
    while not refused and not select.select(slow, [], [], 0)[0]:
        refused = asked_quickly(head) == (429, "busy")
    ends = {each.recv(12) for each in slow}
    for each in slow:
        each.close()
    # A whole request that came before the last slow one took its place.
    assert ends <= {b"HTTP/1.1 408", b"HTTP/1.1 429"}
    return refused and ends == {b"HTTP/1.1 408"}


def asked_quickly(head: bytes) -> tuple[int, str]:
    """The status of a whole request, and its code."""
    with socket.create_connection(("127.0.0.1", PORT), 30) as connection:
        connection.sendall(head + bytes(64))
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status, json.loads(response.read())["code"]


def test_keys_are_kept_and_a_restart_uploads_none(tmp_path: Path, local: None) -> None:
    rows = [row(number, 1).ljust(256) for number in range(20_000)]
    made = sotto.encode(rows, tmp_path / "people", parts=WHOLE.parts, scheme="fspiral", signing_key=tmp_path / "s.key")
    settings = cluster(tmp_path, replicas=1)
    up(settings)
    table = sotto.connect(f"http://127.0.0.1:{PORT}", "people", made.pin)
    assert table.get_many([1, 2, 19_999]) == [rows[1], rows[2], rows[19_999]]
    assert status(settings)["keys"]["sessions"] == 1
    for part in range(WHOLE.parts):
        kill(part, 0)
    assert table.get(7) == rows[7]
    down(settings)
    up(settings)
    assert table.get(8) == rows[8]
    assert status(settings)["keys"]["sessions"] == 1, "nothing was uploaded again"
    down(settings)


def test_an_epoch_with_a_damaged_part_is_not_taken(tmp_path: Path, local: None) -> None:
    made = write(tmp_path / "people", 1)
    settings = cluster(tmp_path, replicas=1)
    up(settings)
    write(tmp_path / "people", 2)
    (part,) = (tmp_path / "people").glob("epoch-00000002.part-0002-*")
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.unlink()
    part.write_bytes(data)
    controller = ray.get_actor("people/controller", namespace=NAMESPACE)
    assert not ray.get(controller.reload.remote())
    found = status(settings)
    assert "epoch 2 is not taken" in found["wrong"] and len(found["live"]) == 1
    table = sotto.connect(f"http://127.0.0.1:{PORT}", "people", made.pin)
    assert table.get(3) == row(3, 1)
    down(settings)


def test_parts_are_made_side_by_side(tmp_path: Path, local: None) -> None:
    source = tmp_path / "people.csv"
    source.write_text("number,name\n" + "".join(f"{at},person {at}\n" for at in range(20_000)))
    seen: list[tuple[int, int]] = []
    signing_key = tmp_path / "private" / "signing.key"
    encode(source, tmp_path / "people", 3, signing_key=signing_key, value="name", row_bytes=32, progress=lambda *at: seen.append(at))
    assert seen[0] == (1, 4) and seen[-1] == (4, 4)
    # What is there and whole is left as it is, and what is missing is made.
    (lost,) = (tmp_path / "people").glob("*.part-0001-*")
    before = lost.read_bytes()
    lost.unlink()
    encode(source, tmp_path / "people", 3, signing_key=signing_key, value="name", row_bytes=32)
    assert lost.read_bytes() == before
    settings = cluster(tmp_path, replicas=1)
    up(settings)
    table = sotto.connect(f"http://127.0.0.1:{PORT}", "people")
    assert table.get(4321).rstrip(b"\0").endswith(b"person 4321")
    down(settings)


def test_a_table_of_keys_is_made_in_one_piece(tmp_path: Path, local: None) -> None:
    source = tmp_path / "people.csv"
    source.write_text("name,number\n" + "".join(f"person {at},{at * at}\n" for at in range(20_000)))
    encode(source, tmp_path / "people", 3, signing_key=tmp_path / "signing.key", key="name", value="number")
    settings = cluster(tmp_path, replicas=1)
    up(settings)
    table = sotto.connect(f"http://127.0.0.1:{PORT}", "people")
    assert table.get("person 44") == b"1936" and table.get("nobody") is None
    down(settings)


def test_what_is_wrong_is_said(tmp_path: Path, local: None, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "people").mkdir()
    with pytest.raises(SettingsError, match="no epoch in parts"):
        up(cluster(tmp_path))
    (tmp_path / "c.yaml").write_text("table: people\nstate: s\nparts: 3\n")
    assert main(["up", str(tmp_path / "c.yaml")]) == 2
    assert "unknown setting 'parts'" in capsys.readouterr().err
