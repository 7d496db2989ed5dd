"""A column of a data frame, looked up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from conftest import MAILS, ROWS, World, square

import sotto

KEYS = ["user1@example.com", None, "nobody@example.com", "no address", "User2@Example.com", "user1@example.com"]
VALUES = [MAILS.get((key or "").lower()) for key in KEYS]


def test_polars(world: World) -> None:
    polars = pytest.importorskip("polars")
    table = world.open("mails")
    frame = polars.DataFrame({"who": KEYS, "n": range(6)})
    joined = sotto.join(frame, table, on="who", into="phone", batch=8)
    assert joined.columns == ["who", "n", "phone"]
    assert joined["phone"].to_list() == VALUES and joined["phone"].dtype == polars.Binary
    assert table.last is not None and table.last.requested == 6 and "how many" in table.last.leakage
    with pytest.raises(TypeError, match="collect"):
        sotto.join(frame.lazy(), table, on="who")


def test_pandas(world: World) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"who": KEYS}, index=range(10, 16))
    joined = sotto.join(frame, world.open("mails"), on="who")
    assert joined["mails"].tolist() == VALUES and list(joined.index) == list(frame.index)
    rows = pandas.DataFrame({"row": [3, None, ROWS, 1]})
    assert sotto.join(rows, world.open("squares"), on="row")["squares"].tolist() == [square(3), None, None, square(1)]
    with pytest.raises(TypeError, match="float"):
        sotto.join(pandas.DataFrame({"row": [0.5]}), world.open("squares"), on="row")


def test_pyarrow(world: World) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = world.open("mails")
    for keys in (KEYS, pyarrow.array(KEYS).dictionary_encode(), pyarrow.array(KEYS, pyarrow.large_string())):
        joined = sotto.join(pyarrow.table({"who": keys}), table, on="who")
        assert joined.column("mails").to_pylist() == VALUES
    for kind in (pyarrow.int8(), pyarrow.uint64(), pyarrow.int64()):
        rows = pyarrow.table({"row": pyarrow.array([3, None, 99], kind)})
        assert sotto.join(rows, world.open("squares"), on="row").column(1).to_pylist() == [square(3), None, square(99)]
    negative = pyarrow.table({"row": [-1, ROWS, 2]})
    assert sotto.join(negative, world.open("squares"), on="row").column(1).to_pylist() == [None, None, square(2)]


def test_text_comes_as_text(world: World) -> None:
    polars = pytest.importorskip("polars")
    joined = sotto.join(polars.DataFrame({"word": ["sotto", "basso"]}), world.open("words"), on="word")
    assert joined["words"].to_list() == ["under", None] and joined["words"].dtype == polars.String


def test_any_arrow_data(world: World) -> None:
    """Whoever has `__arrow_c_stream__` is understood, whatever made it."""
    pyarrow = pytest.importorskip("pyarrow")
    frame = pyarrow.table({"word": ["voce", "aria"]})

    class Stranger:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return frame.__arrow_c_stream__(requested_schema)

    column: Any = sotto.join(Stranger(), world.open("words"), on="word")
    assert isinstance(column, sotto.Column)
    assert column.to_list() == ["voice", "air"] and len(column) == 2
    assert pyarrow.chunked_array(column).to_pylist() == ["voice", "air"]
    with pytest.raises(TypeError, match="Arrow"):
        sotto.join([1, 2], world.open("words"), on="word")


def test_what_the_server_sees(world: World) -> None:
    """Data of as many rows is asked for alike, whatever is in it."""
    polars = pytest.importorskip("polars")
    table = world.open("mails")
    seen = set()
    for keys in (KEYS, [None] * 6, ["no address"] * 6, ["user9@example.com"] * 4):
        sotto.join(polars.DataFrame({"who": polars.Series(keys, dtype=polars.String)}), table, on="who", batch=8)
        cost = table.last
        assert cost is not None
        seen.add((cost.rounds, cost.padded_lookups, cost.up, cost.down))
    assert len(seen) == 1


def test_a_thousand_keys_in_one_round(tmp_path: Path) -> None:
    """A stack for as many has one table, and one request to it is all that is sent."""
    polars = pytest.importorskip("polars")
    people = {f"user{i}@example.com": f"value {i}" for i in range(3000)}
    encoded = sotto.encode(people, tmp_path / "people", key_form="email", batch=1000, scheme="vbpir")
    assert encoded.failure_log2 <= -40
    all_keys = [f"user{i * 7}@example.com" for i in range(1000)]
    with sotto.serve(encoded) as server, server.connect("people", encoded.pin) as table:
        seen = set()
        for keys in (all_keys, all_keys[:1]):
            joined = sotto.join(polars.DataFrame({"who": keys}), table, on="who")
            assert joined["people"].to_list() == [people.get(key) for key in keys]
            cost = table.last
            assert cost is not None
            seen.add((cost.rounds, cost.padded_lookups, cost.up, cost.down))
        assert len(seen) == 1 and seen.pop()[0] == 1
    with pytest.raises(sotto.ParamsError, match="4096"):
        sotto.encode(people, tmp_path / "more", batch=5000, scheme="vbpir")


def test_columns(world: World) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"who": KEYS, "mails": range(6), "x": [0.5] * 6})
    table = world.open("mails")
    with pytest.raises(sotto.MisuseError, match="no column 'whom'"):
        sotto.join(frame, table, on="whom", into="y")
    with pytest.raises(sotto.MisuseError, match="already"):
        sotto.join(frame, table, on="who")
    with pytest.raises(TypeError, match="Float64"):
        sotto.join(frame, table, on="x", into="y")


def test_awaited(world: World) -> None:
    polars = pytest.importorskip("polars")

    async def main() -> None:
        table = await sotto.aconnect(world.server.url, "words", world.words.pin)
        joined = await sotto.ajoin(polars.DataFrame({"word": ["sotto"]}), table, on="word")
        assert joined["words"].to_list() == ["under"]

    asyncio.run(main())


def test_duckdb(world: World) -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    connection = duckdb.connect()
    sotto.register_duckdb(connection, world.open("words"))
    sql = "SELECT w, sotto(w) FROM (VALUES ('sotto'), ('basso'), (NULL)) t(w)"
    assert connection.execute(sql).fetchall() == [("sotto", "under"), ("basso", None), (None, None)]
    sotto.register_duckdb(connection, world.open("squares"), "square")
    assert connection.execute("SELECT square(12)").fetchall() == [(square(12),)]
