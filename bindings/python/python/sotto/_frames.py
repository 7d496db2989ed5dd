"""Data frames, without depending on any of the packages that make them."""

from __future__ import annotations

import math
from typing import Any


def kind(data: object) -> str:
    """The package that made it, or nothing if that is none of those known here."""
    package = type(data).__module__.partition(".")[0]
    return package if package in ("pandas", "polars", "pyarrow") else ""


def columns(data: Any) -> list[str]:
    """The names of its columns."""
    return list(data.column_names if kind(data) == "pyarrow" else data.columns)


def cells(data: Any, name: str) -> list[Any]:
    """A column as Python has it, with `None` where there is nothing."""
    if kind(data) == "pyarrow":
        return list(data.column(name).to_pylist())
    if kind(data) == "polars":
        return list(data[name].to_list())
    return [_cell(cell) for cell in data[name].tolist()]


def _cell(cell: Any) -> Any:
    """pandas has NaN where there is nothing, and makes floats of the integers beside it."""
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, float):
        if math.isnan(cell):
            return None
        return int(cell) if cell.is_integer() else cell
    return cell
