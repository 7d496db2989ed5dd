"""Lookups: what they give, what they cost, what the server sees of them."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import MAILS, ROWS, World, square

import sotto


def test_first_lookup(tmp_path: Path) -> None:
    encoded = sotto.encode({"sotto": "under", "voce": "voice"}, tmp_path / "words")
    with sotto.serve(encoded) as server:
        table = sotto.connect(server.url, "words", encoded.pin)
        assert table.get(key="sotto") == b"under"
        assert table.get(key="basso") is None


def test_rows(world: World) -> None:
    table = world.open("squares")
    assert table.get(7) == square(7)
    assert table.get(ROWS - 1) == square(ROWS - 1)
    assert table.get_many([3, 1, 2999, 3]) == [square(row) for row in (3, 1, 2999, 3)]


def test_keys(world: World) -> None:
    table = world.open("mails")
    assert table.get(key="User7@Example.COM") == MAILS["user7@example.com"]
    assert table.get("user7@example.com") == MAILS["user7@example.com"]
    keys = ["user1@example.com", "nobody@example.com", "user299@example.com"]
    assert table.get_many(keys) == [MAILS.get(key) for key in keys]


def test_what_a_table_is(world: World) -> None:
    table = world.open("mails")
    assert (table.name, table.key_form, table.epoch) == ("mails", "email", 1)
    assert table.scheme.startswith("simplepir/")
    assert table.signer == world.mails.pin and table.trust == "pinned"
    assert "mails" in repr(table) and "email" in repr(table)
    squares = sotto.connect(world.server.url, "squares")
    assert (squares.rows, squares.row_bytes, squares.key_form, squares.trust) == (ROWS, 8, None, "first-use")
    assert squares.last is None


def test_cost(world: World) -> None:
    table = world.open("squares")
    table.get(7)
    cost = table.last
    assert cost is not None
    assert (cost.requested, cost.padded_lookups, cost.rounds, cost.epoch) == (1, 1, 1, 1)
    assert cost.up > 0 and cost.down > 0 and cost.setup_down > 0
    assert 0 < cost.query and 0 < cost.round_trip and 0 < cost.recover
    assert cost.server is not None and cost.server < cost.round_trip
    assert "one request for one row of squares, epoch 1" in cost.leakage
    assert "did not see which" in cost.leakage and "how many" not in cost.leakage
    assert len(cost.query_prefix) > 0


@pytest.mark.parametrize("name,items", [("squares", [5, 6, 7]), ("mails", ["user1@example.com", "x@y.z"])])
def test_rounds_are_filled_up(world: World, name: str, items: list[int | str]) -> None:
    """Whatever is asked, the server sees as much."""
    table = world.open(name)
    seen = set()
    for keys in ([], items[:1], items, items * 5, ["nobody@example.com"] if name == "mails" else [0] * 16):
        table.get_many(keys)
        cost = table.last
        assert cost is not None and cost.requested == len(keys)
        assert "nor how many" in cost.leakage
        seen.add((cost.rounds, cost.padded_lookups, cost.up, cost.down))
    assert len(seen) == 1
    table.get_many(items * 6, batch=4)
    cost = table.last
    assert cost is not None
    assert cost.padded_lookups % 4 == 0 and cost.padded_lookups >= len(items) * 6


def test_more_than_a_request_holds(world: World) -> None:
    table = world.open("squares")
    max_batch = table.about.max_batch
    rows = [row % ROWS for row in range(max_batch + 1)]
    assert table.get_many(rows) == [square(row) for row in rows]
    assert table.last is not None and table.last.rounds == 2


def test_numpy_integers(world: World) -> None:
    numpy = pytest.importorskip("numpy")
    assert world.open("squares").get_many(numpy.array([1, 2, 3])) == [square(row) for row in (1, 2, 3)]


def test_two_gets_side_by_side(world: World) -> None:
    """The server in between is written in Python, and answers once two requests are there: so neither lookup keeps the
    interpreter's lock, and both are under way at once."""
    both = threading.Barrier(2, timeout=60)

    class Between(BaseHTTPRequestHandler):
        def carry(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if self.path.endswith("/ask"):
                both.wait()
            headers = {name: self.headers[name] for name in ("range", "content-type") if name in self.headers}
            status, answered, answer = http(world.server.url, self.command, self.path, headers, body)
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = carry

        def log_message(self, format: str, *args: object) -> None:
            pass

    found: dict[int, bytes] = {}
    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as between:
        threading.Thread(target=between.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{between.server_port}"

        def look_up(row: int) -> None:
            found[row] = sotto.connect(url, "squares", world.squares.pin).get(row)

        together([threading.Thread(target=look_up, args=(row,)) for row in (11, 12)])
        between.shutdown()
    assert found == {11: square(11), 12: square(12)}


def test_one_table_many_threads(world: World) -> None:
    table = world.open("squares")
    found: dict[int, bytes] = {}

    def look_up(row: int) -> None:
        found[row] = table.get(row)

    together([threading.Thread(target=look_up, args=(row,)) for row in range(8)])
    assert found == {row: square(row) for row in range(8)}


def test_next_epoch(tmp_path: Path) -> None:
    first = sotto.encode({"a": "1"}, tmp_path / "moving")
    with sotto.serve(first) as server:
        table = server.connect("moving", first.pin)
        assert table.get(key="a") == b"1" and not table.refresh()
        second = sotto.encode({"a": "2", "b": "3"}, tmp_path / "moving", again=True)
        assert second.epoch == 2 and second.pin == first.pin
        still = server.connect("moving", first.pin, snapshot=table.snapshot)
        assert server.reload()
        with pytest.raises(sotto.PeerError, match="expected snapshot"):
            still.refresh()
        assert table.refresh() and table.epoch == 2
        assert table.get_many(["a", "b"]) == [b"2", b"3"]


def together(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def http(
    url: str, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, dict[str, str], bytes]:
    """One request by Python's own HTTP."""
    import urllib.error
    import urllib.request

    data = body if method == "POST" else None
    request = urllib.request.Request(url + path, data=data, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        return error.code, dict(error.headers), error.read()
