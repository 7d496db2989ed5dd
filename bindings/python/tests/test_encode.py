"""Tables out of ordinary data."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import sotto


def looked_up(encoded: sotto.Encoded, items: list[Any]) -> list[bytes | None]:
    with sotto.serve(encoded) as server:
        return server.connect(encoded.dir.name, encoded.pin).get_many(items)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("email,phone\nann@example.com,555-0101\nbob@example.com,555-0102\n")
    people = sotto.encode(file, tmp_path / "people", key="email", value="phone", key_form="email", row_bytes=12, headroom=10)
    assert looked_up(people, ["Ann@Example.com", "zoe@example.com"]) == [b"555-0101", None]
    by_row = sotto.encode(file, tmp_path / "rows", value=2, header=True)
    assert looked_up(by_row, [0, 1]) == [b"555-0101", b"555-0102"]
    ranges = tmp_path / "ranges.csv"
    ranges.write_text("first,last,who\n1.0.0.0,1.0.0.255,AU\n8.8.0.0,8.8.255.255,US\n")
    countries = sotto.encode(ranges, tmp_path / "ip", start="first", end="last", value="who", key_type="ipv4", block=65536)
    assert looked_up(countries, ["8.8.8.8", "1.0.0.1"])[0] == b"US"
    raw = tmp_path / "hashes.bin"
    raw.write_bytes(bytes(range(256)) * 4)
    hashes = sotto.encode(raw, tmp_path / "hashes", format="raw", row_bytes=32)
    assert (hashes.rows, hashes.row_bytes) == (32, 32)
    assert looked_up(hashes, [1]) == [bytes(range(32, 64))]


@pytest.mark.parametrize("package", ["polars", "pandas", "pyarrow"])
def test_frames(tmp_path: Path, package: str) -> None:
    made = pytest.importorskip(package)
    columns: dict[str, list[Any]] = {"mail": ["a@x.y", "b@x.y"], "secret": [b"\x00\x01", b"long\xff"], "name": ["Ann", "Bob"]}
    frame = made.table(columns) if package == "pyarrow" else made.DataFrame(columns)
    by_key = sotto.encode(frame, tmp_path / "bykey", key="mail", value="secret", key_form="email")
    assert looked_up(by_key, ["a@X.y", "b@x.y", "c@x.y"]) == [b"\x00\x01", b"long\xff", None]
    by_row = sotto.encode(frame, tmp_path / "byrow", value="name")
    assert looked_up(by_row, [1, 0]) == [b"Bob", b"Ann"]
    with pytest.raises(sotto.MisuseError, match="no column"):
        sotto.encode(frame, tmp_path / "none", value="nothing")


def test_python(tmp_path: Path) -> None:
    rows = sotto.encode([b"a", b"", b"\x00" * 9], tmp_path / "rows")
    assert looked_up(rows, [0, 1, 2]) == [b"a", b"", b"\x00" * 9]
    assert looked_up(sotto.encode({"ä": "ö"}, tmp_path / "text"), ["a\u0308"]) == ["ö".encode()]


def test_a_scheme_is_chosen_where_none_is_named(tmp_path: Path) -> None:
    small = sotto.encode([b"row"] * 64, tmp_path / "small")
    assert small.scheme == "trivial/1" and small.failure_log2 == -math.inf and small.choice is not None
    assert "download" in small.choice["why"] and small.choice["lookups"] == 100 and small.choice["second"] is not None
    assert looked_up(small, [63]) == [b"row"]
    rows = [row.to_bytes(4, "big") * 16 for row in range(1 << 17)]
    large = sotto.encode(rows, tmp_path / "large", lookups=1, parts=2)
    assert large.scheme != "trivial/1" and large.choice is not None and large.choice["lookups"] == 1
    # The next epoch keeps the scheme, however small.
    again = sotto.encode(rows[:64], tmp_path / "large", again=True)
    assert again.scheme == large.scheme and again.choice is not None and "that is there" in again.choice["why"]
    with pytest.raises(sotto.MisuseError, match="named scheme"):
        sotto.encode(rows, tmp_path / "none", goal="server-time")
    with pytest.raises(sotto.MisuseError, match="front"):
        sotto.encode(rows, tmp_path / "none", parts=2, part=0)


@pytest.mark.parametrize("scheme", ["fspiral", "spiral/1", "ypir-sp"])
def test_schemes(tmp_path: Path, scheme: str) -> None:
    encoded = sotto.encode((row.to_bytes(8, "big") for row in range(2000)), tmp_path / "rows", scheme=scheme)
    assert encoded.security_bits >= 128 and encoded.failure_log2 <= -40
    assert looked_up(encoded, [1999]) == [(1999).to_bytes(8, "big")]


def test_two_servers(tmp_path: Path) -> None:
    encoded = sotto.encode((bytes([row % 251] * 32) for row in range(1000)), tmp_path / "two", scheme="dpf")
    with sotto.serve(encoded) as first, sotto.serve(encoded, role=1) as second:
        table = sotto.connect([first.url, second.url], "two", encoded.pin)
        assert table.get(700) == bytes([700 % 251] * 32)
        assert table.last is not None
        assert "Each of 2 servers" in table.last.leakage and "do not collude" in table.last.leakage
        with pytest.raises(sotto.MisuseError):
            sotto.connect(first.url, "two", encoded.pin)


def test_hints_that_are_used_up(tmp_path: Path) -> None:
    encoded = sotto.encode((bytes([row % 251] * 32) for row in range(1000)), tmp_path / "spent", scheme="s3pir")
    with sotto.serve(encoded) as server:
        with pytest.raises(sotto.MisuseError, match="state") as raised:
            server.connect("spent", encoded.pin)
        assert raised.value.code == "state-needed"
        events: list[str] = []
        with server.connect(
            "spent", encoded.pin, in_memory=True, progress=lambda stage, done, total: events.append(stage)
        ) as table:
            assert table.get(3) == bytes([3] * 32)
            assert table.about.budget is not None
        assert "rows" in events and "ready" in events


@pytest.mark.parametrize(
    "data,kind",
    [(3, TypeError), (b"bytes", TypeError), ([1, 2], sotto.MisuseError), (["a", b"b"], sotto.MisuseError), ([], sotto.Error)],
)
def test_data_that_is_none(tmp_path: Path, data: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        sotto.encode(data, tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "options",
    [{"scheme": "no/1"}, {"key_form": "no"}, {"goal": "no"}, {"name": "No Name"}, {"row_bytes": 1}, {"set": "no"}],
)
def test_options_that_are_none(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(sotto.Error):
        sotto.encode({"a": "long"}, tmp_path / "none", **options)
    assert not (tmp_path / "none").exists()


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(sotto.StorageError):
        sotto.encode(tmp_path / "missing.csv", tmp_path / "none", value=1)
    file = tmp_path / "bad.jsonl"
    file.write_text('{"v": "a"}\n{"v": 3.5}\n')
    with pytest.raises(sotto.MisuseError, match="bad.jsonl"):
        sotto.encode(file, tmp_path / "none", value="v")
    with pytest.raises(sotto.MisuseError, match="surrogate"):
        sotto.encode({"\ud800": "a"}, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_stack_brings_many_keys_in_one_round(tmp_path: Path) -> None:
    mails = {f"user{i}@example.com": f"555-{i:04}" for i in range(400)}
    stack = sotto.encode(mails, tmp_path / "mails", key_form="email", batch=12, scheme="simplepir")
    with sotto.serve(stack) as server, server.connect("mails", stack.pin) as table:
        assert table.about.stack and table.about.max_batch == 12 and stack.failure_log2 <= -40
        keys = ["user7@example.com", "nobody@example.com", "USER399@example.com"]
        assert table.get_many(keys) == [b"555-0007", None, b"555-0399"]
        assert table.last is not None
        few = (table.last.rounds, table.last.up, table.last.down)
        assert table.get_many([f"user{i}@example.com" for i in range(12)])[11] == b"555-0011"
        assert few == (table.last.rounds, table.last.up, table.last.down) and few[0] == 1
    with pytest.raises(sotto.MisuseError, match="again=True"):
        sotto.encode(mails, tmp_path / "mails", key_form="email", batch=12)
    again = sotto.encode(mails, tmp_path / "mails", key_form="email", batch=12, again=True)
    assert (again.epoch, again.pin) == (2, stack.pin)
    with pytest.raises(sotto.Error):
        sotto.encode(mails, tmp_path / "none", key_form="email", batch=5000)


def test_a_table_is_not_replaced_by_mistake(tmp_path: Path) -> None:
    sotto.encode({"a": "1"}, tmp_path / "table")
    with pytest.raises(sotto.MisuseError, match="again=True"):
        sotto.encode({"a": "2"}, tmp_path / "table")


def test_what_is_odd_about_data_is_noted_or_refused(tmp_path: Path) -> None:
    file = tmp_path / "c.tsv"
    file.write_text("network\tcc\n1.0.0.0/16\tAU\n8.8.0.0/16\tUS\n", encoding="utf-8-sig")
    countries = sotto.encode(file, tmp_path / "ip", start="network", value="cc", key_type="ipv4", block=65536)
    assert countries.notes == ()
    # An address is one with dots or as a number, and an int is a row.
    keys = ["8.8.8.8", str(0x08080808), 0x0808, str(0x0808)]
    assert looked_up(countries, keys) == [b"US", b"US", b"US", b""]
    (tmp_path / "set.csv").write_text("a\na\n*.example.com\n")
    notes = sotto.encode(tmp_path / "set.csv", tmp_path / "set", key=1).notes
    assert len(notes) == 2 and notes[0].startswith("1 keys are repeated in the file")
    (tmp_path / "twice.csv").write_text("k,v,v\na,1,2\n")
    with pytest.raises(sotto.MisuseError, match="columns 2 and 3 have the same name"):
        sotto.encode(tmp_path / "twice.csv", tmp_path / "twice", key="k", value="v")
    with pytest.raises(sotto.MisuseError, match="UTF-16"):
        (tmp_path / "wide.csv").write_text("aria\n", encoding="utf-16")
        sotto.encode(tmp_path / "wide.csv", tmp_path / "wide", key=1)


def test_twins_of_a_frame_are_refused(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["a", "1", "2"]], columns=["k", "v", "v"])
    with pytest.raises(sotto.MisuseError, match="several columns"):
        sotto.encode(frame, tmp_path / "twins", key="k", value="v")


def test_a_column_of_integers_has_keys_where_the_table_has_any(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    file = tmp_path / "r.csv"
    file.write_text("1.0.0.0/16,AU\n8.8.0.0/16,US\n")
    countries = sotto.encode(file, tmp_path / "ip", start=1, value=2, key_type="ipv4", block=65536)
    with sotto.serve(countries) as server:
        table = server.connect("ip", countries.pin)
        joined = sotto.join(pandas.DataFrame({"address": [0x08080808, 0x0100]}), table, on="address", into="cc")
    assert joined["cc"].tolist() == ["US", ""]
