"""What is wrong, by whose fault, and that the server is asked all the same."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import ROWS, World

import sotto

PIN = "sotto-pk:" + "ab" * 32


@pytest.mark.parametrize("row", [ROWS, 2**63, 2**64, 10**5000, -1], ids=["end", "2^63", "2^64", "huge", "negative"])
def test_no_such_row(world: World, row: int) -> None:
    table = world.open("squares")
    with pytest.raises(IndexError) as raised:
        table.get(row)
    assert isinstance(raised.value, sotto.RowError) and isinstance(raised.value, ValueError)
    assert raised.value.code and raised.value.fix in str(raised.value)


@pytest.mark.parametrize("item", [1.5, float("nan"), b"bytes", None, [], True, object()])
def test_wrong_types(world: World, item: Any) -> None:
    with pytest.raises(TypeError, match="expected a row as int or a key as str"):
        world.open("squares").get_many([1, item])


@pytest.mark.parametrize("key", ["half \ud800", "x" * 10_000, ""])
def test_text_that_is_no_key(world: World, key: str) -> None:
    with pytest.raises(sotto.MisuseError):
        world.open("words").get(key=key)


def test_what_cannot_be_is_asked_for_all_the_same(world: World) -> None:
    """Silence would tell the server."""
    asks = []

    def counted(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        from test_lookup import http

        asks.extend([len(body)] if path.endswith("/ask") else [])
        return http(world.server.url, method, path, headers, body)

    table = world.open("squares", transport=counted)
    table.get(1)
    for wrong in (-1, ROWS, 2**70, float("nan"), None, "half \ud800"):
        with pytest.raises((TypeError, ValueError)):
            table.get_many([wrong], batch=1)  # type: ignore[list-item]
    assert len(asks) == 7 and len(set(asks)) == 1


def test_which_way_a_table_is_asked(world: World) -> None:
    with pytest.raises(sotto.MisuseError, match="keyword table"):
        world.open("words").get(3)
    with pytest.raises(TypeError):
        world.open("words").get()  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="put it into a list"):
        world.open("words").get_many("sotto")


def test_batches(world: World) -> None:
    table = world.open("squares")
    for batch in (0, 2**17):
        with pytest.raises(sotto.MisuseError, match="batch"):
            table.get_many([1], batch=batch)


def test_another_key_is_pinned(world: World) -> None:
    other = world.squares.pin
    with pytest.raises(sotto.PeerError) as raised:
        sotto.connect(world.server.url, "words", other)
    assert raised.value.code == "wrong-key" and "pin" in raised.value.fix


def test_another_snapshot(world: World) -> None:
    right = world.open("words").snapshot
    assert world.open("words", snapshot=right).get(key="sotto") == b"under"
    with pytest.raises(sotto.PeerError) as raised:
        world.open("words", snapshot="7" * 64)
    assert raised.value.code == "other-snapshot" and right in str(raised.value) and "operator" in raised.value.fix
    with pytest.raises(sotto.MisuseError, match="digest"):
        world.open("words", snapshot="abc")


def test_another_anchor(world: World) -> None:
    assert world.open("words").about.anchor is None
    with pytest.raises(sotto.PeerError, match="expected anchor block-1 .* got none") as raised:
        world.open("words", anchor="block-1")
    assert raised.value.code == "other-anchor"
    with pytest.raises(sotto.MisuseError, match="visible ASCII"):
        world.open("words", anchor="a block")


WITNESS = "w1.example+89d3dde6+BIqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"


def test_a_policy(world: World) -> None:
    with pytest.raises(sotto.PeerError) as raised:
        world.open("words", policy=f"witness w1 {WITNESS}\nquorum w1\n")
    assert raised.value.code == "not-logged"
    for policy in ("quorum w1\n", "quorum none"):
        with pytest.raises(sotto.MisuseError, match="policy, line 1") as misuse:
            world.open("words", policy=policy)
        assert "c2sp.org/tlog-policy" in misuse.value.fix
    with pytest.raises(sotto.MisuseError, match="witness_age"):
        world.open("words", witness_age=float("nan"))


def test_a_pin_of_two_keys(world: World) -> None:
    both = world.words.pin.replace("sotto-pk:", "sotto-pq:") + "0" * 64
    with pytest.raises(sotto.PeerError) as raised:
        sotto.connect(world.server.url, "words", both)
    assert raised.value.code == "no-ml-dsa-signature"


def test_a_pin_that_is_none(world: World) -> None:
    with pytest.raises(ValueError, match="sotto-pk:"):
        sotto.connect(world.server.url, "words", "sotto-pk:zz")


def test_no_such_table(world: World) -> None:
    with pytest.raises(sotto.PeerError) as raised:
        sotto.connect(world.server.url, "nothing")
    assert raised.value.code == "no-such-table"


@pytest.mark.parametrize("url", ["ftp://host", "http://", "", "http://user@host", "host:80"])
def test_no_address(url: str) -> None:
    with pytest.raises(ValueError):
        sotto.connect(url, "words")


@pytest.mark.parametrize("timeout", [float("nan"), -1.0, float("inf")])
def test_no_time(world: World, timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout"):
        sotto.connect(world.server.url, "words", timeout=timeout)


def test_the_server_is_gone(tmp_path: Path) -> None:
    encoded = sotto.encode({"a": "1"}, tmp_path / "gone", scheme="simplepir")
    with sotto.serve(encoded) as server:
        table = server.connect("gone", encoded.pin, max_wait=0.5)
        assert table.get(key="a") == b"1"
    with pytest.raises(ConnectionError) as raised:
        table.get(key="a")
    assert isinstance(raised.value, sotto.NetworkError) and raised.value.fix
    with pytest.raises(sotto.NetworkError):
        sotto.connect(server.url, "gone", max_wait=0.5)
    with pytest.raises(sotto.MisuseError, match="the server has stopped"):
        server.reload()


def test_a_server_that_stalls(world: World) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(TimeoutError) as raised:
            sotto.connect(f"http://127.0.0.1:{port}", "words", timeout=0.3, max_wait=0.1)
    assert isinstance(raised.value, sotto.TimeoutError)


@pytest.mark.parametrize("at", ["head", "tail", "short", "long", "empty"])
def test_a_server_that_lies(world: World, at: str) -> None:
    from test_lookup import http

    def lying(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        status, answered, answer = http(world.server.url, method, path, headers, body)
        if path.endswith("/ask"):
            changed = bytearray(answer)
            changed[0 if at == "head" else -1] ^= 0x40
            answer = {"short": answer[:-1], "long": answer + b"x", "empty": b""}.get(at, bytes(changed))
        return status, answered, answer

    table = world.open("squares", transport=lying)
    with pytest.raises((sotto.PeerError, sotto.UnreadableError)):
        table.get(7)


def test_bytes_of_another_table(world: World) -> None:
    from test_lookup import http

    def crossed(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        return http(world.server.url, method, path.replace("squares", "words"), headers, body)

    with pytest.raises(sotto.PeerError):
        world.open("squares", transport=crossed)


def test_a_transport_that_raises(world: World) -> None:
    def broken(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        raise KeyError("no way out")

    with pytest.raises(sotto.NetworkError) as raised:
        sotto.connect("here", "words", transport=broken, max_wait=0.1)
    assert isinstance(raised.value.__cause__, KeyError)

    def odd(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        return "nothing of use"

    with pytest.raises(sotto.NetworkError):
        sotto.connect("here", "words", transport=odd, max_wait=0.1)

    def interrupted(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sotto.connect("here", "words", transport=interrupted, max_wait=0.1)


def test_a_closed_table(world: World) -> None:
    with world.open("words") as table:
        assert table.get(key="sotto") == b"under"
    with pytest.raises(sotto.MisuseError, match="closed"):
        table.get(key="sotto")
    table.close()


def test_exceptions_travel() -> None:
    for kind in (sotto.RowError, sotto.NetworkError, sotto.TimeoutError, sotto.StorageError, sotto.UnreadableError):
        error = kind("what", "code", "do")
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), copy.code, copy.fix) == (kind, "what\n  fix: do", "code", "do")


def test_nothing_to_serve(tmp_path: Path) -> None:
    with pytest.raises(sotto.Error, match="encode"):
        sotto.serve(tmp_path)
    with pytest.raises(ValueError, match="address"):
        sotto.serve(tmp_path, host="nowhere")


def test_a_port_that_is_taken(world: World, tmp_path: Path) -> None:
    port = int(world.server.url.rpartition(":")[2])
    with pytest.raises(sotto.NetworkError, match="in use"):
        sotto.serve(world.words, port)
