"""The application as Ray Serve's configuration files name it: `import_path: sotto_ray.application:build`."""

from __future__ import annotations

from typing import Any

from .settings import Cluster
from .up import prepare


def build(args: dict[str, Any]) -> Any:
    """Starts the actors that are not there yet, and gives the ingress. `args` are the settings of a cluster file."""
    return prepare(Cluster.of(args))
