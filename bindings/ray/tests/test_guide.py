"""The guide's commands, as they stand: from a Parquet file to a service that is asked, watched, changed and hurt."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs/ray.md"


def commands(text: str) -> str:
    """The lines of its blocks of commands."""
    blocks = text.split("```sh\n")[1:]
    return "\n".join(block.split("\n```", 1)[0] for block in blocks)


@pytest.mark.small
def test_the_guide_from_a_parquet_file_to_a_service(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    # Where it is installed these are on the path; here they are what is tested.
    programs = {"python3": "", "sotto-ray": "-m sotto_ray", "sotto-ray-haproxy": "-m sotto_ray_haproxy", "ray": "-m ray.scripts.scripts"}
    for name, runs in programs.items():
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {runs} "$@"\n')
        (tools / name).chmod(0o755)
    # A Ray that an earlier test started has left words to those that follow.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment.update(PATH=f"{tools}:{os.environ['PATH']}", HOME=str(tmp_path))
    # Nobody is there who would still ask an ingress that goes.
    environment["RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S"] = "0"
    environment["RAY_metrics_report_interval_ms"] = "1000"
    script = "set -euo pipefail\ntrap 'ray stop --force > stopped.txt 2>&1' EXIT\n" + commands(GUIDE.read_text())
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert (tmp_path / "first.txt").read_text().count("spam") >= 1
