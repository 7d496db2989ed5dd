"""What the README shows works."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import runpy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import World
from test_async import raw_http

README = Path(__file__).parent.parent / "README.md"
EXAMPLE = Path(__file__).parents[3] / "examples/first-lookup/first_lookup.py"


def test_every_block(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    polars = pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec").symlink_to(README.parent.parent.parent / "spec")
    people = polars.DataFrame({"email": ["user1@example.com", "nobody@example.com"]})
    connection = duckdb.connect()
    connection.register("people", people)

    class Client:
        async def request(self, method: str, url: str, headers: dict[str, str], content: bytes) -> Any:
            root = world.server.url
            status, answered, answer = await raw_http(root, method, url.removeprefix(root), headers, content)
            return SimpleNamespace(status_code=status, headers=dict(answered), content=answer)

    async def main() -> int:
        blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
        names: dict[str, Any] = {}
        for block in blocks:
            names.update(
                client=Client(), url=world.server.url, pin=world.words.pin, people=people, connection=connection
            )
            if "table = " not in block:
                names["table"] = world.open("mails")
            code = compile(
                block.replace("http://127.0.0.1:8080", world.server.url), str(README), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            )
            done = eval(code, names)
            if inspect.isawaitable(done):
                await done
            if "sotto.join" in block:
                assert names["people"].columns == ["email", "mails"]
        assert names["value"] == b"under"
        return len(blocks)

    assert asyncio.run(main()) == 6


def test_the_example(world: World) -> None:
    look_up = runpy.run_path(str(EXAMPLE))["look_up"]
    said: str = look_up(world.server.url, "squares", world.squares.pin, 7)
    assert re.fullmatch("1\0{7} \\(\\d+ bytes up, \\d+ down\\)", said), said
