"""The suite in its small form: what fits beside all other tests of the project, in seconds."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

# Before anything imports Ray, which reads it then: tests share their machine.
os.environ["RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S"] = "60"


@dataclass(frozen=True)
class Scale:
    """How much of it: parts, how many actors are killed, and before which of these deaths an epoch is written."""

    parts: int
    kills: int
    epochs: dict[int, int]
    quiet_s: float


WHOLE = Scale(parts=4, kills=6, epochs={1: 2, 3: 3}, quiet_s=2.5)
# Two epochs: clients may stay with the one before the newest.
SMALL = Scale(parts=2, kills=2, epochs={0: 2, 1: 3}, quiet_s=0.5)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--small", action="store_true", help="two parts, two deaths, and only tests that are marked small")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "small: runs in the small form too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--small"):
        left = [item for item in items if item.get_closest_marker("small") is None]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def scale(request: pytest.FixtureRequest) -> Scale:
    return SMALL if request.config.getoption("--small") else WHOLE
