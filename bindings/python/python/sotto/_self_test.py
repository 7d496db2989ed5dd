"""Recorded lookups, replayed: does this build make the right bytes on this machine?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ._sotto import self_test as _replay


@dataclass(frozen=True)
class Replayed:
    """What a vector says, once this build was found to say the same."""

    scheme: str
    """The scheme's id."""
    row: int | None
    """The number of the row; `None` if a key or several rows were looked up."""
    value: bytes
    """The row, the value of the key, or the rows one after the other."""
    requests: int
    """How many requests were compared."""


def self_test(path: str | os.PathLike[str]) -> Replayed:
    """Replays a vector of `spec/vectors`: the file that ends with `.json`; the one with `.bin` lies beside it.

    Nothing is sent. Raises `Error` if this build makes other bytes than were recorded, and then it should not be used on this
    machine; `MisuseError` if the file is no vector, or damaged.
    """
    text = Path(path)
    behind = text.with_suffix(".bin")
    vector = text.read_bytes() + (behind.read_bytes() if behind.exists() else b"")
    scheme, row, value, requests = _replay(vector)
    return Replayed(scheme, row, bytes(value), requests)
