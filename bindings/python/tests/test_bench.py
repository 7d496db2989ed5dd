"""Benchmarks as rows of a data frame."""

from __future__ import annotations

from pathlib import Path

import pytest

import sotto

DEFINITION = """
name = "own"
about = "One small case."

[[case]]
scheme = "simplepir"
rows = 2000
row_bytes = 8
batch = [1]
lookups = 2
"""


def test_a_row_for_each_case(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(DEFINITION)
    reports: list[str] = []
    (row,) = sotto.bench(file, quick=True, progress=lambda what, done, total: reports.append(what))
    assert row["scheme"] == "simplepir/1" and row["table_rows_count"] == 2000
    assert reports
    polars = pytest.importorskip("polars")
    assert polars.DataFrame([row]).height == 1


def test_no_such_definition(tmp_path: Path) -> None:
    with pytest.raises(sotto.MisuseError):
        sotto.bench("nothing")
    file = tmp_path / "own.toml"
    file.write_text(DEFINITION.replace("simplepir", "nopir"))
    with pytest.raises(sotto.MisuseError, match="nopir"):
        sotto.bench(file)
