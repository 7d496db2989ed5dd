"""A column of a data frame, looked up in a table."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from . import _frames, _sotto
from ._errors import MisuseError
from ._table import Table

Frame = TypeVar("Frame")

ROUND = 64
"""Default number of keys to whose multiples rounds are padded."""


def join(data: Frame, table: Table, on: str, *, into: str | None = None, batch: int = ROUND) -> Frame:
    """Adds a column to data: for each key in column `on` its value in the table, or null.

    `data` is a data frame of polars or pandas, or a table of pyarrow, and so is the result. For any other data with an Arrow
    stream (`__arrow_c_stream__`), such as a relation of DuckDB, the result is only the new column.

    Each row of the data takes a lookup, also a row with a null, a duplicate or an invalid key, and rounds are padded to a multiple of
    `batch`. So the server sees how many batches of rows the data has, and nothing about their content. `table.last` has the cost, and
    what the server saw. `into`: name of the new column, by default the table's.
    """
    table._refuse_waiting()
    keys, name = _prepare(data, table, on, into)
    joined: Frame = _finish(data, table._join_here(keys, on, name, batch), name)
    return joined


async def ajoin(data: Frame, table: Table, on: str, *, into: str | None = None, batch: int = ROUND) -> Frame:
    """As `join`, to be awaited."""
    keys, name = await table._run(partial(_prepare, data, table, on, into))
    joined: Frame = _finish(data, await table._run(partial(table._join_here, keys, on, name, batch)), name)
    return joined


def _prepare(data: Any, table: Table, on: str, into: str | None) -> tuple[object, str]:
    into = table.name if into is None else into
    kind = _frames.kind(data)
    if kind == "polars" and hasattr(data, "collect"):
        raise TypeError("expected a data frame, got a lazy one: collect() it first")
    if kind and not hasattr(data, "columns"):
        raise TypeError(f"expected a data frame, got {type(data).__name__}")
    if not kind:
        if not hasattr(data, "__arrow_c_stream__"):
            raise TypeError(
                f"{type(data).__name__} has no Arrow data: use polars, pandas or pyarrow, or table.get_many for a list"
            )
        return data, into
    names = _frames.columns(data)
    if on not in names:
        raise MisuseError(f"no column {on!r}", "misuse", f"give one of {', '.join(map(str, names))}")
    if into in names:
        raise MisuseError(f"column {into!r} exists already", "misuse", "give the new column another name, with into=...")
    # pandas needs pyarrow to give Arrow data, so its keys come as a list.
    return (_frames.cells(data, on) if kind == "pandas" else data.select([on])), into


def _finish(data: Any, column: _sotto.Column, into: str) -> Any:
    kind = _frames.kind(data)
    if kind == "polars":
        import polars

        return data.with_columns(polars.Series(into, column))
    if kind == "pandas":
        import pandas

        return data.assign(**{into: pandas.Series(column.to_list(), index=data.index, dtype=object)})
    if kind == "pyarrow":
        import pyarrow

        return data.append_column(into, pyarrow.chunked_array(column))
    return column


def register_duckdb(connection: Any, table: Table, name: str = "sotto", *, batch: int = ROUND) -> None:
    """Registers a DuckDB function that looks keys up: `SELECT email, sotto(email) FROM people`. It needs pyarrow.

    DuckDB calls it with a few thousand rows at a time, and each call is a round of its own.
    """
    import pyarrow

    def look_up(keys: Any) -> Any:
        frame = pyarrow.table({"key": keys})
        return pyarrow.chunked_array(table._join_here(frame, "key", name, batch))

    value = "VARCHAR" if table.about.value == "text" else "BLOB"
    key = "VARCHAR" if table.key_form else "UBIGINT"
    connection.create_function(
        name, look_up, [key], value, type="arrow", null_handling="special", side_effects=True
    )
