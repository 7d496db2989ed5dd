"""A server of three small tables, for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import sotto

WORDS = {"aria": "air", "sotto": "under", "voce": "voice"}
MAILS = {f"user{i}@example.com": f"555-{i:04}".encode() for i in range(300)}


def square(row: int) -> bytes:
    return (row * row).to_bytes(8, "little")


ROWS = 3000


@dataclass
class World:
    server: sotto.Server
    words: sotto.Encoded
    mails: sotto.Encoded
    squares: sotto.Encoded

    def open(self, name: str, **options: object) -> sotto.Table:
        return self.server.connect(name, getattr(self, name).pin, **options)


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("tables")
    words = sotto.encode(WORDS, folder / "words", scheme="simplepir")
    mails = sotto.encode(MAILS, folder / "mails", key_form="email", scheme="simplepir")
    squares = sotto.encode((square(row) for row in range(ROWS)), folder / "squares", scheme="simplepir")
    with sotto.serve([words, mails, squares]) as server:
        yield World(server, words, mails, squares)
