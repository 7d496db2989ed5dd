"""Tables in parts: parts give partial answers, and a coordinator in Python joins them and speaks the wire format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import square

import sotto

ROWS = 20000
PARTS = 2


def parts_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.part-*"))


def front_of(folder: Path) -> Path:
    (front,) = folder.glob("*.front")
    return front


class Ingress:
    """A coordinator: it reads requests, sends queries to all parts, and joins their partial answers."""

    def __init__(self, folder: Path) -> None:
        self.front = sotto.Front(front_of(folder))
        self.parts = [sotto.Part(path, threads=1) for path in parts_of(folder)]
        self.sessions: dict[bytes, list[sotto.Session | None]] = {bytes(16): [None] * (1 + PARTS)}

    def __call__(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        try:
            path = path.partition("?")[0]
            if method == "GET" and path.startswith("/v1/artifacts/"):
                return self.artifact(path.rpartition("/")[2], headers.get("range"))
            return 200, {}, self.answer(method, path, body)
        except sotto.PeerError as error:
            status, problem = sotto.problem(error.code, str(error), self.front.epoch)
            return status, {"content-type": "application/problem+json"}, problem

    def artifact(self, digest: str, requested: str | None) -> Any:
        (size,) = [size for each, _, size in self.front.artifacts if each == digest]
        assert self.front.artifact(digest, 1, size) is None
        if requested is None:
            return 200, {}, self.front.artifact(digest, 0, size)
        first, last = requested.removeprefix("bytes=").split("-")
        start, end = int(first), int(last) + 1
        return 206, {"content-range": f"bytes {first}-{last}/{size}"}, self.front.artifact(digest, start, end - start)

    def answer(self, method: str, path: str, body: bytes) -> bytes:
        table = f"/v1/tables/{self.front.table}"
        if (method, path) == ("GET", table):
            return self.front.catalog
        if (method, path) == ("POST", f"{table}/keys"):
            keys = self.front.keys(body)
            session = len(self.sessions).to_bytes(16, "little")
            self.sessions[session] = [self.front.admit(keys), *(part.admit(keys) for part in self.parts)]
            return session
        assert (method, path) == ("POST", f"{table}/ask"), (method, path)
        session, queries = self.front.queries(body)
        first, *others = self.sessions[session]
        partials = [part.answer_many([(mine, query) for query in queries]) for part, mine in zip(self.parts, others)]
        answers = []
        for query, made in zip(queries, zip(*partials)):
            answers.append(self.front.join(first, query, [partial for partial in made if partial is not None]))
        return self.front.answers(answers)


@pytest.mark.parametrize("scheme", ["simplepir", "fspiral"])
def test_an_ingress_in_python(tmp_path: Path, scheme: str) -> None:
    rows = [square(row) * 8 for row in range(ROWS)]
    made = sotto.encode(rows, tmp_path / "cut", scheme=scheme, parts=PARTS)
    ingress = Ingress(tmp_path / "cut")
    assert [(part.part, part.parts) for part in ingress.parts] == [(0, 2), (1, 2)]
    assert {part.digest for part in ingress.parts} == {ingress.front.digest}
    table = sotto.connect("https://nowhere.invalid", "cut", made.pin, transport=ingress)
    assert table.get(7) == rows[7]
    assert table.get_many([0, ROWS - 1, 4321]) == [rows[0], rows[-1], rows[4321]]
    # One process that has all of it gives the same rows.
    with sotto.serve(made) as server:
        assert server.connect("cut", made.pin).get(7) == rows[7]


def test_part_by_part_and_again(tmp_path: Path) -> None:
    rows = [square(row) * 8 for row in range(ROWS)]

    def encode(part: int | str) -> sotto.Encoded:
        return sotto.encode(rows, tmp_path / "apart", parts=PARTS, part=part)

    encode("front")
    with pytest.raises(sotto.Error, match="part 0 of the table is missing"):
        sotto.serve(tmp_path / "apart")
    for part in (1, 0, 1):
        encode(part)
    ingress = Ingress(tmp_path / "apart")
    before = [path.read_bytes() for path in parts_of(tmp_path / "apart")]
    parts_of(tmp_path / "apart")[0].unlink()
    encode(0)
    assert [path.read_bytes() for path in parts_of(tmp_path / "apart")] == before
    with pytest.raises(sotto.MisuseError):
        encode(2)

    bad = ingress.parts[0].answer_many([(None, b"no query")])
    assert bad == [None]
    for frame in (b"", b"sotq", bytes(100)):
        with pytest.raises(sotto.PeerError) as refused:
            ingress.front.queries(frame)
        assert refused.value.code == "malformed"
    with pytest.raises(sotto.PeerError):
        ingress.front.keys(bytes(100))
    assert sotto.problem("busy", "later")[0] == 429

    damaged = parts_of(tmp_path / "apart")[1]
    damaged.unlink()
    damaged.write_bytes(before[1][:5000] + bytes([before[1][5000] ^ 1]) + before[1][5001:])
    with pytest.raises(sotto.StorageError, match="damaged"):
        sotto.Part(damaged)
    with pytest.raises(sotto.StorageError):
        sotto.Part(front_of(tmp_path / "apart"))
