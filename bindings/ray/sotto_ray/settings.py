"""A cluster in one YAML file. Unknown keys are refused: a misspelt limit is a limit that is not there."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml


class SettingsError(Exception):
    """The settings are wrong: what, and how to mend it."""


@dataclass(frozen=True)
class Cluster:
    """What is served, and on what."""

    table: Path
    """The table's folder, with fronts and parts (`sotto encode --parts`). Every machine sees it at this path."""
    state: Path
    """A folder for what outlives a restart: which epoch is live, and what clients registered. On a disk that all see."""
    state_resource: str = ""
    """The resource of Ray that those machines have which may write `state`; without one every machine may. See `ray start --resources`."""
    replicas: int = 1
    """Actors that hold each part. With two a machine may fail, and slow answers are requested twice."""
    threads_per_part: int = 1
    """Cores that a part has, for itself: Ray places it where they are."""
    ingresses: int = 1
    """Processes that speak to clients, at least."""
    max_ingresses: int = 4
    """Processes that speak to clients, at most: Ray Serve adds some under load."""
    host: str = "127.0.0.1"
    port: int = 8000
    batch: int = 8
    """Queries that share a pass, at most."""
    batch_wait_ms: float = 0.0
    """How long a query waits for others to share its pass. Those that come during passes share the next one anyhow."""
    max_waiting: int = 256
    """Requests of one ingress that are under way, from their first byte to the last of the answer; further ones are refused with Retry-After."""
    max_waiting_per_network: int = 64
    """Those of one network: an IPv4 address, or the first 64 bits of an IPv6 address. 0: any number."""
    memory_mib: int = 256
    """Memory of one ingress for requests and answers; an eighth is for networks that have none of it."""
    max_wait_s: float = 10.0
    """How long a body may take to come, and an answer to be read, beside a second for each 64 KiB."""
    deadline_s: float = 30.0
    """How long a query request may take, replicas that failed included."""
    hedge_min_ms: float = 20.0
    """A part that has not answered by then, nor by the 95th percentile of recent answers, is queried at another replica too."""
    session_mib: int = 4096
    """Memory for clients' keys, of each process: ingresses and parts, where they are admitted, and the one that keeps them."""
    stored_mib: int = 16_384
    """Clients' keys on disk. Where there is no room, the network that has the most registers again what it used least recently."""
    sessions_per_network: int = 256
    """Clients of one network whose keys are kept. 0: any number."""
    registrations_per_minute: int = 300
    """Registrations of one network. 0: any number."""
    session_ttl_s: int = 86_400
    """How long unused keys are stored."""
    reload_every_s: float = 5.0
    """How often new epochs are taken up; 0: only on request."""
    dollars_per_core_hour: float = 0.04
    """What a core costs, for the metrics."""

    @staticmethod
    def read(file: Path) -> Cluster:
        """Reads a file. Relative paths are relative to it."""
        try:
            text = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            raise SettingsError(f"{file}: {error}") from error
        if not isinstance(text, dict):
            raise SettingsError(f"{file}: expected settings, such as `table: tables/people`")
        return Cluster.of(text, Path(file).parent)

    @staticmethod
    def of(text: dict[str, Any], folder: Path = Path()) -> Cluster:
        """The same, of what such a file says."""
        known = {field.name: field for field in fields(Cluster)}
        unknown = sorted(set(map(str, text)) - set(known))
        if unknown:
            raise SettingsError(f"unknown setting {unknown[0]!r}, expected one of {', '.join(known)}")
        missing = [name for name in ("table", "state") if name not in text]
        if missing:
            raise SettingsError(f"{missing[0]!r} is missing: give a folder")
        values: dict[str, Any] = {}
        for name, value in text.items():
            values[name] = _value(name, str(known[name].type), value, folder)
        return Cluster(**values)


def _value(name: str, kind: str, value: Any, folder: Path) -> Any:
    if kind in ("Path", "str"):
        if not isinstance(value, str) or not value:
            raise SettingsError(f"{name!r} is {value!r}, expected text")
        return (folder / value).resolve() if kind == "Path" else value
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind == "int" and not whole or kind == "float" and not (whole or isinstance(value, float)):
        raise SettingsError(f"{name!r} is {value!r}, expected a number")
    unbounded = ("max_waiting_per_network", "sessions_per_network", "registrations_per_minute")
    may_be_zero = name in ("port", "batch_wait_ms", "reload_every_s", "dollars_per_core_hour", *unbounded)
    if value < 0 or value == 0 and not may_be_zero or value != value or value > 10**9:
        raise SettingsError(f"{name!r} is {value!r}, expected {'0 or more' if may_be_zero else 'more than 0'}")
    return float(value) if kind == "float" else value
