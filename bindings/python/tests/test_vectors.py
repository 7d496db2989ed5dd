"""Recorded lookups: this build makes the same requests and reads the same rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import sotto

VECTORS = Path(__file__).parent.parent.parent.parent / "spec" / "vectors"
FILES = sorted(VECTORS.glob("*.json"))


def test_there_are_some() -> None:
    assert len(FILES) > 20


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_replayed(path: Path) -> None:
    vector = json.loads(path.read_text())
    replayed = sotto.self_test(path)
    assert (replayed.scheme, replayed.row) == (vector["scheme"], vector.get("row"))
    assert (replayed.value.hex(), replayed.requests) == (vector["value"], len(vector["exchanges"]))


def test_damage(tmp_path: Path) -> None:
    text = (VECTORS / "dpf-1.json").read_text()
    damaged = tmp_path / "damaged.json"
    damaged.with_suffix(".bin").write_bytes((VECTORS / "dpf-1.bin").read_bytes())
    damaged.write_text(text)
    assert sotto.self_test(damaged).scheme == "dpf/1"
    seed = json.loads(text)["seed"]
    damaged.write_text(text.replace(seed, seed[::-1]))
    with pytest.raises(sotto.Error, match="another body") as error:
        sotto.self_test(damaged)
    assert error.value.code == "vector-request" and error.value.fix
    damaged.write_text(text[:-9])
    with pytest.raises(sotto.MisuseError) as misuse:
        sotto.self_test(damaged)
    assert misuse.value.code == "not-a-vector"
    with pytest.raises(FileNotFoundError):
        sotto.self_test(tmp_path / "none.json")


def test_the_client_that_was_written_from_the_pages() -> None:
    """It has no other package than the standard library's."""
    client = VECTORS / "client" / "client.py"
    done = subprocess.run([sys.executable, str(client)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
